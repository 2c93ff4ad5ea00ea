"""Networks of torch, trained privately: what they learn, what one row moves, what is refused."""

import copy
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import discreet.learn as learn
from discreet.audit.statistics import epsilon_lower_bound
from discreet.errors import InvalidInput
from discreet.learn.core import account
from discreet.learn.core.encoding import RowOwners
from discreet.learn.descent import own_loss as own
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.noise.laplace import DiscreteLaplace
from tests.learn.replay import accounts, excess

torch = pytest.importorskip("torch", reason="torch is not installed: .venv/torch.log says why")

from torch import nn  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss  # noqa: E402

from discreet.learn.networks import network as networks  # noqa: E402
from discreet.learn.networks.row_gradients import RowGradients  # noqa: E402

torch.set_num_threads(1)
ROWS = 23


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(1)


def two_layers(inputs=2, hidden=8, outputs=2):
    return nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, outputs))


def private(network, loss=cross_entropy, **settings):
    given = {"epsilon": 3, "delta": 1e-5, "rows": ROWS, "steps": 3} | settings
    return learn.privatize(network, loss=loss, **given)


def corners(rows=2000):
    """Two classes that no line parts."""
    x = np.random.default_rng(1).uniform(-1, 1, size=(rows, 2))
    return x, (x[:, 0] * x[:, 1] > 0).astype(int)


def test_a_network_learns_what_no_line_parts():
    """0.95 of the rows are right without noise, which moves each weight by 0.1; guesses are right on half."""
    x, y = corners()
    model = private(two_layers(hidden=16), epsilon=20, rows=len(x), steps=60, rate=4).fit(x, y)
    assert (model.predict(x) == y).mean() > 0.8
    assert model.loss_.epsilon_at(1e-5) <= 20
    pure = private(two_layers(hidden=16), epsilon=10, delta=0, rows=len(x), steps=2).fit(x, y)
    assert pure.loss_ == PureLoss(epsilon=Fraction(10))


def test_numbers_are_learnt_as_well():
    """A line in a network of one layer: the noise moves its weights by less than 0.01."""
    x, _ = corners()
    model = private(nn.Linear(2, 1), mse_loss, epsilon=20, rows=len(x), steps=40, rate=0.5)
    model.fit(x, x @ [0.7, -0.3])
    assert model.network_.weight.detach().numpy()[0] == pytest.approx([0.7, -0.3], abs=0.1)
    assert model.predict(x) == pytest.approx(x @ [0.7, -0.3], abs=0.3)
    assert model.classes_ is None


def test_classes_are_declared_by_name():
    x, y = corners(500)
    named = np.array(["apart", "together"])[y]
    one = private(nn.Linear(2, 1), binary_cross_entropy_with_logits, classes=("together", "apart"))
    several = private(two_layers(outputs=3), classes=("apart", "together", "unknown"))
    assert set(one.fit(x, named).predict(x)) <= {"apart", "together"}
    assert set(several.fit(x, named).predict(x)) <= {"apart", "together", "unknown"}


