"""A network in a curator's fit is known by the key that its user gives, and by its settings."""

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="torch is not installed: .venv/torch.log says why")

from discreet.errors import InvalidInput  # noqa: E402
from discreet.learn import privatize  # noqa: E402

bce = torch.nn.functional.binary_cross_entropy_with_logits


def private(features=2, outputs=1, **settings):
    given = {"loss": bce, "rows": 10, "key": "net 1"} | settings
    return privatize(torch.nn.Linear(features, outputs), **given)


def test_the_key_stands_for_network_and_loss():
    assert private().description() == private(loss=lambda outputs, targets: outputs - targets).description()
    assert private().description() == clone(private()).description()
    assert private().repeatable()


@pytest.mark.parametrize(
    "other", [{"key": "net 2"}, {"rows": 11}, {"clip": 0.5}, {"classes": [0, 1]}, {"one_row_at_a_time": True}]
)
def test_another_key_or_setting_is_another_fit(other):
    assert private().description() != private(**other).description()


def test_without_a_key_every_fit_is_another():
    model = private(key=None)
    assert not model.repeatable()
    told = {model.description() for _ in range(3)}
    assert len(told | {private().description()}) == 4


def test_no_key_is_taken_for_what_another_setting_says():
    """A key is a text in quotation marks, whatever it holds."""
    fresh = private(key=None).description()
    inner = fresh.partition("(")[2].partition(", {")[0]
    assert private(key=inner).description() != fresh
    assert private(key="a', {'batch': 1}").description() != private(key="a").description()


@pytest.mark.parametrize("key", ["", 5, b"net", ["net"], True])
def test_a_key_that_is_no_text_is_refused(key):
    with pytest.raises(InvalidInput, match="is a text"):
        private(key=key).description()


def test_stored_weights_are_put_into_the_network():
    x = np.random.default_rng(1).normal(size=(20, 2))
    first = private(epsilon=10, classes=[0, 1]).fit(x, (x[:, 0] > 0).astype(int))
    again = private(classes=[0, 1])
    again.restore(first.state(), 2)
    assert again.state() == first.state()
    assert (again.predict(x) == first.predict(x)).all()


@pytest.mark.parametrize(
    "network",
    [
        torch.nn.Linear(3, 1),
        torch.nn.Linear(2, 2),
        torch.nn.Linear(2, 1, bias=False),
        torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Linear(1, 1)),
    ],
)
def test_stored_weights_that_do_not_fit_are_an_error_of_ours(network):
    model = privatize(network, loss=bce, rows=10, key="net 1")
    learnt = {"weights": [[[0.5, 1.5]], [2.5]]}
    with pytest.raises(InvalidInput, match="stored for the key “net 1” do not fit") as refused:
        model.restore(learnt, 2)
    assert "another key, which is charged" in refused.value.remedy
    assert not hasattr(model, "network_")
