"""What a synthetic table does not preserve, in words: from how it was made, never from the data."""

from collections.abc import Iterator, Sequence
from math import comb, sqrt

from discreet.synth.core.synthesis import Synthetic
from discreet.synth.core.weight_array import Halves

_NUMBERS = ("no column", "one column", "two columns", "three columns", "four columns", "five columns")
_MOST_NAMES = 8


def limits(synthetic: Synthetic, names: Sequence[str]) -> Iterator[str]:
    """One sentence or two for each."""
    tables = [each.marginal for each in synthetic.measurements if not isinstance(each.marginal, Halves)]
    order = max((len(each.attributes) for each in tables), default=0)
    if order < len(names):
        yield (
            f"What {columns_of(order + 1)} or more have to do with each other, beyond what follows from "
            f"tables of up to {columns_of(order)}. Nothing more was measured."
        )
    for below in range(2, order + 1):
        seen = {each.attributes for each in tables if len(each.attributes) == below}
        possible = comb(len(names), below)
        if len(seen) < possible:
            yield (
                f"{possible - len(seen):,} of the {possible:,} tables of {columns_of(below)}, which were not "
                f"measured themselves. They are what the other tables make likely."
            )
    joined = _joined(synthetic, names)
    if joined:
        yield (
            f"Differences between values that were measured together in a bin: of {joined}. Within a bin, "
            f"other columns do not depend on the value."
        )
    yield (
        f"Groups of fewer than about {round(_visible(synthetic)):,} people in a table that was measured: "
        f"they cannot be told from nobody."
    )
    yield (
        "Which rows belong to one person. Every row stands by itself, also where a person had several, so "
        "numbers of rows a person, and anything that follows one over time, are lost."
    )
    yield "The order of rows, and any column that is not in this table."
    yield "Rules that hold without exception, such as “nobody under 16 is married”: a few rows break them."


def columns_of(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number} columns"


def _joined(synthetic: Synthetic, names: Sequence[str]) -> str:
    """Columns that are in bins in some table."""
    found = set()
    for each in synthetic.measurements:
        marginal = each.marginal
        for attribute, codes in zip(marginal.attributes, marginal.codes, strict=True):
            if int(codes[-1]) + 1 < len(codes):
                found.add(attribute)
    shown = [names[i] for i in sorted(found)]
    more = len(shown) - _MOST_NAMES
    return ", ".join(shown[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _visible(synthetic: Synthetic) -> float:
    """Two standard deviations of the noise of a table of the most columns."""
    order = max(len(each.marginal.attributes) for each in synthetic.measurements)
    return 2 * sqrt(
        min(each.variance for each in synthetic.measurements if len(each.marginal.attributes) == order)
    )
