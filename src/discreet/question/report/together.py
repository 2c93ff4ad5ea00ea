"""Which private questions the questions of a report share: what they ask of the same groups is asked once."""

from collections.abc import Sequence
from dataclasses import replace

from discreet.model.noisy_table import AfterNoise
from discreet.model.query import Query
from discreet.model.report import AskedReport, LeafUse, QuestionOnLeaves
from discreet.question.answer_size import check_sizes, size_of_answer
from discreet.question.noisy.leaves import Leaves
from discreet.question.noisy.size import size_of_noisy_answer

_MOST_LEAVES = 64
"""How much all of them may compute together has a limit too (`bounds.work_limits.check_together`)."""


def asked_together(questions: Sequence[Query | AfterNoise]) -> AskedReport:
    """One leaf for all that questions ask of the same groups. What is too large together is refused."""
    leaves = Leaves(whole="report", most=_MOST_LEAVES)
    found = tuple(
        QuestionOnLeaves(
            uses=tuple(_use(leaves, query) for query in _queries(asked)),
            after=asked if isinstance(asked, AfterNoise) else None,
        )
        for asked in questions
    )
    check_sizes(
        [
            size_of_noisy_answer(asked) if isinstance(asked, AfterNoise) else size_of_answer(asked)
            for asked in questions
        ]
    )
    return AskedReport(leaves=tuple(leaves.found), questions=found)


def _queries(asked: Query | AfterNoise) -> tuple[Query, ...]:
    return asked.leaves if isinstance(asked, AfterNoise) else (asked,)


def _use(leaves: Leaves, query: Query) -> LeafUse:
    """A leaf has no outputs of its own: each question computes its own from what is drawn."""
    limit = None if query.picks is None else query.picks.count
    bare = replace(query, outputs=(), having=None, order=(), limit=limit)
    leaf, names = leaves.place_of(bare)
    return LeafUse(query=query, leaf=leaf, names=names)
