"""Before anything is spent: whether ε is enough, from public numbers, and that it is told rightly."""

import numpy as np
import pytest

import discreet.learn as learn
from discreet.errors import InvalidInput


def models(epsilon, delta):
    shared = {"epsilon": epsilon, "delta": delta, "bounds": (-1, 1)}
    yield learn.LogisticRegression(**shared, classes=(0, 1))
    yield learn.LinearSVC(**shared, classes=(0, 1))
    yield learn.LinearRegression(**shared, target_bounds=(-1, 1))
    yield learn.LinearRegression(**shared, target_bounds=(-1, 1), solver="descent")
    yield learn.PoissonRegression(**shared, target_bounds=(0, 9))


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_noise_falls_with_epsilon_and_rows_and_grows_with_features(delta):
    for small, large in zip(models(0.1, delta), models(1, delta), strict=True):
        at = learn.outlook(small, rows=1000, features=10).noise
        assert learn.outlook(large, rows=1000, features=10).noise < at
        assert learn.outlook(small, rows=2000, features=10).noise == pytest.approx(at / 2)
        assert learn.outlook(small, rows=1000, features=20).noise > at


def test_what_is_hopeless_is_and_what_is_not_is_not():
    chance = np.random.default_rng(1)
    x = chance.uniform(-1, 1, size=(4000, 10))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    good = learn.LogisticRegression(epsilon=10, delta=1e-6, bounds=(-1, 1), classes=(0, 1))
    bad = learn.LogisticRegression(epsilon=0.001, delta=1e-6, bounds=(-1, 1), classes=(0, 1))
    assert not learn.outlook(good, rows=4000, features=10).hopeless
    assert "nearly the model" in str(learn.outlook(good, rows=4000, features=10))
    assert learn.outlook(bad, rows=4000, features=10).hopeless
    assert "guesses" in str(learn.outlook(bad, rows=4000, features=10))
    assert good.fit(x, y).score(x, y) > 0.9
    guesses = [bad.fit(x, y).score(x, y) for _ in range(50)]
    assert np.mean(guesses) < 0.9  # 0.5, by symmetry; beyond 0.9 with probability e^(−2·50·0.16) (Hoeffding)


def test_its_arguments_are_checked():
    model = next(iter(models(1, 0)))
    for rows, features in ((0, 1), (1, 0), (1.5, 1)):
        with pytest.raises(InvalidInput):
            learn.outlook(model, rows=rows, features=features)
    with pytest.raises(InvalidInput):
        learn.outlook(next(iter(models(0, 0))), rows=10, features=1)
