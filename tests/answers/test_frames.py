"""Answers as Arrow files."""

import json
import subprocess
import sys
from datetime import date, datetime

import numpy as np
import pandas
import polars
import pyarrow.ipc

from discreet.answers.frames import arrow_of
from discreet.answers.json_text import to_json

from .examples import answer_of, by_ward


def json_of(answer):
    return json.loads("".join(to_json(answer)))


def test_it_has_the_columns_of_the_answer_with_their_types():
    stamp = datetime(2020, 2, 29, 1, 2, 3, 4)
    keys = {
        "t": ["a\x1b", None],
        "i": [2**62 + 1, None],
        "b": [True, None],
        "d": [date(2020, 2, 29), None],
        "s": [stamp, None],
    }
    answer = answer_of(keys, {"n": (np.array([1, 2]), ([-np.inf, 0], [np.inf, 4]))}, notes=("a note",))
    table = pyarrow.ipc.open_file(arrow_of(json_of(answer))).read_all()
    assert table.to_pydict() == {**keys, "n": [1, 2], "n_low": [-np.inf, 0], "n_high": [np.inf, 4]}
    types = [str(field.type) for field in table.schema]
    assert types == ["string", "int64", "bool", "date32[day]", "timestamp[us]", "int64", "double", "double"]
    facts = {name.decode(): json.loads(value) for name, value in table.schema.metadata.items()}
    assert facts["notes"] == ["a note"]
    assert (facts["confidence"], facts["receipt"]["number"]) == (0.95, 7)


def test_pandas_and_polars_read_it(tmp_path):
    path = tmp_path / "receipt-7.arrow"
    path.write_bytes(arrow_of(json_of(by_ward())))
    assert pandas.read_feather(path)["n"].tolist() == [1043, 96, -4]
    assert polars.read_ipc(path)["n"].to_list() == [1043, 96, -4]


def test_pyarrow_is_imported_only_if_it_is_needed():
    code = "import sys, discreet.answers.frames; sys.exit('pyarrow' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
