"""Attacks B1–B8: on what a question gives away besides its answer."""

import logging
import sys
from fractions import Fraction

import pytest
from click.testing import CliRunner

from discreet import DiscreetError, EngineFailed, QueryRefused
from discreet.apps.commands.main import main
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.model.privacy import PureLoss

from .ask import CANARY, ROWS, SECRET_ROW, Clinic, columns, keys, kinds, notes, watch

BY_WARD = "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward"
EMPTY = f"{ROWS} LIMIT 0"


# B1: latency. That data is read after the charge only, call by call: tests/curator/test_ask_durability.py.


def spoil(clinic):
    """Overwrite every page of data and keep the file's footer, as a disk error would."""
    path = clinic.folder / "visits.parquet"
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(content[:4] + b"\xa5" * (len(content) - 4 - footer) + content[-footer:])


def test_b1_nothing_before_the_charge_reads_a_row(clinic):
    """Planning, explaining and refusing work on a file without a readable row; an answer pays, and fails."""
    whole = clinic.open().explain(BY_WARD, epsilon=1)
    spoil(clinic)
    curator = clinic.open()
    assert curator.explain(BY_WARD, epsilon=1) == whole
    with pytest.raises(QueryRefused):
        clinic.ask("SELECT max(diagnosis) FROM visits")
    assert clinic.spent() == PureLoss(epsilon=Fraction(0))
    with pytest.raises(EngineFailed):
        clinic.ask(BY_WARD)
    assert clinic.spent() == PureLoss(epsilon=Fraction(1))


# B2: the time of a draw is measured by bench/timing_leak.py; timings are no reason for a test to fail.


# B3: state that a function keeps.


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE MACRO leak(x) AS (SELECT x)",
        "CREATE FUNCTION leak(x) AS x",
        "CREATE TEMP TABLE leak AS SELECT * FROM visits",
        "CREATE SEQUENCE leak",
        "SET VARIABLE leak = (SELECT max(diagnosis) FROM visits)",
        "SELECT count(*) FROM visits WHERE getvariable('leak') = 1",
        "SELECT count(*) FROM visits WHERE leak(cost) = 1",
        "SELECT count(*) FROM visits WHERE list_transform([cost], x -> x)[1] = 1",
        "SELECT leak(count(*)) FROM visits",
    ],
)
def test_b3_no_function_of_ones_own_and_no_state(clinic, sql):
    with pytest.raises(QueryRefused):
        clinic.ask(sql)


# B4: the price.


@pytest.mark.parametrize("price", [{"epsilon": 0.5}, {"within": 40}])
def test_b4_price_error_and_refusal_are_the_same_on_any_data(tmp_path, price):
    heavy = "SELECT 7, 'attic', 100.0, 90, 'flu' FROM range(5000)"
    told = []
    for name, rows in (("usual", None), ("empty", EMPTY), ("heavy", f"{ROWS} UNION ALL {heavy}")):
        clinic = Clinic(tmp_path / name, rows=rows)
        question = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
        explanation = clinic.open().explain(question, **price)
        answer = clinic.ask(question, **price)
        with pytest.raises(QueryRefused) as refusal:
            clinic.ask("SELECT diagnosis, max(cost) FROM visits GROUP BY diagnosis")
        # The last note follows from noisy numbers: what limits seem to leave out.
        told.append((explanation, answer.charged, answer.left, notes(answer)[:-1], str(refusal.value)))
    assert told[0] == told[1] == told[2]


# B5: a row that makes the engine fail. Every function on every nasty value: tests/functions/test_totality.py.

