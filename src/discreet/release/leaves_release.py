"""Several private questions as one release: charged, read, drawn and stored at once.

With a single leaf it is the release of that question: it has the same key, and what is stored is the same. So
whatever is computed from the noisy answer of a question is free once that question was paid for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from discreet.answers.encoding import decode_columns, encode_columns
from discreet.bounds.calibrate import Plan
from discreet.bounds.identity import question_identity
from discreet.bounds.leaves import LeavesPlan, calibrate_leaves
from discreet.bounds.paid_key import questions_identity, questions_key
from discreet.dialects.dialect import Dialect
from discreet.errors import InvalidInput
from discreet.model.deadline import Deadline
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend
from discreet.release.drawn import Drawn
from discreet.release.exact_vectors import Results
from discreet.release.question_release import QuestionRelease
from discreet.sql.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavesRelease:
    """The leaves of a plan, and the policy that they were planned for."""

    plan: LeavesPlan
    dataset: Dataset

    @property
    def loss(self) -> Spend:
        return self.plan.loss

    @property
    def repeatable(self) -> bool:
        return True

    def identity(self) -> str:
        if len(self.plan.leaves) == 1:
            return self._leaves()[0].identity()
        return str(questions_key(self.plan.leaves, self.plan.loss, self.plan.request))

    def older_keys(self) -> Sequence[str]:
        leaves = self._leaves()
        if len(leaves) == 1:
            return leaves[0].older_keys()
        apart = self.apart()
        plans = [self.plan.leaves, *([] if apart is None else [apart.plan.leaves])]
        return [questions_identity(each) for each in plans]

    def apart(self) -> "Self | None":
        """The same as it was before vectors were measured together; None if it is what it was."""
        bounded = [leaf.bounded.apart or leaf.bounded for leaf in self.plan.leaves]
        if all(leaf.bounded.apart is None for leaf in self.plan.leaves):
            return None
        leaves = calibrate_leaves(bounded, self.plan.request, self.dataset)
        return replace(self, plan=replace(self.plan, leaves=leaves))

    def statements(self, relations: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
        return tuple(
            replace(statement, leaf=place)
            for place, leaf in enumerate(self._leaves())
            for statement in leaf.statements(relations, dialect)
        )

    def draw_noise(self, exact: Results, deadline: Deadline) -> bytes:
        leaves = self._leaves()
        drawn = [
            leaf.draw_noise([each for each in exact if each[0].leaf == place], deadline)
            for place, leaf in enumerate(leaves)
        ]
        if len(drawn) == 1:
            return drawn[0]
        in_order = [drawn[place] for place in self._order()]
        return encode_columns(
            {"leaves": len(drawn), **self.facts()}, [np.frombuffer(each, dtype=np.int64) for each in in_order]
        )

    def facts(self) -> dict[str, bool]:
        """What is stored about the draw, beside the numbers."""
        return {}

    def drawn_for(self, key: str, stored: bytes) -> tuple[tuple[Plan, ...], list[bytes]]:
        """The plans of the leaves that were paid for under this key, and what was drawn for each."""
        leaves = self._leaves()
        if len(leaves) > 1:
            apart = self.apart() if key != self.identity() else None
            if apart is not None and key == questions_identity(apart.plan.leaves):
                return apart.drawn_for(key, stored)
            return self.plan.leaves, self._parts(stored)
        if Drawn.decode(stored) is None:
            raise InvalidInput(
                "The noisy answer that this is computed from was stored by an older version, as it was"
                " shown.",
                remedy="Ask at a slightly different price, which is charged anew.",
            )
        return (leaves[0].plan_of(key),), [stored]

    def _leaves(self) -> list[QuestionRelease]:
        return [QuestionRelease(plan=leaf, dataset=self.dataset) for leaf in self.plan.leaves]

    def _order(self) -> list[int]:
        """Leaves in the order of their keys: it does not depend on which one the question names first."""
        keys = [question_identity(leaf) for leaf in self.plan.leaves]
        return sorted(range(len(keys)), key=keys.__getitem__)

    def _parts(self, stored: bytes) -> list[bytes]:
        facts, columns = decode_columns(stored)
        order = self._order()
        if facts.get("leaves") != len(order) or len(columns) != len(order):
            raise InvalidInput(
                "What was drawn for a question cannot be read.",
                remedy="Restore the ledger from a backup, or use the version of discreet that wrote it.",
            )
        by_place = {place: np.asarray(column).tobytes() for place, column in zip(order, columns, strict=True)}
        return [by_place[place] for place in range(len(order))]
