"""Columns keep every value exactly, on the way through bytes too, and damaged bytes are refused."""

import json
from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.answers.columns import as_column, kind_of, plain_cells
from discreet.answers.released import Released
from discreet.errors import InvalidInput
from tests.answers.examples import released_of

CELLS = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "truth": st.booleans(),
    "text": st.text() | st.sampled_from(["", "\0", "a\0b", "é😀", "\ud800", "\udc00"]),
    "date": st.dates(),
    "timestamp": st.datetimes(),
}


@st.composite
def columns(draw):
    rows = draw(st.integers(0, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5))
    cells = [draw(st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows)) for kind in kinds]
    return kinds, cells


@given(columns())
def test_every_value_comes_back_exactly_as_it_was(drawn):
    kinds, cells = drawn
    first = released_of({f"c{i}": column for i, column in enumerate(cells)}, {})
    again = Released.decode(first.encode())
    assert again.encode() == first.encode()
    for i, (kind, column) in enumerate(zip(kinds, cells, strict=True)):
        found = again.values[f"c{i}"]
        assert plain_cells(found) == column
        assert kind_of(found) == kind or not any(cell is not None for cell in column)


@given(st.lists(st.floats(), min_size=1, max_size=8))
def test_measures_come_back_bit_by_bit(numbers):
    array = np.array(numbers)
    first = Released(
        columns=("n",),
        values={"n": array},
        raw={"n": array},
        low={"n": array},
        high={"n": array},
        confidence=0.95,
        notes=("Ä note.",),
    )
    again = Released.decode(first.encode())
    for mapping in (again.raw, again.low, again.high):
        assert mapping["n"].tobytes() == array.tobytes()
    assert np.array_equal(np.isnan(again.values["n"]), ~np.isfinite(array))
    assert (again.confidence, again.notes, again.measured) == (0.95, ("Ä note.",), ("n",))


def small():
    return released_of(
        {"k": ["a", None, "é"], "d": [date(2020, 2, 29), None, date.min], "b": [True, False, None]},
        {"n": (np.array([1, 2, 3]), 0.5)},
    )


def test_bytes_that_are_cut_short_or_too_long_are_refused():
    data = small().encode()
    for size in range(len(data)):
        with pytest.raises(InvalidInput, match="cannot be read"):
            Released.decode(data[:size])
    with pytest.raises(InvalidInput, match="cannot be read"):
        Released.decode(data + bytes(8))


def test_a_changed_byte_is_read_or_refused_but_nothing_else():
    data = small().encode()
    refused = 0
    for place in range(len(data)):
        for change in (1, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= change
            try:
                Released.decode(bytes(damaged)).encode()
            except InvalidInput:
                refused += 1
    assert refused > len(data) / 2


def forged(change):
    """The bytes of a small answer with another header."""
    data = small().encode()
    start = 24
    size = int.from_bytes(data[16:start], "little")
    header = json.loads(data[start : start + size])
    change(header)
    text = json.dumps(header).encode()
    padded = text + bytes(-len(text) % 8)
    return data[:16] + len(text).to_bytes(8, "little") + padded + data[start + size + -size % 8 :]


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["columns"][0].update(length=10**30),
        lambda header: header["columns"][0].update(length=-3),
        lambda header: header["columns"][0].update(kind="pickle"),
        lambda header: header["columns"][0].update(bytes=[12, 10**30, 3, 1]),
        lambda header: header["columns"][0].update(bytes="many"),
        lambda header: header["columns"].pop(),
        lambda header: header.update(columns=7),
        lambda header: header.update(facts=[]),
        lambda header: header["facts"].pop("confidence"),
        lambda header: header["facts"].update(columns=["a", "a", "a", "a"]),
        lambda header: header["facts"].update(measured=["k"]),
        lambda header: header["facts"].update(measured=[["n"]]),
    ],
)
def test_a_header_that_lies_is_refused(change):
    assert len(Released.decode(forged(lambda header: None))) == 3
    with pytest.raises(InvalidInput, match="cannot be read"):
        Released.decode(forged(change))