TRAPS = [
    "1 / (cost - 61) > 0",
    "age % (age - 71) = 0",
    "CAST(diagnosis AS BIGINT) = 1",
    "CAST(diagnosis AS DATE) > '2020-01-01'",
    "CAST(cost * 1e300 AS BIGINT) > 0",
    "ln(cost - 61) > 0",
    "sqrt(cost - 62) > 0",
    "exp(cost * 1000) > 0",
    "age * 9223372036854775807 > 0",
    "power(cost, 6) * power(cost, 6) > 0",
    "-(age - 9223372036854775807) > 9223372036854775807",
    "substring(diagnosis, age - 1000000000, 5) = 'x'",
    "CASE WHEN ward = 'attic' THEN CAST(diagnosis AS BIGINT) ELSE 1 END = 1",
    "CASE WHEN ward = 'attic' THEN 1 / 0 ELSE 1 END = 1",
    "regexp_matches(diagnosis, CASE WHEN ward = 'attic' THEN '(' ELSE 'x' END)",
    "strptime(diagnosis, '%Y') > '2020-01-01'",
    "error(diagnosis) = 'x'",
    "CASE WHEN ward = 'attic' THEN error('leak') ELSE 'x' END = 'x'",
]


@pytest.mark.parametrize("trap", TRAPS)
def test_b5_no_row_makes_a_question_fail(tmp_path, trap):
    """With the one row that it is meant for and without it: refused both times, or answered both times."""
    outcomes = []
    for name, rows in (("with", f"{ROWS} UNION ALL {SECRET_ROW}"), ("without", ROWS)):
        clinic = Clinic(tmp_path / name, rows=rows)
        where = clinic.ask_or_be_refused(f"SELECT count(*) AS n FROM visits WHERE {trap}", epsilon=1)
        summed = clinic.ask_or_be_refused(
            f"SELECT sum(CASE WHEN {trap} THEN cost ELSE 0 END) AS n FROM visits", epsilon=1
        )
        outcomes.append((where is None, summed is None))
        assert clinic.leaks() == []
    assert outcomes[0] == outcomes[1]


def test_b5_a_failure_all_the_same_has_fixed_words_and_no_refund(clinic):
    spoil(clinic)
    words = set()
    for sql in (BY_WARD, "SELECT sum(cost) FROM visits", "SELECT count(DISTINCT patient) FROM visits"):
        with pytest.raises(EngineFailed) as failure:
            clinic.ask(sql)
        words.add(str(failure.value))
        assert failure.value.__cause__ is None
        assert failure.value.__context__ is None
    assert len(words) == 1
    assert clinic.spent() == PureLoss(epsilon=Fraction(3))


# B6: cells in errors and logs. The engine alone, with errors that quote cells: tests/engines, test_b6_….


def test_b6_the_watch_that_all_these_tests_rely_on_sees_a_leak(tmp_path, capfd):
    for leak in (
        lambda clinic: logging.getLogger("anything").debug("row %s", CANARY),
        lambda clinic: sys.stderr.write(CANARY.upper()),
        lambda clinic: (clinic.folder / "clinic.ledger-wal").write_text(f"x{CANARY}x"),
        lambda clinic: clinic.see_error(chained(ValueError(CANARY))),
        lambda clinic: clinic.see_error(raised_beside(CANARY)),
        lambda clinic: clinic.see(987654321),
    ):
        clinic = Clinic(tmp_path)
        watching = watch(clinic, capfd)
        next(watching)
        leak(clinic)
        assert next(watching, None) is None
        assert len(clinic.leaks()) == 1
        (clinic.folder / "clinic.ledger-wal").unlink(missing_ok=True)


def chained(cause):
    try:
        try:
            raise cause
        except ValueError:
            raise DiscreetError("Something failed.", remedy="Look.") from None
    except DiscreetError as error:
        return error


def raised_beside(local):
    """An error in a frame that holds a cell, as a crash reporter would send it."""
    try:
        raise DiscreetError(f"{len(local)} failed.", remedy="Look.")
    except DiscreetError as error:
        return error


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_b6_no_cell_on_the_command_line(tmp_path, form, output):
    clinic = Clinic(tmp_path, form=form)
    policy = ["--policy", str(clinic.policy)]
    for sql in (
        BY_WARD,
        "SELECT count(*) AS n FROM visits WHERE diagnosis = 'flu'",
        "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis",
        "SELECT max(diagnosis) FROM visits",
        "SELECT count(*) FROM visits WHERE CAST(diagnosis AS BIGINT) = 1",
        "SELECT count(*) FROM vists",
        "SELECT sum(diagnosis) FROM visits",
    ):
        result = CliRunner().invoke(main, ["ask", sql, "--epsilon", "1", "--format", output, *policy])
        assert result.exit_code in (0, 2)
        clinic.see(result.output, result.stderr, result.exception)
    for command in (["check"], ["budget"], ["explain", BY_WARD, "--epsilon", "1"]):
        result = CliRunner().invoke(main, [*command, *policy])
        assert result.exit_code == 0
        clinic.see(result.output, result.stderr)
    assert clinic.leaks() == []


