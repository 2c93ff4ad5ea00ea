"""Networks that let rows meet, each as an attack: no row's gradient may know of another row.

They are refused, or each row meets only itself. Without that, all of these leak: the same network, run on a
batch as is usual, gives a row another gradient when other rows change.
"""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: .venv/torch.log says why")

from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy, layer_norm  # noqa: E402

from discreet.errors import InvalidInput  # noqa: E402
from discreet.learn import privatize  # noqa: E402
from discreet.learn.descent import own_loss as own  # noqa: E402
from discreet.learn.networks.checks import check_network  # noqa: E402
from discreet.learn.networks.row_gradients import RowGradients  # noqa: E402

torch.set_num_threads(1)
ROWS, WORDS = 8, 5
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch has no fast way for some layers


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Of more rows than there are, so that some are filled up."""
    monkeypatch.setattr(own, "BLOCK", 2 * ROWS)


def around(*layers):
    return nn.Sequential(nn.Linear(2, 4), *layers, nn.Linear(4, 2))


class Forward(nn.Module):
    """A linear layer, and what a network's own code does with its input."""

    def __init__(self, mix):
        super().__init__()
        self.layer, self.mix = nn.Linear(2, 2), mix

    def forward(self, x):
        return self.layer(self.mix(x))


class OwnLinear(nn.Linear):
    def forward(self, x):
        return super().forward(x + x.sum(0))


def with_pre_hook():
    network = nn.Linear(2, 2)
    network.register_forward_pre_hook(lambda _, inputs: (inputs[0] - 2 * inputs[0].mean(0),))
    return network


def with_hook():
    network = around(nn.Tanh())
    network[1].register_forward_hook(lambda _, __, output: output + output.roll(1, 0))
    return network


def with_backward_hook():
    network = around(nn.Tanh())
    network[1].register_full_backward_hook(lambda _, given, __: (given[0] + given[0].sum(0),))
    return network


def with_another_forward():
    network = around(nn.Tanh())
    network[1].forward = lambda x: x.cumsum(0)
    return network


class Recurrent(nn.Module):
    """Takes the rows for the steps of one sequence."""

    def __init__(self, kind):
        super().__init__()
        self.layer, self.out = kind(2, 4, batch_first=False), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.layer(x[:, None])[0][:, 0])


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.MultiheadAttention(2, 1)

    def forward(self, x):
        return self.layer(x, x, x, need_weights=False)[0]


class MeanByRule(torch.autograd.Function):
    """Nothing for a row, but the mean of all of them for a batch of torch.func."""

    generate_vmap_rule = False

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(_, given):
        return given

    @staticmethod
    def vmap(_, in_dims, x):
        return x + x.mean(in_dims[0], keepdim=True), in_dims[0]