def test_text_of_all_sorts_is_kept():
    cells = ["", "\0", "a\0b", "é😀", "\ud800", "\udc00", "a" * 100_000, "", None]
    assert plain_cells(Released.decode(released_of({"k": cells}, {}).encode()).values["k"]) == cells


def test_strings_must_add_up_to_the_text():
    data = released_of({"k": ["abc", "de"]}, {}).encode()
    lengths = np.array([3, 2], dtype="<u4").tobytes()
    assert data.count(lengths) == 1
    for wrong in ([2, 2], [3, 3], [2**32 - 1, 6]):
        with pytest.raises(InvalidInput, match="cannot be read"):
            Released.decode(data.replace(lengths, np.array(wrong, dtype="<u4").tobytes()))


def test_what_is_missing_leaves_nothing_behind():
    """What lies under a mask is in no byte: it might be what nobody should see."""
    hidden = np.ma.MaskedArray(np.array(["shown", "canary"], dtype=object), mask=[False, True])
    numbers = np.ma.MaskedArray(np.array([1, 7777777]), mask=[False, True])
    released = released_of({"k": hidden, "i": numbers}, {})
    assert b"canary" not in released.encode()
    assert (7777777).to_bytes(8, "little") not in released.encode()
    assert np.ma.getdata(released.values["i"]).tolist() == [1, 0]


def test_columns_cannot_be_written_to_and_are_nobody_elses():
    mine = np.array([1.0, 2.0])
    released = released_of({"x": mine}, {"n": (mine, 1.0)})
    mine[0] = 9
    assert released.values["x"][0] == released.raw["n"][0] == 1
    for column in (released.values["x"], released.raw["n"], Released.decode(released.encode()).low["n"]):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 5


def test_whole_numbers_beyond_64_bits_become_numbers():
    assert as_column([2**70, 1]).tolist() == [2.0**70, 1.0]
    assert as_column(np.array([2**64 - 1], dtype=np.uint64)).dtype == np.float64


@pytest.mark.parametrize("cells", [[1, "a"], [b"x"], [[1], [2]], np.zeros((2, 2)), np.array([1j])])
def test_other_values_are_refused(cells):
    with pytest.raises(InvalidInput):
        as_column(cells)


def test_columns_have_one_length_and_only_numbers_are_measured():
    with pytest.raises(InvalidInput, match="same length"):
        released_of({"k": ["a"]}, {"n": (np.array([1, 2]), 1.0)})
    with pytest.raises(InvalidInput, match="Only numbers"):
        Released(
            columns=("k",),
            values={"k": ["a"]},
            raw={"k": np.zeros(1)},
            low={"k": np.zeros(1)},
            high={"k": np.zeros(1)},
            confidence=0.95,
            notes=(),
        )


def test_no_two_columns_get_the_same_name():
    """Not even in other letters, which many databases take for the same."""
    released = released_of({"n_LOW": ["x"], "N_high": ["y"]}, {"N": (np.array([5]), 1.0)})
    assert list(released.flat()) == ["n_LOW", "N_high", "N", "N_low_", "N_high_"]


def test_what_a_database_gives():
    import duckdb

    cursor = duckdb.connect().execute(
        "VALUES (DATE '2020-02-29', TIMESTAMP '2020-02-29 01:02:03', 1::TINYINT, true, 'é', 2.5::FLOAT),"
        " (NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    dates, *others = cursor.fetchnumpy().values()
    found = [plain_cells(as_column(column)) for column in (dates.astype("datetime64[D]"), *others)]
    stamp = datetime(2020, 2, 29, 1, 2, 3)
    assert [column[0] for column in found] == [date(2020, 2, 29), stamp, 1, True, "é", 2.5]
    assert [column[1] for column in found] == [None] * 6
