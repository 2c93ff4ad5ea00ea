"""What a fit reads and costs. Making a plan reads no data and spends nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature

import numpy as np

from discreet.bounds.work_limits import check_before_joins, rows_to_learn_from
from discreet.dialects.dialect import Dialect
from discreet.errors import InvalidInput, QueryRefused, TookTooLong
from discreet.functions.registry import range_of
from discreet.learn.core.declarations import truth
from discreet.learn.core.encoding import NOBODY
from discreet.learn.estimators.base import FeatureBounds, Learner, ModelState, PlainValue, plain
from discreet.learn.estimators.clones import separate_copy
from discreet.learn.estimators.regressors import LeastSquares, solver_of
from discreet.learn.least_squares.sufficient_statistics import ProductSums
from discreet.learn.plan.columns import (
    ChoiceColumn,
    FeatureColumn,
    NumberColumn,
    choice_column,
    column_facts,
    feature_columns,
    number_column,
)
from discreet.learn.plan.statements import Fetched, LabelledRows, Summed, class_values
from discreet.model.deadline import Deadline
from discreet.model.identity import RelationFacts, identity_of, loss_facts
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import PureLoss, Spend
from discreet.question.answer_size import check_storable
from discreet.question.plain_rows import RowColumn, RowQuery
from discreet.release.exact_vectors import Results
from discreet.release.older_keys import older_keys
from discreet.sql.statement import Statement

_MOST_ROWS = 2**20
_LONGEST_NUMBER = 26
"""Sign, 17 digits, point and exponent; and the comma after it."""
_FROM_POLICY = ("epsilon", "delta", "noise", "rows_per_person", "neighbours")


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlan:
    """The model, the columns that it learns from, and the price."""

    model: str
    """The kind of model, with all its settings."""
    data: Fetched | Summed
    """What is read, and how."""
    loss: Spend
    neighbours: Neighbours
    estimator: Learner = field(repr=False, compare=False)
    """The model before the fit, with all that the policy declares."""

    @property
    def columns(self) -> tuple[FeatureColumn, ...]:
        return self.data.columns

    @property
    def target(self) -> FeatureColumn:
        return self.data.target

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.features)

    @property
    def repeatable(self) -> bool:
        """Whether the same fit can be asked for again, and is free then."""
        return self.estimator.repeatable()

    def identity(self) -> str:
        """The text that says which fit this is: the same text, the same fit."""
        facts = RelationFacts(self.data.source)
        return identity_of(
            "fit",
            {
                "model": self.model,
                "neighbours": self.neighbours.value,
                "source": facts.source,
                "rows": self.data.source.max_rows,
                "by": "sums" if isinstance(self.data, Summed) else "rows",
                "columns": [column_facts(column, facts) for column in (*self.columns, self.target)],
                "price": loss_facts(self.loss),
            },
        )

    def older_keys(self) -> Sequence[str]:
        return older_keys(self)

    def statements(self, relations: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
        return (self.data.statement(relations, dialect),)

    def draw_noise(self, exact: Results, deadline: Deadline) -> bytes:
        """Draw noise and fit. Costs `loss`. Returns all that is released, to be stored before it is seen.

        No step begins after the deadline.
        """
        if isinstance(self.data, Summed):
            model = self._learn_from_products(self.data.sums(exact), deadline)
        else:
            model = self._learn(self.data.rows(exact), deadline)
        return json.dumps(model.state()).encode()

    def model_from(self, stored: bytes) -> Learner:
        """The model, read back from what was released. Free."""
        model: Learner = separate_copy(self.estimator)
        model.restore(json.loads(stored), len(self.features))
        model.loss_ = self.loss
        return model

    def rehearse(self, deadline: Deadline | None) -> None:
        """Fit on no rows and on made-up rows: wrong settings are refused before anything is spent.

        It takes no longer than the fit may, which makes as many steps.
        Settings that fail only where there are rows would tell whether there are any. A model that could not
        be stored is refused too: its size does not depend on the rows.
        """
        if isinstance(self.data, Summed):
            model: Learner = self._learn_from_products(self.data.nothing(), deadline)
        else:
            self._learn(self.data.nobody(), deadline)
            model = self._learn(self.data.made_up(), deadline)
        check_storable(_most_bytes(model.state()), "Fit a model with fewer features, classes or weights.")

    def _learn(self, rows: LabelledRows, deadline: Deadline | None) -> Learner:
        """A model that is fitted on these rows; it spends `loss`."""
        model: Learner = separate_copy(self.estimator)
        with np.errstate(all="ignore"):  # a warning would tell of the data
            model.learn(*rows, budget=self.loss, deadline=deadline)
        return model

    def _learn_from_products(self, sums: ProductSums, deadline: Deadline | None) -> LeastSquares:
        model = separate_copy(self.estimator)
        if not isinstance(model, LeastSquares):
            raise TypeError("Only least squares are made of sums.")
        account = model.open_account(NOBODY, budget=self.loss, deadline=deadline)
        model.learn_from_products(sums, account)
        return model


def plan_fit(
    model: object, rows: RowQuery, loss: Spend, neighbours: Neighbours, deadline: Deadline | None = None
) -> FitPlan:
    """A model of the last column by the others. It is tried out on made-up rows, until the deadline."""
    if not isinstance(model, Learner) or not type(model).__module__.startswith("discreet.learn."):
        raise InvalidInput(
            "Only discreet's own models can be fitted here.",
            remedy="Give one of discreet.learn, such as LogisticRegression().",
        )
    if len(rows.columns) < 2:
        raise QueryRefused(
            "A model predicts the last column from those before it, and there is only one.",
            remedy="Write SELECT feature, …, target FROM table.",
        )
    _check_settings(model)
    intercept = truth(getattr(model, "fit_intercept", True), "fit_intercept")
    if rows.source.max_rows > _MOST_ROWS:
        raise QueryRefused(
            f"One person can have {rows.source.max_rows:,} rows here; models learn from at most"
            f" {_MOST_ROWS:,} of each.",
            remedy="The owner can declare a smaller max_rows; or join fewer tables.",
        )
    columns = feature_columns(rows.columns[:-1], intercept=intercept)
    target = _target(model, rows.columns[-1])
    estimator = _declared(model, columns, target, rows.source.max_rows, neighbours)
    plan = FitPlan(
        model=estimator.description(),
        data=_data(estimator, rows, columns, target, loss),
        loss=loss,
        neighbours=neighbours,
        estimator=estimator,
    )
    try:
        plan.rehearse(deadline)
    except TookTooLong as late:
        raise _slow_rehearsal() from late
    return plan


def _slow_rehearsal() -> QueryRefused:
    return QueryRefused(
        "The model was tried out on made-up rows, which took longer than the time limit of this policy."
        " Nothing was spent.",
        remedy="Fit it with fewer steps; or ask the owner of the data for a larger time_limit.",
    )


def _target(model: Learner, last: RowColumn) -> FeatureColumn:
    """Classes or a number, as the model needs. If it can take both: a number if the column has a range."""
    classes = model.wants_classes()
    if classes is None:
        classes = range_of(last.expression) is None
    return choice_column(last) if classes else number_column(last)


def _data(
    model: Learner, rows: RowQuery, columns: tuple[FeatureColumn, ...], target: FeatureColumn, loss: Spend
) -> Fetched | Summed:
    """Sums, if the model is made of sums and one statement can return them all; else rows.

    Rows on which something is NULL are left out, which a database may do before it joins.
    """
    check_before_joins(rows.source, [e for column in (*columns, target) for e in column.computed])
    width = sum(len(column.features) for column in columns)
    if (
        isinstance(model, LeastSquares)
        and solver_of(model.solver, width, model.batch) == "statistics"
        and isinstance(target, NumberColumn)
        and _bounds_are_declared(model, columns, target)
    ):
        order = 1 if isinstance(loss, PureLoss) else 2
        summed = Summed(source=rows.source, columns=columns, target=target, order=order)
        if summed.fits_a_statement():
            summed.check_work()
            return summed
    return Fetched(source=rows_to_learn_from(rows.source), columns=columns, target=target)


def _bounds_are_declared(
    model: LeastSquares, columns: tuple[FeatureColumn, ...], target: NumberColumn
) -> bool:
    """Whether values are clamped to the bounds of the policy, and not to the model's own."""
    own = plain(model.bounds), plain(model.target_bounds)
    return own == (_bounds(columns), target.bounds[0])


