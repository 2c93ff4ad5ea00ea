"""G4: a question that is refused is refused before it is charged, and what is charged is answered."""

import numpy as np
import pytest

from discreet import QueryRefused
from discreet.model.privacy import PureLoss
from discreet.release import outputs

from .ask import Clinic

NOTHING = PureLoss(epsilon=0)


def sums(pattern, times):
    return " + ".join(pattern.format(i=i) for i in range(times))


def nested(times):
    """A fraction of a fraction of a fraction."""
    found = "n"
    for i in range(times):
        found = f"s / ({i} + {found})"
    return found


OUTPUTS = {
    "many divisors": sums("s / (n + {i})", 60),
    "many divisors of a constant": sums("1 / (n + {i})", 60),
    "divided again and again": "s" + "".join(f" / (n + {i})" for i in range(60)),
    "a deep fraction": nested(29),
    "a deep choice": "CASE " + " ".join(f"WHEN n > {i} THEN s / (n - {i})" for i in range(60)) + " END",
    "several long ones": ", ".join(f"{sums('s / (n + {i})', 50)} + {j} AS x{j}" for j in range(6)),
    "averages": sums("m / (n + {i})", 60),
}
SELECT = "SELECT count(*) AS n, sum(cost) AS s, avg(cost) AS m, {} FROM visits"


@pytest.mark.parametrize("name", OUTPUTS)
def test_g4_dozens_of_divisors_are_answered(clinic, name):
    """They were charged, and then refused: the guard against each divisor was a level of its own."""
    expression = OUTPUTS[name] if " AS " in OUTPUTS[name] else f"{OUTPUTS[name]} AS x"
    answer = clinic.ask(SELECT.format(expression))
    assert clinic.spent() == PureLoss(epsilon=1)
    assert all(len(answer.released.low[each]) == 1 for each in answer.released.low)


@pytest.mark.parametrize("name", ["many divisors", "a deep fraction"])
def test_g4_outputs_that_the_database_refuses_are_refused_before_the_charge(clinic, monkeypatch, name):
    """By `explain` too."""
    monkeypatch.setattr(outputs, "_sql", lambda _: "no_such_function(1)")
    with clinic.open() as curator:
        for asked in (curator.explain, curator.ask):
            with pytest.raises(QueryRefused, match="does not accept"):
                asked(SELECT.format(f"{OUTPUTS[name]} AS x"), epsilon=1)
    assert clinic.spent() == NOTHING


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward, upper(ward) AS w, count(*) / 2 AS n FROM visits GROUP BY ward HAVING n > 3 ORDER BY w",
        "SELECT age, age + 1 AS a, age > 3 AS old, count(*) / 2 AS n FROM visits GROUP BY age ORDER BY a",
        "SELECT cost > 3 AS k, NOT k AS l, count(*) / 2 AS n FROM visits GROUP BY k ORDER BY l LIMIT 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) DESC LIMIT 2",
    ],
)
def test_g4_outputs_are_tried_on_no_rows_whatever_their_types(clinic, sql):
    """Keys have types that an empty column of objects does not tell."""
    clinic.ask(sql)


def test_g4_outputs_of_private_keys_are_tried_too(tmp_path):
    clinic = Clinic(tmp_path / "clinic", epsilon=10, delta=1e-6)
    key = "CAST(diagnosis AS DATE) AS d"
    clinic.ask(f"SELECT {key}, year(d) + 1 AS y, count(*) / 2 AS n FROM visits GROUP BY d")


def test_g4_outputs_are_tried_before_the_charge_and_nothing_is_read_for_it(clinic, monkeypatch):
    tried, run = [], outputs.run_tables

    def running(tables, sql, deadline):
        columns = [column for table in tables.values() for column in table.values()]
        tried.append(max((len(np.asarray(column)) for column in columns), default=0))
        return run(tables, sql, deadline)

    monkeypatch.setattr(outputs, "run_tables", running)
    with clinic.open() as curator:
        curator.explain(SELECT.format("s / n AS x"), epsilon=1)
        curator.explain("SELECT count(*) AS n FROM visits", epsilon=1)
    assert tried == [0]
