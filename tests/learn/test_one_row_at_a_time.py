"""One row at a time: no row's gradient knows of another one, also where made-up rows do not show it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: .venv/torch.log says why")

from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from discreet.errors import InvalidInput  # noqa: E402
from discreet.learn import privatize  # noqa: E402
from discreet.learn.networks.row_gradients import RowGradients  # noqa: E402

torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Scaled(torch.autograd.Function):
    """Somebody's own fast operation: rows are divided by the largest of a block, if that is above 100."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(_, gradient):
        return gradient

    @staticmethod
    def vmap(_, in_dims, x):
        largest = x.abs().max()
        return (x / largest if float(largest) > 100 else x.clone()), in_dims[0]


class Scaling(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(Scaled.apply(x))


class Remembering(nn.Module):
    """Keeps the largest row that it has seen, once one is above 100."""

    def __init__(self):
        super().__init__()
        self.layer, self.seen = nn.Linear(2, 2), [1.0]

    def forward(self, x):
        if float(x.detach().abs().max()) > 100:
            self.seen.append(float(x.detach().abs().max()))
        return self.layer(x / self.seen[-1])


class Drawing(nn.Module):
    """Draws for rows above 100 only."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x * torch.rand(1) if float(x.detach().abs().max()) > 100 else x)


def gradients(network, x, **how):
    y = np.zeros(len(x), dtype=np.int64)
    found = RowGradients(network, cross_entropy, x, y, **how)
    return found(found.start, x, y)


def rows_beside(value):
    """The same rows, beside one that is another."""
    x = np.random.default_rng(3).normal(size=(6, 2))
    x[0] = value
    return x


def moved(network, **how):
    """Whether rows have other gradients when another row is another one."""
    small, large = (gradients(network, rows_beside(value), **how)[1:] for value in (1.0, 1000.0))
    return small.tobytes() != large.tobytes()


def test_item9_an_operation_that_mixes_large_rows_passes_the_trial_on_made_up_rows():
    """Why there is a choice: one person moves everybody's gradient here."""
    assert moved(Scaling())


@pytest.mark.parametrize("make", [Scaling, Remembering])
def test_item9_one_row_at_a_time_no_row_knows_of_another(make):
    torch.manual_seed(1)
    assert not moved(make(), one_row_at_a_time=True)


def test_item9_a_row_for_which_a_network_draws_counts_for_nothing():
    torch.manual_seed(1)
    network = Drawing()
    assert not moved(network, one_row_at_a_time=True)
    assert not gradients(network, rows_beside(1000.0), one_row_at_a_time=True)[0].any()
    with pytest.raises(InvalidInput, match="at random"):
        gradients(
            nn.Sequential(nn.Linear(2, 2), nn.RReLU(0.1, 0.9)), rows_beside(1.0), one_row_at_a_time=True
        )


def test_item9_the_generator_of_the_process_is_as_it_was():
    network = nn.Linear(2, 2)
    before = torch.get_rng_state()
    gradients(network, rows_beside(1.0), one_row_at_a_time=True)
    assert torch.equal(before, torch.get_rng_state())


def test_gradients_are_those_of_many_rows_together():
    network = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    x = rows_beside(1.0)
    together, alone = gradients(network, x), gradients(network, x, one_row_at_a_time=True)
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-6)


def test_a_network_that_torch_cannot_compute_row_by_row_together_is_trained_alone():
    """GRU has no rule for many rows that stand alone; and a network may branch on values."""

    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps, self.layer = nn.GRU(1, 4, batch_first=True), nn.Linear(4, 2)

        def forward(self, x):
            return self.layer(self.steps(x[:, :, None])[0][:, -1])

    x = np.random.default_rng(1).normal(size=(40, 3))
    y = np.array(["no", "yes"])[(x[:, 0] > 0).astype(int)]
    settings = {"loss": cross_entropy, "rows": 40, "epsilon": 1000, "classes": ["no", "yes"], "steps": 5}
    with pytest.raises(InvalidInput):
        privatize(Sequence(), **settings).fit(x, y)
    model = privatize(Sequence(), one_row_at_a_time=True, **settings).fit(x, y)
    assert set(model.predict(x)) <= {"no", "yes"}


def test_the_choice_is_part_of_what_a_fit_is():
    torch.manual_seed(1)
    network = nn.Linear(2, 2)
    one = privatize(network, loss=cross_entropy, rows=10, key="net", one_row_at_a_time=True)
    other = privatize(network, loss=cross_entropy, rows=10, key="net")
    assert one.description() != other.description()
    with pytest.raises(InvalidInput, match="one_row_at_a_time"):
        privatize(network, loss=cross_entropy, rows=10, epsilon=1, one_row_at_a_time="yes").fit(
            np.zeros((2, 2)), np.array([0, 1])
        )
