"""Two fits share a stored model only if they compute the same."""

import functools
import logging
import math
import subprocess
import sys
import types
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: .venv/torch.log says why")

from discreet.errors import InvalidInput  # noqa: E402
from discreet.learn import privatize  # noqa: E402

bce = torch.nn.functional.binary_cross_entropy_with_logits
STRENGTH = 1.0
losses = types.ModuleType("losses")


class Scaled(torch.nn.Module):
    """Has a number of its own, which neither its text nor its weights show."""

    def __init__(self, by=1.0):
        super().__init__()
        self.linear = torch.nn.Linear(2, 1)
        self.by = by

    def forward(self, x):
        return self.by * self.linear(x)


class Cubed(Scaled):
    def forward(self, x):
        return self.linear(x) ** 3


Cubed.__qualname__ = Cubed.__name__ = "Scaled"


def made(kind=Scaled, *, frozen=False, hook=None, **settings):
    torch.manual_seed(3)
    network = kind(**settings)
    network.linear.bias.requires_grad_(not frozen)
    if hook is not None:
        network.register_forward_hook(hook)
    return network


def weighed(by):
    return lambda outputs, targets: by * bce(outputs, targets)


def by_default(number):
    def loss(outputs, targets, by=number):
        return by * bce(outputs, targets)

    return loss


def by_global(outputs, targets):
    return STRENGTH * bce(outputs, targets)


def nested(outputs, targets):
    return (lambda each: bce(each, targets))(outputs)


def recurrent():
    torch.manual_seed(3)
    return torch.nn.GRU(2, 3)


def described(network=None, loss=bce):
    return privatize(made() if network is None else network, loss=loss, rows=10).description()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"network": made(by=2.0)}),
        ({}, {"network": made(Cubed)}),
        ({}, {"network": made(frozen=True)}),
        ({}, {"network": made(hook=lambda module, given, outputs: 2 * outputs)}),
        ({"loss": weighed(1.0)}, {"loss": weighed(2.0)}),
        ({"loss": weighed(torch.ones(1))}, {"loss": weighed(2 * torch.ones(1))}),
        ({"loss": by_default(1.0)}, {"loss": by_default(2.0)}),
        ({"loss": functools.partial(bce, reduction="sum")}, {"loss": functools.partial(bce)}),
        (
            {"loss": torch.nn.BCEWithLogitsLoss()},
            {"loss": torch.nn.BCEWithLogitsLoss(pos_weight=torch.ones(1))},
        ),
        (
            {"loss": torch.nn.CrossEntropyLoss()},
            {"loss": torch.nn.CrossEntropyLoss(label_smoothing=0.5)},
        ),
    ],
)
def test_what_computes_something_else_is_something_else(one, other):
    assert described(**one) == described(**one)
    assert described(**one) != described(**other)


def test_a_global_that_a_loss_names_is_part_of_it(monkeypatch):
    before = described(loss=by_global)
    monkeypatch.setitem(globals(), "STRENGTH", 5.0)
    assert described(loss=by_global) != before


def by_module(outputs, targets):
    return losses.scaled(outputs, targets).mean()


@pytest.mark.parametrize("change", ["2 * STRENGTH * (o - t) ** 2", "STRENGTH * (o - t) ** 4"])
def test_what_a_loss_calls_in_another_module_is_part_of_it(change, tmp_path, monkeypatch):
    """As where a file of one's own is edited between two fits."""
    file = tmp_path / "losses.py"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which two edits in a second would share

    def edited(computed):
        file.write_text(f"STRENGTH = 1.0\ndef scaled(o, t):\n    return {computed}\n")
        spec = spec_from_file_location("losses", file)
        made = module_from_spec(spec)
        spec.loader.exec_module(made)
        monkeypatch.setitem(globals(), "losses", made)

    edited("STRENGTH * (o - t) ** 2")
    before = described(loss=by_module)
    assert described(loss=by_module) == before
    losses.STRENGTH = 2.0
    assert described(loss=by_module) != before
    losses.STRENGTH, losses.itself = 1.0, losses
    assert described(loss=by_module) == before
    edited(change)
    assert described(loss=by_module) != before


def by_python(outputs, targets):
    logging.getLogger("loss").debug("called")
    return math.pi * bce(outputs, targets)


def test_modules_of_python_go_by_their_names():
    logging.getLogger("loss").addHandler(logging.NullHandler())
    before = described(loss=by_python)
    logging.getLogger("loss").addHandler(logging.NullHandler())
    assert described(loss=by_python) == before


def test_the_same_code_is_the_same_in_another_process():
    """A fit that was paid for is free tomorrow."""
    script = (
        "import torch; from tests.learn import test_network_identity as t;"
        "from discreet.learn.network_identity import identity;"
        "print(t.described(), t.described(loss=t.nested), t.described(loss=t.weighed(torch.ones(1))),"
        " t.described(loss=torch.nn.CrossEntropyLoss()), identity(t.recurrent()))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for _ in range(2)
    ]
    assert found[0] == found[1]


class Counting(Scaled):
    """Warms up: each call counts, and how many there are depends on who is in the data."""

    def forward(self, x):
        self.by += 1
        return self.by * self.linear(x)


class Drawing(Scaled):
    def forward(self, x):
        return float(np.random.default_rng().normal()) * self.linear(x)


@pytest.mark.parametrize("kind", [Counting, Drawing])
def test_a_network_that_is_not_the_same_when_called_again_is_refused(kind):
    """Else the gradients of all rows depend on how many came before."""
    model = privatize(made(kind), loss=bce, rows=10, epsilon=1)
    with pytest.raises(InvalidInput, match="another gradient for the same row"):
        model.fit(np.ones((3, 2)), np.ones(3))
