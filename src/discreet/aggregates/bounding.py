"""Contribution bounding that all aggregates share: how much the rows of one person weigh in a question."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.aggregates.vectors import WeightedSum
from discreet.aggregates.weights import Norm, Weight
from discreet.dialects.quoting import as_typed
from discreet.errors import QueryRefused
from discreet.functions.registry import range_of
from discreet.model.expression import Expression, Field, Range, fields_of, title
from discreet.model.query import Measure, Query


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContributionBounds:
    """The question that a measure belongs to. It decides how rows are weighed."""

    query: Query
    gaussian: bool
    """Whether the noise is Gaussian, and not Laplace."""
    selecting: Measure | None
    """With private keys: the measure of the question that also selects them. None if there is none."""
    one_value: frozenset[str] | None = None
    """The fields of which a person has one value; None for plans as they were before that was known."""

    @property
    def one_group(self) -> tuple[bool, ...]:
        """For each grouping set, whether it has no keys, and so one group."""
        return tuple(not chosen for chosen in self.query.sets)

    @property
    def one_each(self) -> bool:
        """Whether no person is in two groups of a set, because a person has one value of all keys."""
        return bool(self.query.keys) and all(self.has_one_value(key.expression) for key in self.query.keys)

    def has_one_value(self, expression: Expression) -> bool:
        """Whether an expression is the same in all rows of a person."""
        return self.one_value is not None and all(
            each.name in self.one_value for each in fields_of(expression)
        )

    @property
    def norm(self) -> Norm:
        """ℓ₂ for Gaussian noise on one grouping set with keys, else ℓ₁. Both are the same for one group."""
        several = bool(self.query.keys) and len(self.query.sets) == 1 and not self.one_each
        return Norm.L2 if self.gaussian and several else Norm.L1

    def row_weight(self, norm: Norm, *, names_keys: bool = False) -> Weight | None:
        """None where no person has two rows."""
        source = self.query.source
        if source.one_row_a_person:
            return None
        return Weight.for_rows(source.max_rows, norm, names_keys=names_keys and not self.one_each)

    def ones(
        self, weight: Weight | None, condition: Expression | None, not_null: Expression | None
    ) -> WeightedSum:
        """A count: every row, or person, adds its weight."""
        return WeightedSum(
            weight=weight,
            value=None,
            condition=condition,
            not_null=not_null,
            offset=Fraction(0),
            grid=Fraction(1),
            power=1,
            largest=1,
            signed=False,
            sets=self.one_group,
            one_each=self.one_each,
        )


def bounded_argument(measure: Measure) -> tuple[Expression, Range]:
    """The argument of a measure, and the range of its values; refused if nothing bounds them."""
    argument = measure.argument
    span = None if argument is None else range_of(argument)
    if argument is not None and span is not None:
        return argument, span
    function = measure.aggregate.value.upper()
    if isinstance(argument, Field):
        name = title(argument.name)
        raise QueryRefused(
            f"{function}({name}) has no bounds, so one person could change it without limit.",
            remedy=f"Clamp it to what you know: least(greatest({as_typed(name)}, 0), 100). Or the owner"
            f" declares bounds = [0, 100] of {name} in the policy, for every question.",
        )
    raise QueryRefused(
        f"{function}(…) has no bounds, so one person could change it without limit.",
        remedy="Use columns with declared bounds, or clamp it: least(greatest(…, 0), 100).",
    )
