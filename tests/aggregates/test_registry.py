"""Every aggregate is registered, can be asked as it says, and is documented; no stage knows it by name."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.aggregates.registry import AGGREGATES, READERS, offered
from discreet.bounds.calibrate import calibrate
from discreet.errors import QueryRefused
from discreet.model.query import Aggregate
from discreet.model.request import Within
from discreet.question.parse import parse_sql
from tests.question.clinic import clinic, planned

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference/questions.md"
USAGES = [(usage, each) for each in AGGREGATES.values() for usage in each.usages]


def sql_of(usage):
    """A question of the clinic, where x is a number with bounds, and y another."""
    asked = re.sub(r"\by\b", "age", re.sub(r"\bx\b", "cost", usage))
    return f"SELECT {asked} AS it FROM visits"


def test_every_aggregate_is_registered_under_its_own_name():
    assert set(AGGREGATES) == set(Aggregate)
    assert all(each.aggregate is name for name, each in AGGREGATES.items())


def test_a_node_is_read_by_one_aggregate():
    nodes = [node for each in AGGREGATES.values() for node in each.nodes]
    assert len(nodes) == len(set(nodes)) == len(READERS)


@pytest.mark.parametrize(("usage", "definition"), USAGES, ids=[usage for usage, _ in USAGES])
def test_what_is_written_is_documented_and_asks_for_it(usage, definition):
    assert f"`{usage}`" in REFERENCE.read_text(encoding="utf-8")
    (measure,) = planned(sql_of(usage), clinic()).bounded.measures
    assert measure.measure.aggregate is definition.aggregate


def test_every_spelling_is_among_the_usages():
    written = {type(node) for usage, _ in USAGES for node in parse_sql(sql_of(usage)).walk()}
    assert set(READERS) <= written


@pytest.mark.parametrize(("usage", "definition"), USAGES, ids=[usage for usage, _ in USAGES])
def test_each_vector_has_its_part_of_the_price(usage, definition):
    (measure,) = planned(sql_of(usage), clinic()).bounded.measures
    assert len(definition.squares) == len(measure.vectors)
    assert all(square > 0 for square in definition.squares)


@pytest.mark.parametrize(("usage", "definition"), USAGES, ids=[usage for usage, _ in USAGES])
def test_it_can_be_asked_within_an_error_exactly_if_its_error_is_known_before(usage, definition):
    dataset = clinic()
    plan = planned(sql_of(usage), dataset)
    within = replace(plan.request, price=Within(error=Fraction(20)))
    if definition.error_of == "value":
        (measure,) = calibrate(plan.bounded, within, dataset).bounded.measures
        assert calibrate(plan.bounded, within, dataset).error(measure).high <= 20
    else:
        with pytest.raises(QueryRefused, match="depends on the data"):
            calibrate(plan.bounded, within, dataset)


def test_a_refusal_offers_all_that_can_be_asked():
    assert offered() == (
        "count, sum, avg, variance, stddev, median, a quantile, covar_pop, corr, regr_slope or regr_intercept"
    )
    with pytest.raises(QueryRefused, match="has no private version") as refused:
        planned("SELECT kurtosis(cost) AS it FROM visits", clinic())
    assert offered() in refused.value.remedy


def test_no_stage_knows_an_aggregate_by_name():
    """But the one that asks for exactly count(*), which cached tables of counts can answer."""
    members = [f"Aggregate.{name}" for name in Aggregate.__members__]
    source = ROOT / "src/discreet"
    naming = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if path.parent.name != "aggregates"
        and any(re.search(rf"\b{member}\b", path.read_text(encoding="utf-8")) for member in members)
    }
    assert naming == {"question/counting.py"}