class Sequence(nn.Module):
    """Whole numbers in, a class out."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 2)

    def forward(self, x):
        return self.out(self.words(x).mean(1))


def picture():
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.GroupNorm(3, 3), nn.ReLU(), nn.Flatten(), nn.LayerNorm(12), nn.Linear(12, 2)
    )


def table(chance):
    """Rows of all lengths, among them some that are not finite."""
    x = chance.choice([-1.0, 0.0, 0.3, 1.0, 99.0, 1e30], size=(ROWS, 2))
    x[3, 1], x[7, 0] = np.nan, np.inf
    return x, chance.integers(-1, 3, ROWS)


def words(chance):
    """Some of which the embedding does not have."""
    x = chance.integers(0, 5, (ROWS, 2))
    x[4, 0], x[9, 1] = 5, -1
    return torch.tensor(x), chance.integers(0, 2, ROWS)


def pictures(chance):
    return chance.normal(size=(ROWS, 1, 4, 4)), chance.integers(0, 2, ROWS)


NETWORKS = {"table": (two_layers, table), "words": (Sequence, words), "pictures": (picture, pictures)}


def as_fed(x, y):
    places, _ = networks.targets(y, None, 2)
    return networks.inputs(x), places


@pytest.mark.parametrize("delta", [0, 1e-5], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("kind", NETWORKS)
def test_one_person_moves_no_step_by_more_than_its_claim(kind, delta, monkeypatch):
    """Every person is left out in turn, so that rows move to other blocks; nothing is random in the claim."""
    monkeypatch.setattr(own, "BLOCK", 8)
    network, data = NETWORKS[kind]
    x, y = data(np.random.default_rng(2))
    people = np.arange(ROWS) // 4
    model = private(network(), delta=delta, clip=0.3, rows_per_person=2)
    for removed in range(people[-1] + 1):
        kept = people != removed
        opened, start, replay = accounts(monkeypatch, own)
        start()
        model.fit(x, y, groups=people)
        recorded = opened[-1]
        replay()
        model.fit(x[torch.tensor(kept)] if kind == "words" else x[kept], y[kept], groups=people[kept])
        excess(recorded, opened[-1], recorded.order)


def test_the_claim_is_not_idle(monkeypatch):
    """Some row uses nearly all of what a step claims: a claim that is too small would show."""
    x, y = corners(ROWS)
    model = private(two_layers(), clip=0.01)
    used = []
    for removed in range(0, ROWS, 4):
        kept = np.arange(ROWS) != removed
        opened, start, replay = accounts(monkeypatch, own)
        start()
        model.fit(x, y)
        recorded = opened[-1]
        replay()
        model.fit(x[kept], y[kept])
        used.append(excess(recorded, opened[-1], 2))
    assert np.max(used, axis=0).min() > 0.9


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_row_has_the_same_gradient_wherever_it_stands(kind):
    network, data = NETWORKS[kind]
    chance = np.random.default_rng(3)
    x, y = as_fed(*data(chance))
    y = np.maximum(y, 0)
    rows = RowGradients(network(), cross_entropy, x, y)
    weights = rows.start + chance.normal(size=rows.start.size)
    together = rows(weights, x, y)
    for place in range(ROWS):
        assert (
            rows(weights, x[place : place + 1], y[place : place + 1]).tobytes() == together[place].tobytes()
        )
    order = chance.permutation(ROWS)
    assert rows(weights, x[order], y[order]).tobytes() == together[order].tobytes()


def test_a_block_in_which_places_differ_is_not_used(monkeypatch):
    """Kernels that add in another order at some place of blocks above four rows, or beside other rows."""
    honest = RowGradients._gradients
    x, y = as_fed(*corners(ROWS))

    def by_place(self, named, rows, block):
        out = honest(self, named, rows, block)
        if block > 4 and len(out) > 5:
            out[5] *= 1 + 2.0**-50
        return out

    def by_others(self, named, rows, block):
        out = honest(self, named, rows, block)
        return out * (1 + 2.0**-50 * (block > 4 and bool((rows[0][0] != rows[0][-1]).any())))

    def at_the_end(self, named, rows, block):
        out = honest(self, named, rows, block)
        out[-1] *= 1 + 2.0**-50 * (block > 4 and bool((rows[0][0] != rows[0][-1]).any()))
        return out

    for spoilt in (by_place, by_others, at_the_end):
        monkeypatch.setattr(RowGradients, "_gradients", spoilt)
        assert RowGradients(two_layers(), cross_entropy, x, y)._block == 4
    monkeypatch.setattr(RowGradients, "_gradients", honest)
    assert RowGradients(two_layers(), cross_entropy, x, y)._block == own.BLOCK


def test_gradients_are_those_of_opacus():
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed")
    for network, data in NETWORKS.values():
        x, y = data(np.random.default_rng(4))
        x, y = as_fed(np.nan_to_num(x, posinf=0) % 5 if data is table else x % 5, np.maximum(y, 0) % 2)
        ours = RowGradients(given := network(), cross_entropy, x, y)
        theirs = opacus.GradSampleModule(copy.deepcopy(given), loss_reduction="sum")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = torch.tensor(x if data is words else x.astype(np.float32))
            cross_entropy(theirs(rows), torch.tensor(y), reduction="sum").backward()
        each = torch.cat([part.grad_sample.reshape(ROWS, -1) for part in theirs.parameters()], dim=1)
        assert ours(ours.start, x, y) == pytest.approx(each.numpy(), rel=1e-4, abs=1e-5)


class Mixing(nn.Module):
    """Rows minus their mean."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        return self.layer(x - x.mean(0) + 1)


