"""Questions that are not quite SQL: every one is planned or refused, and none is an error of another kind."""

import contextlib
import random
import re

import pytest

from discreet.errors import DiscreetError
from tests.bounds.test_one_person import PRIVATE, QUESTIONS
from tests.question.clinic import clinic, planned

TOKENS = re.compile(r"'[^']*'|\w+|<>|<=|>=|\|\||\S")
ODD = [
    "quantile(, 0.9)",
    "quantile()",
    "quantile(cost)",
    "quantile(cost, )",
    "quantile(cost, 0.5, 0.5)",
    "percentile_cont(0.5)",
    "percentile_cont() WITHIN GROUP (ORDER BY cost)",
    "percentile_cont(0.5) WITHIN GROUP ()",
    "median()",
    "min()",
    "max(*)",
    "sum()",
    "sum(*)",
    "avg(DISTINCT cost)",
    "count()",
    "count(DISTINCT)",
    "count(DISTINCT *)",
    "count(cost, age)",
    "count(*) FILTER ()",
    "count(*) FILTER (WHERE)",
    "count(*) OVER ()",
    "CASE END",
    "CASE WHEN END",
    "CASE WHEN cost > 1 THEN END",
    "CAST(cost)",
    "CAST(cost AS)",
    "CAST(AS BIGINT)",
    "cost::",
    "cost IN ()",
    "cost BETWEEN",
    "sum(cost IN ())",
    "sum(-)",
    "sum(cost +)",
    "extract(FROM born)",
    "date_trunc(, born)",
    "date_trunc('month')",
    "round()",
    "substring()",
    "left()",
    "coalesce()",
    "nullif(cost)",
    "()",
    "*",
    "?",
    ":name",
    "$1",
    "[1, 2][1]",
    "{'a': 1}",
    "INTERVAL 1 DAY",
    "sum(cost) AS",
    "1e999",
    "1e-999999999",
    "0x1F",
    "1_000",
    "'\\x00'",
    "visits.*",
    "EXISTS ()",
    "(SELECT)",
    "lambda x: x",
]
CLAUSES = ["WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "FROM", "WITH", "UNION ALL"]


def check(sql):
    """Planned, or refused with words of ours."""
    with contextlib.suppress(DiscreetError):
        planned(sql, clinic(delta="1e-6"))


@pytest.mark.parametrize("item", ODD)
def test_item9_an_odd_expression_is_planned_or_refused(item):
    for sql in (
        f"SELECT {item} FROM visits",
        f"SELECT count(*) FROM visits WHERE {item}",
        f"SELECT count(*) FROM visits GROUP BY {item}",
        f"SELECT count(*) AS n FROM visits HAVING {item}",
        f"SELECT count(*) AS n FROM visits ORDER BY {item}",
        f"SELECT count(*) FROM visits LIMIT {item}",
        f"SELECT count(*) FROM {item}",
        f"SELECT count(*) FROM visits JOIN labs ON {item}",
        f"SELECT sum({item}) FROM visits",
        f"SELECT sum(x) FROM (SELECT patient, {item} AS x FROM visits GROUP BY patient)",
        f"WITH t AS (SELECT {item} FROM visits) SELECT count(*) FROM t",
    ):
        check(sql)


def mutated(sql, random):
    """A token dropped, doubled, moved, or put in the place of another; up to three times."""
    tokens = TOKENS.findall(sql)
    for _ in range(random.randint(1, 3)):
        at, other = random.randrange(len(tokens)), random.randrange(len(tokens))
        match random.randrange(5):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = tokens[other]
            case 4:
                tokens.insert(at, random.choice([*CLAUSES, "(", ")", ",", "*", "NULL", "1", "'a'", "."]))
        if not tokens:
            break
    return " ".join(tokens)


def test_item9_malformed_questions_are_refused_in_words_of_ours():
    source = random.Random(20)  # noqa: S311  the same ones on every run
    for _ in range(1500):
        check(mutated(source.choice(QUESTIONS + PRIVATE), source))
