"""Attacks G2, G5, G6 and G8: on how data is read. Engine by engine: tests/engines/test_duckdb_files.py,
tests/engines/test_schema_alone.py; rows without an id: tests/question/test_unique.py.
"""

from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import EngineFailed, PolicyError
from discreet.model.privacy import PureLoss
from tests.engines.hostile_files import texts

from .ask import BAD_LUCK, CANARY, Clinic, cell, claimed_influence

COUNT = "SELECT count(*) AS n FROM visits"
QUESTIONS = [
    COUNT,
    f"{COUNT} WHERE diagnosis = 'flu'",
    f"{COUNT} WHERE lower(diagnosis) LIKE '%u%' OR length(diagnosis) > 3",
    "SELECT count(DISTINCT diagnosis) AS n FROM visits",
    "SELECT sum(CASE WHEN diagnosis IS NULL THEN 0 ELSE cost END) AS n FROM visits",
]


def add_column(clinic, name, cells):
    """A column beside the others, or in the place of one."""
    path = clinic.folder / "visits.parquet"
    table = pq.read_table(path)
    table = table.drop_columns([name]) if name in table.column_names else table
    pq.write_table(table.append_column(name, cells), path, version="2.6")


def vouch(clinic):
    clinic.policy.write_text(clinic.policy.read_text().replace("max_rows", "well_formed = true\nmax_rows"))


# G2


def test_g2_one_cell_does_not_decide_about_a_refusal_before_the_charge(tmp_path):
    """The owner vouched for moments that the database cannot read: that is charged, and fails."""
    for name, moment in (("usual", 10**12), ("beyond", 10**17)):
        clinic = Clinic(tmp_path / name)
        rows = pq.read_metadata(clinic.folder / "visits.parquet").num_rows
        moments = pa.array([0] * (rows - 1) + [moment], pa.int64()).cast(pa.timestamp("ms"))
        add_column(clinic, "seen", moments)
        vouch(clinic)
        try:
            clinic.ask(f"{COUNT} WHERE seen > '2020-01-01'")
        except EngineFailed:
            assert name == "beyond"
        assert clinic.spent() == PureLoss(epsilon=Fraction(1))
        assert clinic.leaks() == []


# G5


@pytest.mark.parametrize("bad", [b"\xff" + CANARY.encode(), b"fl\xc3", b"\xed\xa0\x80"])
def test_g5_a_text_that_is_none_fails_no_question(tmp_path, bad):
    clinic = Clinic(tmp_path, delta="1e-6")
    rows = pq.read_metadata(clinic.folder / "visits.parquet").num_rows
    add_column(clinic, "diagnosis", texts([b"flu"] * (rows - 1) + [bad]))
    for sql in [*QUESTIONS, "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis"]:
        clinic.ask(sql, epsilon=2)
    assert clinic.leaks() == []


def test_g5_a_moment_that_is_none_is_in_no_question(tmp_path):
    """Refused for everybody, with and without the cell, unless the owner vouches for the file."""
    told = []
    for name, moment in (("usual", 10**12), ("beyond", 10**17)):
        clinic = Clinic(tmp_path / name)
        rows = pq.read_metadata(clinic.folder / "visits.parquet").num_rows
        moments = pa.array([0] * (rows - 1) + [moment], pa.int64()).cast(pa.timestamp("ms"))
        add_column(clinic, "seen", moments)
        assert clinic.ask_or_be_refused(f"{COUNT} WHERE seen > '2020-01-01'") is None
        clinic.ask(COUNT)
        clinic.policy.write_text(
            clinic.policy.read_text() + '\n[tables.visits.columns.seen]\ntype = "timestamp"\n'
        )
        with pytest.raises(PolicyError, match="well_formed") as refused:
            clinic.open()
        told.append(str(refused.value))
    assert told[0] == told[1]


# G6


@pytest.mark.parametrize(
    "line",
    [
        '400,"north,1,1,flu',
        '400,north,1,1,"',
        '"',
        '400,north,1,1,"flu"x',
        "400,north,1,1,a\rb",
        "400,north,1,1,a\x00b",
    ],
)
def test_g6_one_line_moves_a_count_by_no_more_than_its_noise_is_made_for(tmp_path, line):
    """At ε = 50 and three rows a person, 14 scales of noise on both sides: wrong with probability 2·10⁻⁶."""
    epsilon, counts, claims = 50.0, [], []
    for name in ("without", "with"):
        clinic = Clinic(tmp_path / name, form="csv")
        path = clinic.folder / "visits.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        added = [line] if name == "with" else []
        path.write_text("\n".join([*lines[:200], *added, *lines[200:], ""]), encoding="utf-8")
        answer = clinic.ask(COUNT, epsilon=epsilon, confidence=1 - 1e-6)
        counts.append(cell(answer, "n"))
        claims.append(claimed_influence(answer, "n", epsilon))
        assert clinic.leaks() == []
    assert abs(counts[0] - counts[1]) <= claims[0] * (1 + 2 * (BAD_LUCK + 1) / epsilon)


def test_g6_cells_in_quotation_marks_are_read_as_ever(tmp_path):
    clinic = Clinic(tmp_path, form="csv")
    path = clinic.folder / "visits.csv"
    duckdb.sql(f"COPY (SELECT * REPLACE ('a, \"b\"' AS diagnosis) FROM '{path}') TO '{path}.new'")
    path.write_bytes((clinic.folder / "visits.csv.new").read_bytes())
    answer = clinic.ask(f"{COUNT} WHERE diagnosis = 'a, \"b\"'", epsilon=50)
    assert cell(answer, "n") == pytest.approx(1000, abs=20)


# G8


def test_g8_rows_without_an_id_where_one_row_a_person_is_vouched_for(tmp_path):
    """600 rows without an id beside 400 people: they would count as 600 people at the noise of one."""
    rows = "SELECT CASE WHEN range < 400 THEN range END, 'north', 1.0, 30, 'flu' FROM range(1000)"
    clinic = Clinic(tmp_path, rows=rows)
    policy = clinic.policy.read_text().replace("max_rows = 3\nmax_groups = 2", "unique = true")
    clinic.policy.write_text(policy)
    for sql in (
        COUNT,
        "SELECT count(DISTINCT patient) AS n FROM visits",
        "SELECT sum(cost) AS n FROM visits",
    ):
        epsilon = 200 if "sum" in sql else 50
        assert cell(clinic.ask(sql, epsilon=epsilon), "n") == pytest.approx(400, abs=14)