def test_b6_a_file_that_is_broken_is_told_without_its_content(tmp_path):
    clinic = Clinic(tmp_path)
    (clinic.folder / "visits.parquet").write_text(f"PAR1 {CANARY} " * 100)
    with pytest.raises(DiscreetError) as failure:
        clinic.open()
    clinic.see_error(failure.value)
    assert clinic.leaks() == []


PEOPLE = 48_611
"""An exact count that is easy to look for."""


@pytest.mark.parametrize("step", ["run", "store_answer"])
def test_b6_a_failure_with_exact_numbers_in_hand_shows_them_in_no_frame(tmp_path, monkeypatch, step):
    """Crash reporters send the local variables of every frame: what is exact must be in none of them."""
    clinic = Clinic(tmp_path, rows=f"SELECT range, 'north', 1.0, 50, 'flu' FROM range({PEOPLE})")
    owner = DuckDBEngine if step == "run" else SqliteLedger
    honest = getattr(owner, step)

    def fails_after(*args, **named):
        result = honest(*args, **named)
        raise MemoryError if result is not None else AssertionError

    monkeypatch.setattr(owner, step, fails_after)
    with pytest.raises((MemoryError, EngineFailed)) as failure:
        clinic.open().ask("SELECT count(*) AS n FROM visits", epsilon=1)
    clinic.see_error(failure.value)
    assert clinic.spent() == PureLoss(epsilon=Fraction(1))
    exact = [str(PEOPLE * 2**bits) for bits in (0, 20)]
    assert [number for number in exact if number in clinic.seen.getvalue()] == []


# B7: statistics.


@pytest.mark.parametrize(
    "sql",
    [
        f"EXPLAIN {BY_WARD}",
        f"EXPLAIN ANALYZE {BY_WARD}",
        "SUMMARIZE visits",
        "DESCRIBE visits",
        "SHOW TABLES",
        "ANALYZE visits",
        "PRAGMA storage_info('visits')",
        "CHECKPOINT",
        "SELECT count(*) FROM pragma_storage_info('visits')",
        "SELECT count(*) FROM parquet_metadata('visits.parquet')",
        "SELECT count(*) FROM duckdb_memory()",
        "SELECT stats(diagnosis) FROM visits",
        "SELECT count(*) FROM (SUMMARIZE visits)",
    ],
)
def test_b7_no_statistics(clinic, sql):
    with pytest.raises(QueryRefused):
        clinic.ask(sql)
    assert clinic.spent() == PureLoss(epsilon=Fraction(0))


# B8: shape.


def test_b8_rows_columns_and_types_are_the_same_on_any_data(tmp_path):
    backwards = "SELECT * FROM (" + ROWS + " ORDER BY range DESC)"
    one = "SELECT 1, 'south', 1.0, 30, 'flu'"
    questions = [
        "SELECT ward, count(*) AS n, sum(cost) AS total FROM visits GROUP BY ward",
        "SELECT count(*) AS n, count(DISTINCT patient) AS people FROM visits",
        "SELECT floor(age / 10) AS decade, count(*) AS n FROM visits GROUP BY decade",
        "SELECT cost > 50 AS high, count(*) AS n FROM visits GROUP BY high",
    ]
    shapes = []
    for name, rows in (("usual", None), ("empty", EMPTY), ("one", one), ("backwards", backwards)):
        clinic = Clinic(tmp_path / name, rows=rows)
        answers = [clinic.ask(question) for question in questions]
        first_keys = [keys(answer, columns(answer)[0]) for answer in answers if columns(answer)[0] != "n"]
        shapes.append(([(columns(answer), kinds(answer)) for answer in answers], first_keys))
    assert shapes[0] == shapes[1] == shapes[2] == shapes[3]
