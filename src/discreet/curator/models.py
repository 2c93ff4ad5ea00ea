"""Models: planned, explained, charged and fitted.

Imported when a model is first needed: scikit-learn is optional, and takes a second to import.
"""

from dataclasses import dataclass
from typing import Unpack

from discreet.curator.charging import ChargedData
from discreet.curator.planning import rows_of
from discreet.curator.public_tables import PublicTables
from discreet.curator.terms import RowTerms, price_of_rows
from discreet.learn.plan.explain import FitExplanation, explain_fit
from discreet.learn.plan.fit_plan import FitPlan, plan_fit
from discreet.learn.plan.fitted_model import FittedModel
from discreet.model.receipt import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of one dataset, for one analyst."""

    data: ChargedData
    public: PublicTables

    def plan(self, model: object, sql: str, **price: Unpack[RowTerms]) -> FitPlan:
        dataset = self.data.dataset
        rows = rows_of(sql, dataset, self.public.reading())
        price_now = price_of_rows(dataset, **price)
        return plan_fit(model, rows, price_now, dataset.neighbours, self.data.deadline())

    def explain(self, model: object, sql: str, **price: Unpack[RowTerms]) -> FitExplanation:
        plan = self.plan(model, sql, **price)
        self.data.emit(plan)  # refuses what this engine cannot do
        return explain_fit(plan, self.data.dataset)

    def fit(self, model: object, sql: str, **price: Unpack[RowTerms]) -> FittedModel:
        plan = self.plan(model, sql, **price)
        question = f"A {type(model).__name__} of: {sql}"
        return self._fitted(plan, *self.data.charge_and_draw(question, plan))

    def recall(self, model: object, sql: str, **price: Unpack[RowTerms]) -> FittedModel | None:
        plan = self.plan(model, sql, **price)
        found = self.data.stored(plan)
        return None if found is None else self._fitted(plan, *found, repeated=True)

    def _fitted(self, plan: FitPlan, receipt: Receipt, stored: bytes, repeated: bool) -> FittedModel:
        return FittedModel.of(
            tuple(column.of_table for column in plan.columns),
            plan.model_from(stored),
            receipt=receipt,
            left=self.data.left(),
            repeated=repeated,
        )
