"""Your own network, trained privately: descent on the gradients that torch gives for each row.

Privacy
    `GradientDescent` clips each row's gradient, sums in whole numbers and adds exact noise; `row_gradients`
    says why a row's gradient depends on that row alone. What comes out are weights made of noisy sums, in
    a copy of the network as it was given. Loss, clip, steps, rate and rows are declared.

How the curator identifies a fit
    A network and its loss are code, which cannot be compared. So the user gives a `key` that stands for both.
    The same key with the same settings is the same fit: it is charged once, and its weights are stored.
    Without a key every fit is a new one, and is charged.
"""

import copy
import secrets
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Floats, Labels, RowValues
from discreet.errors import InvalidInput
from discreet.learn.core.account import FitAccount, FitBudget
from discreet.learn.core.declarations import DeclaredClasses, declared_classes
from discreet.learn.core.encoding import RowOwners
from discreet.learn.descent.own_loss import Gradient, GradientDescent
from discreet.learn.estimators.base import (
    FeatureBounds,
    Learner,
    ModelState,
    TargetDeclaration,
    plain,
    relation,
)
from discreet.learn.networks.checks import check_network
from discreet.learn.networks.data import NOWHERE, inputs, targets
from discreet.learn.networks.row_gradients import NamedWeights, RowGradients, RowLoss, outputs_for, trainable
from discreet.model.deadline import Deadline
from discreet.model.exact import Number
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import Loss

PREDICTED_AT_ONCE = 4096


class PrivateNetwork(Learner):
    """A network that is trained privately: what `privatize` makes of one.

    Attributes
        network_: a trained copy of the network, which itself stays as it is
        loss_: what the fit spent, under the declared neighbours
        classes_: what `predict` answers with; None where it gives numbers
    """

    network_: torch.nn.Module
    steps: int
    loss_: Loss
    classes_: Labels | None

    def __init__(
        self,
        network: torch.nn.Module,
        *,
        loss: RowLoss,
        rows: int,
        epsilon: Number | None = None,
        delta: Number = 0,
        clip: float = 1.0,
        steps: int = 50,
        rate: float = 1.0,
        momentum: float = 0.5,
        batch: Number | None = None,
        noise: str = "auto",
        classes: DeclaredClasses | None = None,
        rows_per_person: int = 1,
        neighbours: Neighbours | str = "add_remove",
        one_row_at_a_time: bool = False,
        key: str | None = None,
    ) -> None:
        self.network = network
        self.loss = loss
        self.rows = rows
        self.epsilon = epsilon
        self.delta = delta
        self.clip = clip
        self.steps = steps
        self.rate = rate
        self.momentum = momentum
        self.batch = batch
        self.noise = noise
        self.classes = classes
        self.rows_per_person = rows_per_person
        self.neighbours = neighbours
        self.one_row_at_a_time = one_row_at_a_time
        self.key = key

    def fit(self, X: object, y: object, groups: object = None) -> "PrivateNetwork":  # noqa: N803
        """Spends epsilon and delta. `groups` has each row's person; without it, each row is one person's.

        Rows whose label is not declared, whose gradient is not finite, or on which the network fails count
        for nothing.
        """
        ids = None if groups is None else np.asarray(groups)
        with self.only_fit():
            self._learn(inputs(X), y, ids, budget=self.own_budget(), deadline=None)
        return self

    def learn(
        self, x: Floats, y: Labels, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None
    ) -> None:
        self._learn(x, y, people.ids, budget=budget, deadline=deadline)

    def _learn(
        self, x: RowValues, y: object, ids: Labels | None, *, budget: FitBudget, deadline: Deadline | None
    ) -> None:
        check_network(self.network)
        places, classes = targets(y, self.classes, outputs_for(self.network, x))
        alone = _true_or_false(self.one_row_at_a_time)
        gradients = RowGradients(self.network, self.loss, x, places, one_row_at_a_time=alone)
        descent = self._descent(gradients if classes is None else _of_declared(gradients))
        found = descent.run(gradients.start, x, places, ids, budget=budget, deadline=deadline)
        self.network_ = _with_weights(self.network, gradients.named(found.weights))
        self.loss_ = found.loss
        self.classes_ = classes

    def wants_classes(self) -> bool | None:
        return None if self.classes is None else True

    def declared(self, bounds: FeatureBounds, target: TargetDeclaration) -> dict[str, object]:  # noqa: ARG002
        """Features and numbers need no bounds, as gradients are clipped."""
        return {"classes": target} if self.classes is None and isinstance(target, list) else {}

    def state(self) -> ModelState:
        return {"weights": [each.tolist() for each in trainable(self.network_).values()]}

    def restore(self, state: ModelState, features: int) -> None:  # noqa: ARG002
        weights, stored = trainable(self.network), state["weights"]
        if not isinstance(stored, list):
            raise TypeError("The state of a network is a list of weights.")
        kept = [torch.tensor(each, dtype=torch.float64) for each in stored]
        if [each.shape for each in kept] != [each.shape for each in weights.values()]:
            raise InvalidInput(
                f"The weights that are stored for the key “{self.key}” do not fit this network.",
                remedy="Give the network that they were trained in; or another key, which is charged.",
            )
        self.network_ = _with_weights(self.network, dict(zip(weights, kept, strict=True)))
        self.classes_ = None if self.classes is None else declared_classes(self.classes)

    def description(self) -> str:
        """The key stands for the network and its loss. Without a key the description differs each time."""
        settings = {name: plain(value) for name, value in sorted(self.get_params(deep=False).items())}
        for name in ("network", "loss", "key"):
            del settings[name]
        network = f"key={_text(self.key)!r}" if self.repeatable() else f"no key, {secrets.token_hex(16)}"
        return f"{type(self).__name__}({network}, {settings!r})"

    def repeatable(self) -> bool:
        return self.key is not None

    def predict(self, X: object) -> Labels:  # noqa: N803
        """A class for each row, or the network's outputs where it was trained on numbers."""
        check_is_fitted(self, "network_")
        rows = torch.from_numpy(inputs(X))
        if rows.is_floating_point():
            rows = rows.to(next(each.dtype for each in self.network_.parameters() if each.requires_grad))
        with torch.no_grad():
            outputs: Floats = self._outputs(rows).double().numpy()
        if outputs.ndim == 2 and outputs.shape[1] == 1:
            outputs = outputs[:, 0]
        if self.classes_ is None:
            return outputs
        chosen = (outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)
        labels: Labels = self.classes_[chosen]
        return labels

    def _outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """The outputs, each row computed alone, as in training."""
        if self.one_row_at_a_time:
            return torch.cat([copy.deepcopy(self.network_)(row[None]) for row in rows])
        alone = torch.func.vmap(lambda row: self.network_(row[None])[0])
        return torch.cat([alone(part) for part in rows.split(PREDICTED_AT_ONCE)])

    def open_account(self, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None) -> FitAccount:
        descent = self._descent(lambda weights, _x, _y: weights)
        return descent.open_account(people.ids, len(people.weights), budget=budget, deadline=deadline)

    def network_weights(self) -> int:
        return sum(each.numel() for each in trainable(self.network).values())

    def _descent(self, gradient: Gradient) -> GradientDescent:
        return GradientDescent(
            gradient=gradient,
            clip=self.clip,
            rows=self.rows,
            steps=self.steps,
            rate=self.rate,
            momentum=self.momentum,
            batch=self.batch,
            rows_per_person=self.rows_per_person,
            neighbours=relation(self.neighbours),
        )


