"""Every function of the reference can be typed in a question, and is what was typed."""

import pytest

from discreet.errors import QueryRefused
from discreet.functions.registry import FUNCTIONS
from discreet.model.expression import Call
from discreet.model.query import Filter
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from tests.question.clinic import clinic, public_keys

TYPED = {
    "+": "age + 1", "-": "age - 1", "*": "cost * 2", "/": "cost / 2", "%": "age % 7", "negate": "- age",
    "abs": "abs(age)", "sign": "sign(cost)", "floor": "floor(cost)", "ceil": "ceil(cost)",
    "round": "round(cost, 1)", "power": "power(cost, 2)", "sqrt": "sqrt(cost)", "ln": "ln(cost)",
    "log10": "log10(cost)", "exp": "exp(cost)", "=": "age = 1", "<>": "age <> 1", "<": "age < 1",
    "<=": "age <= 1", ">": "age > 1", ">=": "age >= 1", "is_distinct_from": "age IS DISTINCT FROM 1",
    "is_not_distinct_from": "age IS NOT DISTINCT FROM 1", "is_null": "age IS NULL",
    "is_not_null": "age IS NOT NULL", "between": "age BETWEEN 1 AND 2", "in": "age IN (1, 2)",
    "and": "age > 1 AND cost > 1", "or": "age > 1 OR cost > 1", "not": "NOT age > 1",
    "case": "CASE WHEN age > 1 THEN 1 ELSE 2 END", "coalesce": "coalesce(age, 0)",
    "nullif": "nullif(age, 0)", "least": "least(age, 5)", "greatest": "greatest(age, 5)",
    "lower": "lower(note)", "upper": "upper(note)", "trim": "trim(note)", "length": "length(note)",
    "substring": "substring(note, 2, 3)", "left": "left(note, 2)", "right": "right(note, 2)",
    "concat": "note || ward", "starts_with": "starts_with(note, 'a')", "ends_with": "ends_with(note, 'a')",
    "contains": "contains(note, 'a')", "like": "note LIKE 'a%'", "replace": "replace(note, 'a', 'b')",
    "year": "year(born)", "quarter": "quarter(born)", "month": "month(born)", "day": "day(born)",
    "dayofweek": "dayofweek(born)", "hour": "hour(CAST(born AS TIMESTAMP))",
    "date_trunc": "date_trunc('month', born)", "date_diff": "date_diff('day', DATE '2000-01-01', born)",
    "add_days": "add_days(born, 7)", "add_months": "add_months(born, 1)",
    "add_seconds": "add_seconds(CAST(born AS TIMESTAMP), 60)", "week": "week(born)",
    "dayofyear": "dayofyear(born)", "minute": "minute(CAST(born AS TIMESTAMP))",
    "second": "second(CAST(born AS TIMESTAMP))", "ltrim": "ltrim(note)", "rtrim": "rtrim(note)",
    "position": "position('a' IN note)", "split_part": "split_part(note, '-', 2)",
    "cast_integer": "CAST(cost AS INTEGER)",
    "cast_number": "CAST(age AS DOUBLE)", "cast_text": "CAST(age AS TEXT)",
    "cast_boolean": "CAST(age AS BOOLEAN)", "cast_date": "CAST(note AS DATE)",
    "cast_timestamp": "CAST(note AS TIMESTAMP)",
}  # fmt: skip


def asked(condition):
    query = resolve(parse_sql(f"SELECT count(*) FROM visits WHERE {condition}"), clinic(), public_keys)
    assert isinstance(query.source, Filter)
    return query.source.predicate


def functions(expression):
    if not isinstance(expression, Call):
        return set()
    return {expression.function}.union(*map(functions, expression.arguments))


def test_every_function_is_typed_here():
    assert set(TYPED) == set(FUNCTIONS)


@pytest.mark.parametrize("name", TYPED)
def test_it_is_read(name):
    found = functions(asked(f"({TYPED[name]}) IS NOT NULL"))
    assert found >= ({"not", "is_null"} if name == "is_not_null" else {name})


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("age // 2 = 1", "floor"),
        ("log(age) > 1", "ln"),
        ("date_trunc('century', born) > '2020-01-01'", "Use one of year"),
        ("date_diff('century', born, born) > 1", "Use one of year"),
        ("extract(epoch FROM born) > 1", "Use year"),
        ("born > current_date", "DATE '2026-01-31'"),
        ("born + INTERVAL '1.5 months' > born", "INTERVAL 7 DAY"),
        ("CAST(born AS TIMESTAMP) - CAST(born AS TIMESTAMP) > 1", "date_diff"),
        ("strftime(born, '%Z') = '2020'", "%Y"),
        ("to_char(born, 'YYYY J') = '2020'", "%Y"),
        ("note SIMILAR TO '(a|b)*'", "LIKE"),
        ("regexp_matches(note, '(a+)+$')", "LIKE"),
        ("regexp_matches(note, 'a{3,}')", "LIKE"),
        ("width_bucket(cost, 4, 0, 3) = 1", "width_bucket"),
        ("split_part(note, '', 1) = 'a'", "split_part"),
        ("trim(BOTH 'x' FROM note) = 'a'", "replace"),
        ("add_weeks(born, 1) > '2020-01-01'", "add_days"),
    ],
)
def test_what_is_not_has_a_remedy(condition, remedy):
    with pytest.raises(QueryRefused) as refused:
        asked(condition)
    assert remedy in refused.value.remedy