def _declared(
    model: Learner,
    columns: tuple[FeatureColumn, ...],
    target: FeatureColumn,
    rows_per_person: int,
    neighbours: Neighbours,
) -> Learner:
    """The model, with what the policy declares where the model says nothing."""
    of_target = class_values(target).tolist() if isinstance(target, ChoiceColumn) else target.bounds[0]
    declared: Learner = separate_copy(model).set_params(
        rows_per_person=rows_per_person,
        neighbours=neighbours.value,
        **model.declared(_bounds(columns), of_target),
    )
    return declared


def _bounds(columns: tuple[FeatureColumn, ...]) -> FeatureBounds:
    return [pair for column in columns for pair in column.bounds]


def _check_settings(model: Learner) -> None:
    """Refuse settings that the policy and the price decide."""
    defaults = {name: each.default for name, each in signature(type(model)).parameters.items()}
    for name in _FROM_POLICY:
        if plain(getattr(model, name)) != defaults[name]:
            raise InvalidInput(
                f"The model comes with its own {name}.",
                remedy=f"Leave {name} out: the policy says whose privacy it is, and epsilon= or rho= of fit"
                " what may be spent.",
            )
    if isinstance(getattr(model, "bounds", None), Mapping):
        raise InvalidInput(
            "The model has bounds by name; the columns of a SELECT have those that the policy declares.",
            remedy="Leave bounds out. The owner can declare them: [tables.….columns.…] bounds = [low, high];"
            " or clamp a column in the SELECT: least(greatest(…, 0), 100).",
        )


def _most_bytes(state: "ModelState | PlainValue") -> int:
    """The length of a state as JSON, if every number had the most digits."""
    match state:
        case dict():
            return sum(_LONGEST_NUMBER + len(name) + _most_bytes(value) for name, value in state.items())
        case list():
            return _LONGEST_NUMBER + sum(map(_most_bytes, state))
    return _LONGEST_NUMBER