def privatize(network: torch.nn.Module, *, loss: RowLoss, rows: int, **settings: Any) -> PrivateNetwork:
    """A torch network as an estimator that is trained privately; refused if its layers mix rows.

    `loss(outputs, targets)` is called with one row at a time, such as `torch.nn.functional.cross_entropy`.
    `rows` is the public number of rows to divide by. The settings are those of `PrivateNetwork`. With
    `one_row_at_a_time` rows cannot mix by construction, so this is not tried out; it takes longer.
    `key` is for `curator.fit`: a text that stands for the network and its loss. The same key and the same
    settings give the stored model, free. Without a key every fit is charged.
    """
    check_network(network)
    return PrivateNetwork(network, loss=loss, rows=rows, **settings)


def _with_weights(network: torch.nn.Module, named: NamedWeights) -> torch.nn.Module:
    """A copy; weights that are not named, and buffers, are as they were."""
    trained = copy.deepcopy(network)
    with torch.no_grad():
        for name, each in trained.named_parameters():
            if name in named:
                each.copy_(named[name])
    return trained


def _text(key: object) -> str:
    if not isinstance(key, str) or not key:
        raise InvalidInput(
            "The key of a network is a text.", remedy='Give one, such as key="ward-net 1"; or leave it out.'
        )
    return key


def _true_or_false(given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidInput("one_row_at_a_time is true or false.", remedy="Give True or False.")
    return given


def _of_declared(gradients: RowGradients) -> Gradient:
    """Zero for rows whose class is not declared."""

    def gradient(weights: Floats, x: RowValues, y: Labels) -> Floats:
        known = y != NOWHERE
        out = gradients(weights, x, np.where(known, y, 0).astype(y.dtype))
        out[~known] = 0.0
        return out

    return gradient