def test_what_mixes_rows_sees_only_one():
    x, y = as_fed(*corners(ROWS))
    rows = RowGradients(Mixing(), cross_entropy, x, y)
    other = x.copy()
    other[1:] = 7
    assert rows(rows.start, x, y)[0].tobytes() == rows(rows.start, other, y)[0].tobytes()


def test_rows_that_fail_or_are_not_finite_or_of_no_class_count_for_nothing(monkeypatch):
    for kind, bad in (("table", [3, 7]), ("words", None)):
        network, data = NETWORKS[kind]
        x, y = data(np.random.default_rng(5))
        fine = ((y >= 0) & (y < 2)) if kind == "table" else np.asarray(((x < 5) & (x >= 0)).all(dim=1))
        fine[bad or []] = False
        assert 0 < fine.sum() < ROWS
        opened, start, replay = accounts(monkeypatch, own)
        start()
        private(given := network()).fit(x, y)
        recorded = opened[-1]
        replay()
        private(given).fit(x[torch.tensor(fine)] if kind == "words" else x[fine], y[fine])
        assert (excess(recorded, opened[-1], 2) == 0).all()


@pytest.mark.parametrize("delta", [0, 1e-5], ids=["Laplace", "Gaussian"])
def test_weights_have_the_noise_that_is_accounted_for(delta):
    """Without rows one step is noise alone. 6,000 draws: their mean size is off by 15 % with probability
    below 10⁻²⁰.
    """
    network = nn.Linear(1000, 6, bias=False)
    model = private(network, delta=delta, clip=0.5, rows=10, steps=1, rate=2.0)
    model.fit(np.zeros((0, 1000)), np.zeros(0, dtype=int))
    noise = (network.weight - model.network_.weight).detach().double().numpy() * 10 / (0.5 * 2.0)
    expected = 1 / 3 if delta == 0 else (1 / (np.pi * float(model.loss_.rho))) ** 0.5
    assert np.abs(noise).mean() == pytest.approx(expected, rel=0.15)


class QuarterLaplace(DiscreteLaplace):
    """Too little noise, for which the account says what it always says."""

    def release(self, exact, **options):
        return DiscreteLaplace(scale=self.scale / 4).release(exact, **options)


CANARIES = 800


def canary(epsilon):
    """As many canaries as weights: each has a weight to itself, and moves it by all that a row may."""
    network = nn.Linear(CANARIES, 1, bias=False)
    nn.init.zeros_(network.weight)
    model = private(network, lambda outputs, _: outputs, epsilon=epsilon, delta=0, rows=1, steps=1)

    def hits(x):
        return int((model.fit(x, np.zeros(len(x))).network_.weight <= -1).sum())

    rows = 9.0 * np.eye(CANARIES)
    return epsilon_lower_bound(hits(rows), hits(rows[:0]), CANARIES, 0.0)


def test_a_canary_shows_no_more_than_the_claim(monkeypatch):
    """Above the claim with probability 10⁻⁶. With a quarter of the noise it is not above it with probability
    10⁻⁶: at least 330 weights are moved with their canaries, and at most 24 without.
    """
    assert canary(1) <= 1
    monkeypatch.setattr(account, "DiscreteLaplace", QuarterLaplace)
    assert canary(1) > 1


def test_the_network_itself_is_untouched():
    network = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4).eval(), nn.Linear(4, 2))
    network[0].bias.requires_grad_(False)
    before = copy.deepcopy(network.state_dict())
    x, y = corners(ROWS)
    model = private(network).fit(x, y)
    assert all(torch.equal(before[name], each) for name, each in network.state_dict().items())
    assert all(each.grad is None for each in (*network.parameters(), *model.network_.parameters()))
    trained = model.network_.state_dict()
    changed = {name for name, each in trained.items() if not torch.equal(before[name], each)}
    assert changed == {"0.weight", "1.weight", "1.bias", "2.weight", "2.bias"}


