"""Which parts of an output are simulated, and which are put together from intervals."""

import numpy as np
import pytest

from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.shape import Shape
from discreet.functions.registry import build_call
from discreet.model.deadline import Deadline
from discreet.model.expression import Field, Literal, fields_of
from discreet.model.policy import ValueType
from discreet.release.outputs import evaluate
from discreet.release.shape import noisy_divisors, parts_to_simulate, shape_of
from tests.question.clinic import clinic, planned

A, B = "count(*) FILTER (WHERE cost > 1)", "count(*) FILTER (WHERE cost > 2)"


def shaped(sql):
    """The expression of an output, and what its measures are like."""
    asked = f"SELECT ward, count(*) AS n, {sql} AS y FROM visits GROUP BY ward"
    query = planned(asked, clinic()).bounded.query
    measures = {measure.name: measure for measure in query.measures}

    def leaf(field):
        measure = measures.get(field.name)
        return Shape.CONSTANT if measure is None else AGGREGATES[measure.aggregate].shape

    def never_negative(field):
        measure = measures.get(field.name)
        return measure is not None and AGGREGATES[measure.aggregate].span(measure)[0] >= 0

    return query.outputs[-1].expression, leaf, never_negative


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        ("1 + 2", Shape.CONSTANT),
        ("length(ward)", Shape.CONSTANT),
        ("count(*)", Shape.AFFINE),
        (f"3 * ({A} - {B}) / 2 + 1", Shape.AFFINE),
        (f"-{A} + sum(cost)", Shape.AFFINE),
        (f"{A} / {B}", Shape.SMOOTH),
        (f"100 * {A} / ({A} + 2 * {B})", Shape.SMOOTH),
        (f"{A} / sum(age)", Shape.SMOOTH),
        ("avg(cost) - 50", Shape.SMOOTH),
        ("avg(cost) - avg(age)", Shape.SMOOTH),
        ("variance(cost)", Shape.SMOOTH),
        (f"{A} * {B}", Shape.BENT),
        (f"{A} / ({A} - {B})", Shape.BENT),
        (f"{A} / sum(cost)", Shape.BENT),
        (f"{A} / (-1 * {B})", Shape.BENT),
        ("avg(cost) / avg(age)", Shape.BENT),
        (f"abs({A} - {B})", Shape.BENT),
        ("stddev(cost)", Shape.BENT),
        ("median(cost)", Shape.BENT),
        (f"greatest({A}, {B})", Shape.BENT),
    ],
)
def test_an_output_has_this_shape(sql, shape):
    assert shape_of(*shaped(sql)) is shape


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("1 + 2", 0),
        (f"abs({A} - {B})", 1),
        (f"({A} - {B}) * ({A} - {B})", 1),
        (f"abs({A} - {B}) / ({A} + {B})", 2),
        (f"round(100 * {A} / {B}, 1)", 1),
        (f"CASE WHEN {A} > 3 THEN {A} ELSE {B} END", 2),
        ("stddev(cost)", 1),
        ("median(cost) - quantile(cost, 0.9)", 2),
    ],
)
def test_what_turns_is_cut_into_so_many_different_parts(sql, parts):
    assert len(set(parts_to_simulate(*shaped(sql)))) == parts


def test_a_quotient_is_null_where_what_it_is_divided_by_is_not_above_zero():
    a, b = (Field(name=name, type=ValueType.NUMBER) for name in "ab")
    quotient = build_call(
        "+", (build_call("/", (a, b)), build_call("/", (a, Literal(value=-2, type=ValueType.INTEGER))))
    )
    divisors = noisy_divisors(quotient, lambda each: bool(list(fields_of(each))))
    assert divisors == [b]
    columns = {"a": np.full(4, 8.0), "b": np.array([-1.0, 0.0, 2.0, 4.0])}
    found = evaluate(quotient, divisors, columns, 4, Deadline.after(60))
    assert np.isnan(found).tolist() == [True, True, False, False]
    assert found[2:].tolist() == [0, -2]
