"""What a row adds to each of several vectors, as SQL.

Of a family, a column says which of the conditions are true of a row, as the bits of a number, and another how
many steps its value is above its lower bound. All vectors are computed from these two: a row has one number,
and so is in one cell, whatever the conditions say.
"""

from collections.abc import Sequence

from discreet.aggregates.joint import Basis, JointSum, VectorFamily
from discreet.aggregates.vectors import WeightedSum
from discreet.aggregates.weights import Weight
from discreet.dialects.dialect import Dialect
from discreet.functions.registry import emit
from discreet.model.expression import Call, Expression
from discreet.sql.row_columns import ONE, EmittedColumn, integer_column, steps_column
from discreet.sql.weights import weighted_total


class AddedValues:
    """The columns that some vectors are computed from, and what a row adds to each of these."""

    def __init__(self, parts: Sequence[tuple[int, WeightedSum]], dialect: Dialect) -> None:
        self._dialect = dialect
        self._single = [part for _, part in parts if not isinstance(part, JointSum)]
        self._integers = {
            i: integer_column(part, f"v{i}", dialect) for i, part in parts if not isinstance(part, JointSum)
        }
        self.families: dict[VectorFamily, int] = {}
        """By family, the place of the first of its parts."""
        for place, part in parts:
            if isinstance(part, JointSum):
                self.families.setdefault(part.family, place)

    def columns(self) -> list[EmittedColumn]:
        found = [(f"v{i}", *sql) for i, sql in self._integers.items() if sql is not ONE]
        for family, place in self.families.items():
            found += [*self._pattern(family, place), *self._steps(family, place)]
        return found

    def used(self) -> list[Expression]:
        """What they are computed from."""
        single = [each for part in self._single for each in (part.value, part.condition, part.not_null)]
        joint = [each for family in self.families for each in (*family.conditions, family.value)]
        return [each for each in (*single, *joint) if each is not None]

    def total(self, place: int, part: WeightedSum, weight: Weight | None) -> str:
        """The sum of what rows add, each with its weight."""
        if isinstance(part, JointSum) and _has_halves(part.family) and not part.cell.pattern:
            other = f"c{self.families[part.family]}"  # rows are in one half or in the other
            return f"({self._total(None, 1, weight)} - {self._total(other, 1, weight)})"
        return self._total(self._of(place, part), part.largest, weight)

    def added(self, place: int, part: WeightedSum) -> str | None:
        """What a row adds before its weight; None if that is 1. NULL, where a value is NULL, adds nothing."""
        if isinstance(part, JointSum) and _has_halves(part.family) and not part.cell.pattern:
            return f"(1 - c{self.families[part.family]})"
        return self._of(place, part)

    def _total(self, value: str | None, largest: int, weight: Weight | None) -> str:
        if weight is not None:
            return weighted_total(weight, self._dialect, value, largest)
        return "count(*)" if value is None else self._dialect.total(value, largest)

    def _of(self, place: int, part: WeightedSum) -> str | None:
        """The same but for the second half, which is what the first leaves."""
        if not isinstance(part, JointSum):
            return None if self._integers[place] is ONE else f"v{place}"
        first = self.families[part.family]
        added = _function(part, f"q{first}")
        if _has_halves(part.family):
            return f"c{first}"
        if _is_known_by_value(part.family):
            return f"({added})"
        return f"(CASE WHEN c{first} = {part.cell.pattern} THEN {added} ELSE 0 END)"

    def _pattern(self, family: VectorFamily, place: int) -> list[EmittedColumn]:
        if _is_known_by_value(family):
            return []
        true = [f"(({emit(condition, self._dialect)}) IS TRUE)" for condition in family.conditions]
        bits = [f"CAST({each} AS INTEGER) * {1 << i}" for i, each in enumerate(true)]  # 32 bits, if these do
        return [(f"c{place}", " + ".join(bits or ["0"]), f"c{place}")]

    def _steps(self, family: VectorFamily, place: int) -> list[EmittedColumn]:
        if family.value is None:
            return []
        name = f"q{place}"
        sql = steps_column(family.value, name, family.offset, family.grid, family.steps, self._dialect)
        return [(name, *sql)]


def _function(part: JointSum, q: str) -> str:
    """One of the functions of a cell (`aggregates.joint`)."""
    family, cell = part.family, part.cell
    rest = f"({family.steps} - {q})"
    match cell.basis:
        case Basis.COUNT:
            return "1"
        case Basis.VALUE:
            return f"({q} - ({cell.start}))" if cell.start else q
        case Basis.LINE:
            return (rest, q)[part.place]
        case Basis.PARABOLA:
            return (f"{rest} * {rest}", f"2 * {q} * {rest}", f"{q} * {q}")[part.place]


def _has_halves(family: VectorFamily) -> bool:
    """Whether rows are counted on which one condition is true, and all others."""
    return len(family.conditions) == 1 and all(cell.basis is Basis.COUNT for cell in family.cells)


def _is_known_by_value(family: VectorFamily) -> bool:
    """Whether all rows with a value are in one cell, and all others in none."""
    match family.conditions:
        case (Call(function="is_not_null", arguments=(known,)),):
            return known == family.value and all(cell.pattern == 1 for cell in family.cells)
    return False