def test_shared_weights_stay_shared():
    layer = nn.Linear(2, 2)
    model = private(nn.Sequential(layer, nn.Tanh(), layer)).fit(*corners(ROWS))
    assert model.network_[0].weight is model.network_[2].weight
    assert not torch.equal(model.network_[0].weight, layer.weight)


def learn_within(model, budget, x, y):
    people = RowOwners(weights=np.ones(len(x)), rows_per_person=1)
    model.learn(x, y, people, budget=budget, deadline=None)


@pytest.mark.parametrize("total", [PureLoss(epsilon=1), ConcentratedLoss(rho=Fraction(1, 9), delta=0)])
def test_somebody_else_can_pay(total):
    model = private(two_layers(), epsilon=None)
    learn_within(model, total, *corners(ROWS))
    assert model.loss_ == total
    with pytest.raises(InvalidInput, match="epsilon"):
        model.fit(*corners(ROWS))


def test_settings_reach_the_descent(monkeypatch):
    opened, start, _ = accounts(monkeypatch, own)
    start()
    model = private(two_layers(), neighbours="replace_one", noise="laplace", steps=2, rows_per_person=3)
    model.fit(*corners(ROWS))
    assert opened[-1].neighbours is Neighbours.REPLACE_ONE
    assert [(reach, share) for _, _, reach, share in opened[-1].taken] == [(3 * own.GRID, Fraction(1, 2))] * 2
    assert model.loss_ == PureLoss(epsilon=Fraction(3))


def test_steps_on_samples_of_the_people():
    """Half of the people in a step; the noise, and so the loss, are for that."""
    x, y = corners()
    model = private(two_layers(hidden=16), epsilon=20, rows=len(x), steps=60, rate=4, batch=0.5).fit(x, y)
    assert (model.predict(x) == y).mean() > 0.8
    assert model.loss_.epsilon_at(1e-5) <= 20
    with pytest.raises(InvalidInput, match="groups"):
        private(two_layers(), batch=0.5, rows_per_person=2).fit(x, y)
    with pytest.raises(InvalidInput, match="batch"):
        learn_within(model, ConcentratedLoss(rho=1, delta=0), x, y)


def test_as_an_estimator():
    model = private(two_layers(), classes=(0, 1))
    assert clone(model).get_params()["clip"] == model.clip
    assert clone(model).fit(*corners(ROWS)).predict(corners(ROWS)[0]).shape == (ROWS,)
    with pytest.raises(InvalidInput, match="PrivateSearch"):
        cross_val_score(model, *corners(ROWS), scoring="accuracy", error_score="raise")


class Branching(Mixing):
    def forward(self, x):
        return self.layer(x if x.sum() > 0 else -x)


class Drawing(Mixing):
    def forward(self, x):
        return self.layer(x + torch.rand_like(x))


class Counting(Mixing):
    def forward(self, x):
        self.seen = self.seen + 1
        return self.layer(x)


class Splitting(Mixing):
    def forward(self, x):
        return self.layer(x), x


def between(*layers):
    return nn.Sequential(nn.Linear(2, 4), *layers, nn.Linear(4, 2))


def frozen():
    return nn.Linear(2, 2).requires_grad_(False)


def not_finite():
    network = nn.Linear(2, 2)
    nn.init.constant_(network.bias, np.nan)
    return network


@pytest.mark.parametrize(
    ("network", "match"),
    [
        (lambda: between(nn.BatchNorm1d(4)), "mixes rows"),
        (lambda: between(nn.BatchNorm1d(4, affine=False)), "mixes rows"),
        (lambda: between(nn.BatchNorm1d(4, track_running_stats=False).eval()), "mixes rows"),
        (lambda: nn.Sequential(nn.InstanceNorm1d(2, track_running_stats=True)), "keeps means"),
        (lambda: between(nn.Dropout(0.1)), "at random"),
        (Drawing, "at random"),
        (Branching, "made-up row"),
        (Counting, "buffer"),
        (Splitting, "one row of numbers"),
        (lambda: nn.Linear(3, 2), "made-up row"),
        (lambda: nn.Linear(2, 2, dtype=torch.complex64), "complex"),
        (lambda: nn.LazyLinear(2), "no shape"),
        (lambda: nn.Linear(2, 2, device="meta"), "device"),
        (nn.Tanh, "can change"),
        (frozen, "can change"),
        (not_finite, "finite"),
        (lambda: "network", "not a network"),
        (lambda: Sequence, "not a network"),
    ],
)
def test_networks_that_are_refused(network, match):
    with pytest.raises(InvalidInput, match=match) as caught:
        private(network()).fit(*corners(ROWS))
    assert caught.value.remedy


