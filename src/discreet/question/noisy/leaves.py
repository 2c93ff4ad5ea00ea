"""The leaves of a question, or of a report: private questions whose noisy answers the rest is computed from.

What several of them ask of the same groups is one leaf, and is paid once.
"""

from dataclasses import dataclass, field, replace

from discreet.bounds.work_limits import check_question
from discreet.errors import QueryRefused
from discreet.model.expression import Field
from discreet.model.noisy_table import LeafAnswer
from discreet.model.policy import ValueType
from discreet.model.query import Measure, Output, Query, group_count
from discreet.question.answer_size import check_answer_size
from discreet.question.resolve import what_of

_MOST_LEAVES = 16
_PRIVATE_ROWS = 100_000
"""How many groups with private keys are planned for. Nobody knows how many there are."""


@dataclass(slots=True)
class Leaves:
    """All leaves that are paid together, in the order in which they are met."""

    found: list[Query] = field(default_factory=list)
    whole: str = "question"
    """What they are the leaves of."""
    most: int = _MOST_LEAVES

    def answer_of(self, query: Query, number: int) -> LeafAnswer:
        """The answer of a leaf. What another leaf asks of the same groups is asked together with it."""
        if not query.measures and query.picks is None and not query.private_keys:
            raise QueryRefused(
                "A query asks for no aggregate, and single rows are never shown.",
                remedy="Ask for count(*), sum(…) or avg(…), with GROUP BY for each group.",
            )
        place, names = self.place_of(query)
        check_answer_size(self.found[place])
        most = _PRIVATE_ROWS if query.private_keys else group_count(query)
        return LeafAnswer(
            number=number,
            leaf=place,
            keys=tuple(
                Field(name=f"t{number}_k{i}", type=key.expression.type) for i, key in enumerate(query.keys)
            ),
            measures=tuple(
                (Field(name=f"t{number}_{measure.name}", type=ValueType.NUMBER), names[measure.name])
                for measure in query.measures
            ),
            unique=len(query.sets) == 1,
            most_rows=most if query.picks is None else min(most, query.picks.count),
        )

    def place_of(self, query: Query) -> tuple[int, dict[str, str]]:
        """The leaf that asks this, and what it calls each measure."""
        place, names = self._placed(query)
        check_question(self.found[place])  # with all that others ask of the same groups
        return place, names

    def _placed(self, query: Query) -> tuple[int, dict[str, str]]:
        for place, leaf in enumerate(self.found):
            if _groups(leaf) == _groups(query):
                names: dict[str, str] = {}
                measures = list(leaf.measures)
                for measure in query.measures:
                    names[measure.name] = _added(measures, measure)
                self.found[place] = replace(
                    leaf,
                    measures=tuple(measures),
                    outputs=(*leaf.outputs, *(_renamed(each, names) for each in query.outputs)),
                )
                return place, names
        if len(self.found) == self.most:
            raise QueryRefused(
                f"The {self.whole} aggregates people in more than {self.most} ways.",
                remedy=f"Ask in several {self.whole}s.",
            )
        self.found.append(query)
        return len(self.found) - 1, {measure.name: measure.name for measure in query.measures}


def _groups(query: Query) -> tuple[object, ...]:
    """What a leaf reads and groups by. What is asked of the same groups is asked at once."""
    keys = tuple((key.expression, key.values) for key in query.keys)
    return query.source, keys, query.sets, query.picks


def _added(measures: list[Measure], measure: Measure) -> str:
    """What a leaf with these measures calls another one, which it may have already."""
    for known in measures:
        if what_of(known) == what_of(measure):
            return known.name
    measures.append(replace(measure, name=f"m{len(measures)}"))
    return measures[-1].name


def _renamed(output: Output, names: dict[str, str]) -> Output:
    field_ = output.expression
    if not isinstance(field_, Field):
        raise TypeError("A key or a measure is expected here.")
    return replace(output, expression=replace(field_, name=names.get(field_.name, field_.name)))
