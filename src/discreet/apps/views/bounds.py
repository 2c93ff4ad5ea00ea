"""Learns the bounds of a column privately: from noisy counts between powers of two.

It is a question like any other, paid from the same budget. The bounds are the ends of the bins that stand out
from the noise. Any empty bin stands out with probability at most 1/100, over all bins. Values that few people
have are cut off.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from rich.console import Console

from discreet.aggregates.vectors import known
from discreet.answers.answer import Answer
from discreet.answers.json_text import charge_json
from discreet.answers.wording import visible_text
from discreet.apps.views.escape import write_json
from discreet.bounds.calibrate import Plan
from discreet.curator import Curator
from discreet.errors import QueryRefused
from discreet.model.exact import Number
from discreet.model.policy import PersonColumn, PrivateTable
from discreet.question.expressions.scope import nearest

_EXPONENTS = range(-10, 41)
_CONFIDENCE = Fraction(99, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntBounds:
    """What was found, and what it cost."""

    table: str
    column: str
    ends: tuple[Fraction, Fraction] | None
    """None if nothing stands out from the noise."""
    answer: Answer


def learn_bounds(curator: Curator, column: str, *, epsilon: Number) -> LearntBounds:
    """The powers of two between which nearly all values of a column lie."""
    table, name = _find(curator, column)
    edges = _edges()
    question = _question(table.name, name, edges)
    plan = known(Plan, curator.plan(question, epsilon=epsilon, confidence=_CONFIDENCE))
    noise = float(plan.error(plan.bounded.measures[0], cells=len(edges) - 1).high)
    threshold = noise + plan.bounded.query.source.max_rows  # beyond noise, and beyond one person
    answer = curator.ask(question, epsilon=epsilon, confidence=_CONFIDENCE)
    standing_out = answer["bin"][answer.raw("rows") > threshold]
    ends = None
    if len(standing_out):
        ends = edges[int(np.min(standing_out))], edges[int(np.max(standing_out)) + 1]
    return LearntBounds(table=table.name, column=name, ends=ends, answer=answer)


def show_bounds(found: LearntBounds, output: str) -> None:
    """What to write into the policy."""
    if output == "json":
        told = {
            "table": found.table,
            "column": found.column,
            "bounds": None if found.ends is None else [float(end) for end in found.ends],
            "charged": charge_json(found.answer.charged),
            "left": charge_json(found.answer.left),
        }
        write_json(told)
        return
    console, name = Console(highlight=False, markup=False), visible_text(found.column)
    if found.ends is None:
        console.print(
            f"No values of {name} stand out from the noise. Ask at a larger epsilon, or declare"
            f" bounds from what you know of the column. {found.answer.price()}"
        )
        return
    low, high = map(_shown, found.ends)
    console.print(f"Nearly all values of {name} lie in {low} … {high}. In the policy:\n")
    console.print(f"[tables.{found.table}.columns.{name}]\nbounds = [{low}, {high}]\n")
    console.print(
        f"The ends are powers of two: make them round numbers if you know better ones. {found.answer.price()}"
    )


def _find(curator: Curator, column: str) -> tuple[PrivateTable, str]:
    tables = {
        name: table for name, table in curator.dataset.tables.items() if isinstance(table, PrivateTable)
    }
    qualifier, _, name = column.rpartition(".")
    places = [nearest(qualifier, tables, "table about people")] if qualifier else list(tables.values())
    found = [table for table in places if name.casefold() in {each.casefold() for each in table.columns}]
    if len(found) > 1:
        raise QueryRefused(
            f"“{name}” is a column of {' and of '.join(table.name for table in found)}.",
            remedy=f"Say which: {found[0].name}.{name}.",
        )
    table = (found or places)[0]
    known = nearest(name, table.columns, "column", table.name)
    if table.person == PersonColumn(name=known.name):
        raise QueryRefused(
            f"“{known.name}” identifies a person: it is counted by, and never summed, so it needs no bounds.",
            remedy="Name another column of numbers.",
        )
    if not known.type.numeric:
        raise QueryRefused(
            f"“{known.name}” is {known.type.value}, which has no bounds.", remedy="Name a column of numbers."
        )
    if known.bounds is not None:
        raise QueryRefused(
            f"“{known.name}” has bounds already, and values are clamped to them before anything is counted.",
            remedy="Remove them from the policy to learn others.",
        )
    return table, known.name


def _edges() -> list[Fraction]:
    """… −2, −1, …, −2⁻¹⁰, 0, 2⁻¹⁰, …, 1, 2, 4 …"""
    powers = [Fraction(2) ** exponent for exponent in _EXPONENTS]
    return [*(-power for power in reversed(powers)), Fraction(0), *powers]


def _question(table: str, column: str, edges: list[Fraction]) -> str:
    """Bin i holds values from edge i up to edge i + 1; the outer bins also hold all values beyond them."""
    quoted = '"' + column.replace('"', '""') + '"'
    whens = " ".join(f"WHEN {quoted} < {_decimal(edge)} THEN {i}" for i, edge in enumerate(edges[1:-1]))
    case = f"CASE WHEN {quoted} IS NULL THEN NULL {whens} ELSE {len(edges) - 2} END"
    name = '"' + table.replace('"', '""') + '"'
    return f"SELECT {case} AS bin, count(*) AS rows FROM {name} GROUP BY bin"  # noqa: S608


def _decimal(edge: Fraction) -> str:
    return str(int(edge)) if edge.denominator == 1 else f"{float(edge):.12f}"


def _shown(edge: Fraction) -> str:
    return str(int(edge)) if edge.denominator == 1 else f"{float(edge):.12g}"