def test_networks_that_are_not_refused():
    x, y = corners(ROWS)
    for network in (
        between(nn.BatchNorm1d(4)).eval(),
        between(nn.Dropout(0.5)).eval(),
        between(nn.Dropout(0.0), nn.GroupNorm(2, 4)),
        two_layers().double(),
        two_layers().bfloat16(),
    ):
        assert set(private(network).fit(x, y).predict(x)) <= {0, 1}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"x": [["a", "b"]] * ROWS}, "not numbers"),
        ({"x": np.zeros(())}, "no rows"),
        ({"x": torch.zeros(ROWS, 2, dtype=torch.complex64)}, "complex"),
        ({"x": np.zeros((ROWS, 3))}, "made-up row"),
        ({"y": np.zeros(ROWS - 1, dtype=int)}, "numbers of rows"),
        ({"y": np.zeros(ROWS)}, "made-up row"),
        ({"y": ["a"] * ROWS}, "not numbers"),
        ({"groups": np.zeros(ROWS - 1)}, "groups"),
        ({"loss": lambda outputs, _: outputs}, "made-up row"),
        ({"classes": (0, 1, 2)}, "outputs"),
        ({"classes": ("a", "b")}, "kind"),
        ({"epsilon": 0}, "epsilon"),
        ({"clip": 0}, "clip"),
        ({"rows": 0}, "rows"),
        ({"steps": 0}, "steps"),
        ({"noise": "none"}, "noise"),
        ({"neighbours": "friends"}, "neighbours"),
        ({"rows_per_person": 0}, "rows_per_person"),
    ],
)
def test_what_cannot_be_fitted(change, match):
    x, y = corners(ROWS)
    data = {"x": x, "y": y, "groups": None} | {key: change[key] for key in change if key in "xygroups"}
    settings = {key: value for key, value in change.items() if key not in data}
    with pytest.raises(InvalidInput, match=match):
        private(two_layers(), **settings).fit(data["x"], data["y"], groups=data["groups"])


def test_no_epsilon_without_asking():
    with pytest.raises(TypeError):
        learn.privatize(two_layers(), cross_entropy, 5)
    with pytest.raises(TypeError):
        learn.privatize(two_layers(), loss=cross_entropy, rows=5, eps=1)
    with pytest.raises(InvalidInput, match="epsilon"):
        learn.privatize(two_layers(), loss=cross_entropy, rows=5).fit(*corners(ROWS))


def test_errors_say_nothing_of_the_data():
    for x, y in (([["secret"] * 2], [0]), (np.zeros((1, 2)), ["secret"])):
        with pytest.raises(InvalidInput) as caught:
            private(two_layers()).fit(x, y)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_the_outlook_of_a_network_is_its_noise_beside_clipped_gradients():
    """The noise of all steps together, on each of 42 weights; a little more on samples."""
    everyone = learn.outlook(private(two_layers(), delta=0, epsilon=2), rows=1000, features=2)
    assert everyone.noise == pytest.approx(2**0.5 / 2 * 42**0.5 / 1000)
    for delta in (0, 1e-5):
        everyone = learn.outlook(private(two_layers(), delta=delta), rows=1000, features=2)
        sampled = learn.outlook(private(two_layers(), delta=delta, batch=0.1), rows=1000, features=2)
        assert everyone.noise < sampled.noise < 20 * everyone.noise
    with pytest.raises(InvalidInput, match="less than one row"):
        learn.outlook(private(two_layers(), batch=0.1), rows=5, features=2)
    with pytest.raises(InvalidInput, match="epsilon"):
        learn.outlook(private(two_layers(), epsilon=None), rows=1000, features=2)
