"""Interval arithmetic on columns: wherever the parts are in their intervals, the whole is in its own.

No false alarms: each point that is tried has to be inside.
"""

import numpy as np
import pytest

from discreet.functions.registry import FUNCTIONS, build_call
from discreet.model.deadline import Deadline
from discreet.model.expression import Call, Field, Literal
from discreet.model.policy import ValueType
from discreet.release.box import Box, Truth, push
from discreet.release.outputs import _queried, _sql

NUMBER = ValueType.NUMBER
A, B, C = (Field(name=name, type=NUMBER) for name in "abc")
GROUPS, POINTS = 60, 40


def number(value):
    return Literal(value=value, type=ValueType.INTEGER)


def call(name, *arguments):
    return build_call(name, arguments)


EXPRESSIONS = [
    call("+", A, B),
    call("-", A, B),
    call("*", A, B),
    call("*", A, A),
    call("/", A, B),
    call("%", A, B),
    call("negate", A),
    call("abs", A),
    call("sign", A),
    call("floor", A),
    call("ceil", A),
    call("round", A),
    call("round", A, number(1)),
    call("power", A, number(2)),
    call("power", A, number(3)),
    call("sqrt", A),
    call("ln", A),
    call("log10", A),
    call("exp", A),
    call("cast_integer", A),
    call("least", A, B, C),
    call("greatest", A, B, C),
    call("coalesce", call("sqrt", A), B),
    call("coalesce", call("/", A, B), call("ln", C), number(7)),
    call("nullif", call("floor", A), call("floor", B)),
    call("case", call("<", A, B), A, C),
    call("case", call("<=", A, B), A, call(">", B, C), B, C),
    call("case", call("not", call(">=", A, B)), A),
    call("case", call("=", call("floor", A), call("floor", B)), A, C),
    call("case", call("<>", call("sign", A), call("sign", B)), A, C),
    call("case", call("between", A, B, C), A, number(0)),
    call("case", call("and", call("<", A, B), call("<", B, C)), A, B),
    call("case", call("or", call("<", A, B), call("<", B, C)), A, B),
    call("case", call("is_null", call("sqrt", A)), B, call("sqrt", A)),
    call("case", call("is_not_null", call("/", B, call("floor", A))), A, B),
    call("case", call("in", call("floor", A), number(1), number(2)), A, B),
    call("abs", call("-", call("*", A, B), C)),
]


def boxes(generator, width):
    """Of three parts: some around zero, some far from it, some points."""
    middle = generator.normal(scale=3, size=(3, GROUPS))
    half = width * np.abs(generator.normal(size=(3, GROUPS))) * (generator.random((3, GROUPS)) < 0.8)
    return {
        name: Box(m - h, m + h, np.zeros(GROUPS, dtype=bool))
        for name, m, h in zip("abc", middle, half, strict=True)
    }


def points(generator, box):
    """Inside, and at both ends."""
    share = generator.random((POINTS, GROUPS))
    share[0], share[1] = 0, 1
    return np.clip(box.low + share * (box.high - box.low), box.low, box.high)


def known_from(found):
    def known(part):
        if isinstance(part, Field):
            return found[part.name]
        if isinstance(part, Literal):
            return Box.points(np.full(GROUPS, np.nan if part.value is None else float(part.value)))
        return None

    return known


@pytest.mark.parametrize("width", [0.05, 1, 5])
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=_sql)
def test_every_point_of_the_parts_is_inside_of_the_whole(expression, width):
    generator = np.random.default_rng(5)
    found = boxes(generator, width)
    whole = push(expression, known_from(found), GROUPS)
    columns = {name: points(generator, box).ravel() for name, box in found.items()}
    sql = f"SELECT CAST({_sql(expression)} AS DOUBLE) AS x FROM noisy ORDER BY row_number"
    columns["row_number"] = np.arange(GROUPS * POINTS)
    values = np.ma.filled(np.ma.asarray(_queried(columns, sql, Deadline.after(60))["x"], dtype=float), np.nan)
    values = values.reshape(POINTS, GROUPS)
    null = np.isnan(values)
    rounding = 1e-9 * np.maximum(1, np.abs(values))
    assert (null | ((values >= whole.low - rounding) & (values <= whole.high + rounding))).all()
    assert (whole.missing | ~null).all()


def test_every_function_of_numbers_that_has_a_rule_is_tried():
    def names(expression):
        return (
            {expression.function, *(n for each in expression.arguments for n in names(each))}
            if isinstance(expression, Call)
            else set()
        )

    from discreet.release import box

    ruled = {*box._NUMBERS, *box._COMPARISONS, *box._LOGIC, "case", "power"}
    assert ruled <= set(FUNCTIONS)
    assert ruled - {"cast_number"} <= {name for each in EXPRESSIONS for name in names(each)}


def of(low, high):
    return Box(np.array([float(low)]), np.array([float(high)]), np.array([False]))


EXACT = [
    (call("abs", A), (-2, 3), None, (0, 3)),
    (call("abs", A), (2, 3), None, (2, 3)),
    (call("*", A, A), (-2, 3), None, (0, 9)),
    (call("*", A, B), (-2, 3), (-2, 3), (-6, 9)),
    (call("power", A, number(2)), (-2, 1), None, (0, 4)),
    (call("greatest", A, B), (1, 4), (2, 3), (2, 4)),
    (call("least", A, B), (1, 4), (2, 3), (1, 3)),
    (call("case", call(">", A, B), A, B), (5, 6), (1, 2), (5, 6)),
    (call("case", call(">", A, B), A, B), (5, 6), (1, 5.5), (1, 6)),
    (call("/", A, B), (1, 2), (0, 4), (0.25, np.inf)),
    (call("/", A, B), (1, 2), (-1, 4), (-np.inf, np.inf)),
    (call("/", A, B), (1, 2), (-4, -2), (-1, -0.25)),
    (call("sqrt", A), (-1, 4), None, (0, 2)),
    (call("coalesce", A, B), (1, 2), (50, 60), (1, 2)),
    (call("coalesce", call("sqrt", A), B), (-1, 4), (50, 60), (0, 60)),
    (call("round", A, number(0)), (-1.5, 2.5), None, (-2, 3)),
    (call("+", A, B), (-np.inf, 1), (1, np.inf), (-np.inf, np.inf)),
]


@pytest.mark.parametrize(("expression", "a", "b", "expected"), EXACT, ids=lambda each: str(each)[:20])
def test_intervals_are_no_wider_than_the_rules_make_them(expression, a, b, expected):
    found = push(expression, known_from_one({"a": of(*a), "b": of(*(b or (0, 0)))}), 1)
    assert (found.low[0], found.high[0]) == expected


def known_from_one(found):
    def known(part):
        if isinstance(part, Field):
            return found[part.name]
        return Box.points(np.array([float(part.value)])) if isinstance(part, Literal) else None

    return known


def test_what_has_no_rule_may_be_anything():
    found = push(call("length", call("cast_text", call("floor", A))), known_from_one({"a": of(1, 2)}), 1)
    assert (found.low[0], found.high[0], found.missing[0]) == (-np.inf, np.inf, True)
    condition = push(call("in", call("floor", A), number(1)), known_from_one({"a": of(5, 6)}), 1)
    assert isinstance(condition, Truth)
    assert condition.true[0]
    assert condition.false[0]
