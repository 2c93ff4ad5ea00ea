"""Profiles of tables: taken once, charged, stored; and what questions gain by them."""

from dataclasses import dataclass, field, replace
from typing import Unpack

from discreet.answers.explanation import Explanation
from discreet.bounds.calibrate import Plan, budget_of, charge_for
from discreet.curator.charging import ChargedData
from discreet.curator.terms import RowTerms, price_of_rows
from discreet.errors import InvalidInput
from discreet.ledger.interface import Answered
from discreet.ledger.units import budget_units, charge_units
from discreet.model.policy import Dataset, PrivateTable
from discreet.model.privacy import Spend, amount_of
from discreet.profile.limits import OTHER_LIMITS, forecast_notes, has_other_limits, with_best_limits
from discreet.profile.profile_plan import ProfilePlan
from discreet.profile.table_profile import TableProfile
from discreet.question.expressions.scope import nearest


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
        loss = _as_charged(price_of_rows(dataset, **price), dataset)
        return ProfilePlan(table=private, neighbours=dataset.neighbours, loss=loss)

    def take(self, table: str, **price: Unpack[RowTerms]) -> TableProfile:
        """A profile of the data as it is now. One at the same price is taken once."""
        plan = self.plan(table, **price)
        receipt, stored, _ = self.data.charge_and_draw(f"A profile of {table}.", plan)
        profile = plan.profile_from(stored, receipt.charged)
        self._keep(profile)
        return profile

    def load(self) -> None:
        """Find what was paid for, of this version of the data."""
        for table in self.data.dataset.tables.values():
            if isinstance(table, PrivateTable):
                plan = ProfilePlan(table=table, neighbours=self.data.dataset.neighbours, loss=self._any())
                for receipt, drawn in self._taken(plan):
                    self._keep(plan.profile_from(drawn, receipt.charged))

    def explained(self, found: Explanation, *plans: Plan) -> Explanation:
        """With what limits will leave out, as far as it is known."""
        notes = [note for plan in plans for note in forecast_notes(plan, self.found)]
        notes += [OTHER_LIMITS for plan in plans if has_other_limits(plan, self.data.dataset)]
        return replace(found, notes=tuple(dict.fromkeys([*found.notes, *notes])))

    def best_limits(self, plan: Plan) -> Dataset:
        return with_best_limits(plan, self.data.dataset, self.found)

    def _any(self) -> Spend:
        """A price, where it does not matter."""
        return charge_for(self.data.dataset, self.data.dataset.epsilon)

    def _taken(self, plan: ProfilePlan) -> list[Answered]:
        """All profiles of a table that were paid for, of this version of the data."""
        return self.data.ledger.stored_answers(self.data.dataset.name, plan.identity_at_any_price())

    def _keep(self, profile: TableProfile) -> None:
        before = self.found.get(profile.table)
        if before is None or amount_of(before.loss) < amount_of(profile.loss):
            self.found[profile.table] = profile


def _as_charged(loss: Spend, dataset: Dataset) -> Spend:
    """In whole units, as the ledger charges it: so a profile is found by the price that was paid."""
    return charge_units(loss, budget_units(budget_of(dataset), "budget").currency).loss
