"""Layers of Opacus in a network: recurrent ones and attention, which torch's own cannot or can but slowly."""

import numpy as np
import pytest

import discreet.learn as learn
from discreet.errors import InvalidInput

torch = pytest.importorskip("torch", reason="torch is not installed: .venv/torch.log says why")
layers = pytest.importorskip("opacus.layers", reason="Opacus is not installed")

from opacus.validators import ModuleValidator  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from discreet.learn.networks.row_gradients import RowGradients  # noqa: E402

torch.set_num_threads(1)
ROWS, LENGTH, WIDTH = 11, 5, 4
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch has no fast way for its own


class Last(nn.Module):
    """Classes from the last state of a recurrent layer."""

    def __init__(self, kind, **settings):
        super().__init__()
        self.layer = kind(WIDTH, 6, batch_first=True, **settings)
        self.out = nn.Linear(12 if settings.get("bidirectional") else 6, 2)

    def forward(self, x):
        return self.out(self.layer(x)[0][:, -1])


class Attention(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer, self.out = kind(WIDTH, 2, batch_first=True), nn.Linear(WIDTH, 2)

    def forward(self, x):
        return self.out(self.layer(x, x, x, need_weights=False)[0].mean(1))


NETWORKS = {
    "DPLSTM": lambda: Last(layers.DPLSTM),
    "DPLSTM, two ways": lambda: Last(layers.DPLSTM, bidirectional=True, num_layers=2),
    "DPGRU": lambda: Last(layers.DPGRU),
    "DPRNN": lambda: Last(layers.DPRNN),
    "DPMultiheadAttention": lambda: Attention(layers.DPMultiheadAttention),
}


def data():
    chance = np.random.default_rng(1)
    return chance.normal(size=(ROWS, LENGTH, WIDTH)).astype(np.float32), np.arange(ROWS) % 2


def loop(network, x, y):
    """A gradient for each row, from that row alone."""
    out = []
    for row, label in zip(torch.from_numpy(x), torch.from_numpy(y), strict=True):
        network.zero_grad()
        cross_entropy(network(row[None]), label[None]).backward()
        out.append(np.concatenate([each.grad.numpy().ravel() for each in network.parameters()]))
    return np.array(out)


@pytest.mark.parametrize("name", NETWORKS)
def test_their_rows_stand_apart(name):
    network, (x, y) = NETWORKS[name](), data()
    rows = RowGradients(network, cross_entropy, x, y)
    found = rows(rows.start, x, y)
    assert found == pytest.approx(loop(network, x, y), abs=1e-6)
    other = x.copy()
    other[:-1] = 7 - other[:-1]
    assert rows(rows.start, other, y)[-1].tobytes() == found[-1].tobytes()


@pytest.mark.parametrize("name", NETWORKS)
def test_they_are_trained_and_restored(name):
    network, (x, y) = NETWORKS[name](), data()
    model = learn.privatize(network, loss=cross_entropy, rows=ROWS, epsilon=1, delta=1e-5, steps=2)
    assert set(model.fit(x, y).predict(x)) <= {0, 1}
    again = learn.privatize(NETWORKS[name](), loss=cross_entropy, rows=ROWS, classes=[0, 1])
    again.restore(model.state(), x.shape[1])
    assert again.state() == model.state()


@pytest.mark.parametrize("kind", [nn.GRU, nn.RNN])
def test_the_remedy_for_what_torch_cannot_do_is_one(kind):
    (x, y), network = data(), Last(kind)
    settings = {"loss": cross_entropy, "rows": ROWS, "epsilon": 1, "delta": 1e-5, "steps": 2}
    with pytest.raises(InvalidInput, match="DPGRU or DPRNN"):
        learn.privatize(network, **settings).fit(x, y)
    exchanged = Last({nn.GRU: layers.DPGRU, nn.RNN: layers.DPRNN}[kind])
    exchanged.layer.load_state_dict(network.layer.state_dict())
    exchanged.out.load_state_dict(network.out.state_dict())
    rows = torch.from_numpy(x)
    assert torch.allclose(network(rows), exchanged(rows), atol=1e-6)
    learn.privatize(exchanged, **settings).fit(x, y)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_opacus_exchanges_them(kind):
    network, (x, _) = Last(kind), data()
    exchanged = ModuleValidator.fix(network)
    assert type(exchanged.layer).__name__ == "DP" + kind.__name__
    assert torch.allclose(network(torch.from_numpy(x)), exchanged(torch.from_numpy(x)), atol=1e-6)
