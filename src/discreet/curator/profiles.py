"""Profiles of tables: taken once, charged, stored; and what questions gain by them."""

from dataclasses import dataclass, field, replace
from typing import Unpack

from discreet.answers.explanation import Explanation
from discreet.bounds.calibrate import Plan, charge_for
from discreet.curator.charging import ChargedData
from discreet.curator.learning_rows import price_of_rows
from discreet.curator.terms import RowTerms
from discreet.errors import InvalidInput
from discreet.model.policy import Dataset, PrivateTable
from discreet.model.privacy import Spend, amount_of
from discreet.profile.limits import forecast_notes, with_best_limits
from discreet.profile.profile_plan import ProfilePlan
from discreet.profile.table_profile import TableProfile
from discreet.question.scope import nearest


@dataclass(slots=True, kw_only=True)
class Profiles:
    """Those of one dataset."""

    data: ChargedData
    found: dict[str, TableProfile] = field(default_factory=dict)
    """By table: the best one that was paid for."""

    def plan(self, table: str, **price: Unpack[RowTerms]) -> ProfilePlan:
        dataset = self.data.dataset
        nearest(table, dataset.tables, "table")
        private = dataset.tables[table]
        if not isinstance(private, PrivateTable):
            raise InvalidInput(
                f"“{table}” is public, so that there is nothing to be found out.",
                remedy="Profile a table with a person.",
            )
        return ProfilePlan(table=private, neighbours=dataset.neighbours, loss=price_of_rows(dataset, **price))

    def take(self, table: str, **price: Unpack[RowTerms]) -> TableProfile:
        """A profile of the data as it is now. One at the same price is taken once."""
        plan = self.plan(table, **price)
        taken = self._taken(plan)
        same = [number for number, profile in enumerate(taken, start=1) if profile.loss == plan.loss]
        plan = replace(plan, number=same[0] if same else len(taken) + 1)
        receipt, stored, _ = self.data.charge_and_draw(f"A profile of {table}.", plan)
        profile = plan.profile_from(stored, receipt.charged)
        self._keep(profile)
        return profile

    def load(self) -> None:
        """Find what was paid for, of this version of the data."""
        for table in self.data.dataset.tables.values():
            if isinstance(table, PrivateTable):
                plan = ProfilePlan(table=table, neighbours=self.data.dataset.neighbours, loss=self._any())
                for profile in self._taken(plan):
                    self._keep(profile)

    def explained(self, found: Explanation, plan: Plan) -> Explanation:
        """With what limits will leave out, as far as it is known."""
        return replace(found, notes=(*found.notes, *forecast_notes(plan, self.found)))

    def best_limits(self, plan: Plan) -> Dataset:
        return with_best_limits(plan, self.data.dataset, self.found)

    def _any(self) -> Spend:
        """A price, where it does not matter: keys of profiles do not name it."""
        return charge_for(self.data.dataset, self.data.dataset.epsilon)

    def _taken(self, first: ProfilePlan) -> list[TableProfile]:
        """All profiles of a table that were paid for, of this version of the data."""
        taken: list[TableProfile] = []
        while True:
            plan = replace(first, number=len(taken) + 1)
            stored = self.data.ledger.stored_answer(self.data.dataset.name, plan.identity())
            if stored is None:
                return taken
            receipt, drawn = stored
            taken.append(plan.profile_from(drawn, receipt.charged))

    def _keep(self, profile: TableProfile) -> None:
        before = self.found.get(profile.table)
        if before is None or amount_of(before.loss) < amount_of(profile.loss):
            self.found[profile.table] = profile
