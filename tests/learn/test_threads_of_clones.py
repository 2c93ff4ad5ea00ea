"""All clones of a model can together be fitted once, in whatever threads they are fitted."""

import threading

import numpy as np
import pytest
from sklearn.base import clone

from discreet import InvalidInput
from discreet.learn import LinearRegression


def test_of_clones_in_several_threads_one_is_fitted():
    """They begin at once; the others are refused before they draw anything."""
    model = LinearRegression(epsilon=1.0, bounds=[(-1, 1)] * 2, target_bounds=(-1, 1))
    generator = np.random.default_rng(1)
    x, y = generator.uniform(-1, 1, (200, 2)), generator.uniform(-1, 1, 200)
    clones, refused, began = [clone(model) for _ in range(4)], [], threading.Barrier(4)

    def fit(one):
        began.wait()
        try:
            one.fit(x, y)
        except InvalidInput as error:
            refused.append(error)

    threads = [threading.Thread(target=fit, args=(each,)) for each in clones]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3
    assert sum(hasattr(each, "coef_") for each in clones) == 1


def test_a_fit_that_fails_leaves_the_right_to_the_next():
    model = LinearRegression(epsilon=1.0, bounds=[(-1, 1)] * 2, target_bounds=(-1, 1))
    first, second = clone(model), clone(model)
    with pytest.raises(Exception):  # noqa: B017, PT011
        first.fit("no rows", [1])
    second.fit(np.zeros((50, 2)), np.zeros(50))
    with pytest.raises(InvalidInput):
        first.fit(np.zeros((50, 2)), np.zeros(50))
