"""What everybody may know of a dataset: the policy, without where its data is. All of it is public."""

from collections.abc import Mapping
from typing import Any

from discreet.answers.json_text import charge_json
from discreet.bounds.calibrate import budget_of
from discreet.model.policy import Column, Dataset, KeyValue, PersonColumn, PrivateTable, Table

_MOST_KEYS = 1_000


def dataset_facts(dataset: Dataset) -> dict[str, Any]:
    """As JSON."""
    return {
        "name": dataset.name,
        "neighbours": dataset.neighbours.value,
        "epsilon": float(dataset.epsilon),
        "delta": float(dataset.delta),
        "budget": charge_json(budget_of(dataset)),
        "per_analyst_epsilon": float(dataset.analyst_epsilon),
        "per_question_epsilon": float(dataset.question_epsilon),
        "default_price": None if dataset.default_price is None else float(dataset.default_price),
        "min_people": dataset.min_people,
        "purpose_required": dataset.purpose_required,
        "tables": [_table_facts(table) for table in dataset.tables.values()],
    }


def _table_facts(table: Table) -> dict[str, Any]:
    columns = [_column_facts(column) for column in table.columns.values()]
    if not isinstance(table, PrivateTable):
        return {"name": table.name, "public": True, "columns": columns}
    person = table.person.name if isinstance(table.person, PersonColumn) else "row"
    return {
        "name": table.name,
        "public": False,
        "person": person,
        "unique": table.one_row_a_person,
        "max_rows": table.max_rows,
        "max_groups": table.max_groups,
        "limits": "facts" if table.limits_are_facts else "choices",
        "columns": columns,
    }


def _column_facts(column: Column) -> dict[str, Any]:
    bounds: list[float] | list[str] | None = None
    if column.bounds is not None:
        bounds = [float(column.bounds.low), float(column.bounds.high)]
    if column.days is not None:
        bounds = [column.days.low.isoformat(), column.days.high.isoformat()]
    keys = None if column.keys is None else [_key(key) for key in column.keys[:_MOST_KEYS]]
    return {
        "name": column.name,
        "type": column.type.value,
        "bounds": bounds,
        "keys": keys,
        "unit": None if column.unit is None else float(column.unit),
    }


def _key(key: KeyValue) -> str | int | bool:
    return key if isinstance(key, str | int | bool) else key.isoformat()


def flat_facts(facts: Any, place: str = "") -> dict[str, Any]:
    """Every single fact by its place, such as tables.visits.columns.cost.bounds: to see what changed."""
    if isinstance(facts, Mapping):
        parts = {str(name): value for name, value in facts.items() if name != "name" or not place}
    elif isinstance(facts, list) and facts and all(isinstance(each, Mapping) for each in facts):
        parts = {str(each["name"]): each for each in facts}
    else:
        return {place: facts}
    found: dict[str, Any] = {}
    for name, value in parts.items():
        found |= flat_facts(value, f"{place}.{name}" if place else name)
    return found