class Remembering(nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.layer, self.keep, self.before = nn.Linear(2, 2), keep, 0.0

    def forward(self, x):
        x = x + self.before
        self.before = self.keep(self.before, x.detach())
        return self.layer(x)


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return self.layer(x - self.mean)


MIXING = {
    "batch norm": lambda: around(nn.BatchNorm1d(4)),
    "batch norm that learns nothing": lambda: around(
        nn.BatchNorm1d(4, affine=False, track_running_stats=False)
    ),
    "mean over rows": lambda: Forward(lambda x: x - 2 * x.mean(0)),
    "sorted rows": lambda: Forward(lambda x: x.sort(0).values),
    "the row before": lambda: Forward(lambda x: x.roll(1, 0)),
    "norm over all": lambda: Forward(lambda x: layer_norm(x, x.shape)),
    "layer norm as long as the batch": lambda: around(nn.LayerNorm((ROWS, 4))),
    "flattened rows": lambda: around(nn.Flatten(0), nn.Softmax(0), nn.Unflatten(0, (-1, 4))),
    "softmax over rows": lambda: around(nn.Softmax(0)),
    "a linear layer with a forward of its own": lambda: nn.Sequential(OwnLinear(2, 2)),
    "a hook before": with_pre_hook,
    "a hook after": with_hook,
    "a hook on the way back": with_backward_hook,
    "another forward": with_another_forward,
    "LSTM over rows": lambda: Recurrent(nn.LSTM),
    "GRU over rows": lambda: Recurrent(nn.GRU),
    "attention over rows": Attending,
    "a buffer that remembers": Buffered,
}
TOGETHER = {
    "a rule for batches": lambda: Forward(MeanByRule.apply),
    "an attribute that remembers": lambda: Remembering(lambda _, x: x.mean()),
    "an attribute that counts": lambda: Remembering(lambda before, _: before + 1),
}
REFUSED = {
    "batch norm": "mixes rows",
    "batch norm that learns nothing": "mixes rows",
    "layer norm as long as the batch": "made-up row",
    "a buffer that remembers": "made-up row|buffer",
    "an attribute that remembers": "made-up row|asked again",
    "an attribute that counts": "asked again",
    "a hook on the way back": "made-up row",
    "GRU over rows": "GRU and RNN",
}


def rows_of(network, x, y, loss=cross_entropy):
    """A gradient for each row at the network's own weights, as descent has them."""
    check_network(network)
    found = RowGradients(network, loss, x, y)
    return found(found.start, x, y)


def data(seed=1):
    chance = np.random.default_rng(seed)
    return chance.normal(size=(ROWS, 2)).astype(np.float32), np.arange(ROWS) % 2


def others_changed(x):
    other = x.copy()
    other[:-1] = 7 - 3 * other[:-1]
    return other


def in_a_batch(make, x, y):
    """The gradient of the last row's loss, where all rows go through the network together."""
    torch.manual_seed(1)
    network = make()
    cross_entropy(network(torch.from_numpy(x))[-1:], torch.from_numpy(y)[-1:]).backward()
    return np.concatenate([each.grad.numpy().ravel() for each in network.parameters()])


@pytest.mark.parametrize("name", MIXING)
def test_each_attack_works_on_a_batch(name):
    """So none of them is idle."""
    x, y = data()
    assert not np.allclose(in_a_batch(MIXING[name], x, y), in_a_batch(MIXING[name], others_changed(x), y))


@pytest.mark.parametrize("name", MIXING | TOGETHER)
def test_no_row_knows_of_another(name):
    torch.manual_seed(1)
    network, (x, y) = (MIXING | TOGETHER)[name](), data()
    if name in REFUSED:
        with pytest.raises(InvalidInput, match=REFUSED[name]):
            rows_of(network, x, y)
        return
    together, beside_others = rows_of(network, x, y), rows_of(network, others_changed(x), y)
    assert together[-1].any()
    assert together[-1].tobytes() == beside_others[-1].tobytes()
    assert together[-1].tobytes() == rows_of(network, x[-1:], y[-1:]).tobytes()


def test_a_loss_over_rows_sees_one():
    """It is called with one row, whatever it does with several."""
    x, y = data()

    def mixing(outputs, targets):
        return cross_entropy(outputs - 2 * outputs.mean(0), targets)

    torch.manual_seed(1)
    network = nn.Linear(2, 2)
    together, beside_others = (rows_of(network, each, y, mixing) for each in (x, others_changed(x)))
    assert together[-1].any()
    assert together[-1].tobytes() == beside_others[-1].tobytes()


class Tied(nn.Module):
    """One weight at two places."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(torch.tanh(self.one(x)))


def words(**settings):
    return nn.Sequential(nn.Embedding(WORDS, 3, **settings), nn.Flatten(), nn.Linear(9, 2))


@pytest.mark.parametrize(
    "make",
    [
        Tied,
        words,
        lambda: words(padding_idx=0),
        lambda: words(scale_grad_by_freq=True),
        lambda: nn.Sequential(nn.EmbeddingBag(WORDS, 3), nn.Linear(3, 2)),
    ],
)
def test_weights_used_at_several_places_have_the_gradient_of_their_row(make):
    """As a loop over rows has it: where a word's gradient is divided by how often it occurs, in its row."""
    torch.manual_seed(1)
    network, (x, y) = make(), data()
    if not isinstance(network, Tied):
        x = np.random.default_rng(2).integers(0, WORDS, (ROWS, 3))
    found = rows_of(network, x, y)
    for place in range(ROWS):
        network.zero_grad()
        part = slice(place, place + 1)
        cross_entropy(network(torch.from_numpy(x[part])), torch.from_numpy(y[part])).backward()
        alone = np.concatenate([each.grad.numpy().ravel() for each in network.parameters()])
        assert found[place] == pytest.approx(alone, abs=1e-6)


def test_an_embedding_that_shortens_its_words_is_refused():
    """It would change the weights of the words that occur, for all rows after them."""
    with pytest.raises(InvalidInput, match="made-up row"):
        rows_of(words(max_norm=0.5), np.zeros((ROWS, 3), dtype=np.int64), data()[1])


def test_opacus_lets_some_of_them_pass():
    """Why its hooks do not compute the gradients here: its checks look at layers that learn, and by their
    exact kinds, and its hooks believe that rows stand apart."""
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed")
    from opacus.validators import ModuleValidator

    x, y = data()
    for name in (
        "batch norm that learns nothing",
        "mean over rows",
        "a linear layer with a forward of its own",
    ):
        seen = []
        for rows in (x, others_changed(x)):
            torch.manual_seed(1)
            network = MIXING[name]()
            assert ModuleValidator.validate(network) == []
            hooked = opacus.GradSampleModule(network, loss_reduction="sum", strict=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cross_entropy(hooked(torch.from_numpy(rows)), torch.from_numpy(y), reduction="sum").backward()
            seen.append([each.grad_sample[-1].numpy() for each in hooked.parameters()])
        assert not all(np.allclose(one, other) for one, other in zip(*seen, strict=True)), name


class Counting(nn.Module):
    """Warms up: each call counts, and how many there are depends on who is in the data."""

    def __init__(self):
        super().__init__()
        self.layer, self.by = nn.Linear(2, 2), 1.0

    def forward(self, x):
        self.by += 1
        return self.by * self.layer(x)


class Drawing(Counting):
    def forward(self, x):
        return float(np.random.default_rng().normal()) * self.layer(x)


@pytest.mark.parametrize("kind", [Counting, Drawing])
def test_a_network_that_is_not_the_same_when_called_again_is_refused(kind):
    """Else the gradients of all rows depend on how many came before."""
    model = privatize(kind(), loss=cross_entropy, rows=10, epsilon=1)
    with pytest.raises(InvalidInput, match="another gradient for the same row"):
        model.fit(np.ones((3, 2)), np.array([0, 1, 1]))


def test_a_row_is_predicted_as_it_was_trained_alone():
    """The same wherever it stands, also by a network that takes the mean over the rows that it is given."""
    network = Forward(lambda x: x - 2 * x.mean(0)).double()
    x = np.random.default_rng(1).normal(size=(50, 2))
    labels = (x[:, 0] > 0).astype(int)
    model = privatize(network, loss=cross_entropy, rows=50, epsilon=100, delta=1e-5, steps=5, classes=(0, 1))
    model.fit(x, labels)
    together = model.predict(x)
    assert (together == np.concatenate([model.predict(row[None]) for row in x])).all()
    assert (together != network_alone(model, x)).any()


def network_alone(model, x):
    """What the trained network says of all rows at once."""
    with torch.no_grad():
        return model.network_(torch.from_numpy(x)).numpy().argmax(axis=1)
