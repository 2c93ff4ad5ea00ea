"""How good a model will be, shown: as a sequence, as a table and as a picture that is what it says."""

from xml.etree import ElementTree

import numpy as np
import pytest

import discreet.learn as learn
from discreet.errors import InvalidInput
from discreet.learn.forecast.learning_curve import Curve, Expected

SVG = "{http://www.w3.org/2000/svg}"


def data(rows=400):
    chance = np.random.default_rng(1)
    x = chance.uniform(-1, 1, size=(rows, 2))
    return x, (x[:, 0] > -0.4).astype(int)


def logistic(**settings):
    return learn.LogisticRegression(epsilon=1, bounds=(-1, 1), classes=(0, 1), **settings)


def made(points, **settings):
    given = {"score": "R²", "without_noise": 0.9, "guessing": 0.0, "fits": 5, "rows": 75} | settings
    return Curve(points=tuple(Expected(epsilon=e, mean=m, worst=w, best=b) for e, m, w, b in points), **given)


THREE = made([(0.1, 0.2, -0.4, 0.5), (1.0, 0.7, 0.6, 0.8), (10.0, 0.9, 0.89, 0.91)])


def test_it_is_a_sequence_in_the_order_of_epsilon():
    x, y = data()
    found = learn.curve(logistic(), x, y, [3, 0.5, 1], fits=2)
    assert isinstance(found, learn.Curve)
    assert [each.epsilon for each in found] == [0.5, 1, 3]
    assert len(found) == 3
    assert found[0] is found.points[0]
    assert list(found[1:]) == list(found.points[1:])
    assert all(each.worst <= each.mean <= each.best for each in found)
    assert (found.fits, found.rows, found.score) == (2, 300, "accuracy")


def test_what_it_is_compared_with():
    """Without noise a fit is wrong on 0.6 of its 100 judging rows, with a standard deviation of 0.8 (measured
    on 400 fits): 20 are 24 standard deviations off, far below 10⁻⁶. The straight line has no error at all.
    """
    x, y = data()
    found = learn.curve(logistic(), x, y, [1], fits=9)
    assert found.without_noise > 0.8
    assert found.guessing == max(y.mean(), 1 - y.mean())
    model = learn.LinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-1, 1))
    found = learn.curve(model, x, x[:, 0], [1], fits=3)
    assert (found.score, found.guessing) == ("R²", 0.0)
    assert found.without_noise > 0.95


def test_steps_on_samples_have_a_curve_under_both_relations():
    """Steps on samples are not accounted for at an ε without noise, if a person may be replaced."""
    x, y = data()
    for neighbours in ("add_remove", "replace_one"):
        model = logistic(delta=1e-6, batch=0.2, steps=5, neighbours=neighbours)
        assert len(learn.curve(model, x, y, [1], fits=1)) == 1
        assert model.neighbours == neighbours


def test_the_table():
    assert str(THREE).splitlines() == [
        "       ε        R²  worst … best",
        "     0.1     0.200  −0.400 … 0.500",
        "       1     0.700  0.600 … 0.800",
        "      10     0.900  0.890 … 0.910",
        "no noise     0.900",
        "guessing     0.000",
        "Mean of 5 fits on 75 rows for each ε, judged on others. Nothing was spent.",
    ]


def test_the_picture_has_a_dot_for_each_epsilon_where_it_belongs():
    tree = ElementTree.fromstring(THREE.svg())  # noqa: S314
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in tree.iter(f"{SVG}circle")]
    assert len(dots) == 3
    (x1, y1), (x2, y2), (x3, y3) = dots
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)  # powers of ten are equally far apart
    assert y1 > y2 > y3  # better is higher up, which is a smaller y
    assert (y1 - y2) / (y2 - y3) == pytest.approx(0.5 / 0.2, rel=0.02)
    level = next(path for path in tree.iter(f"{SVG}path") if path.get("stroke-dasharray") == "6 4")
    assert float(level.get("d").split()[1].split("H")[0]) == y3
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert {"0.1", "1", "10", "without noise", "guessing", "R²"} <= set(texts)
    assert "0.200 at 0.1" in tree.get("aria-label")


@pytest.mark.parametrize(
    "curve",
    [
        made([(1.0, 0.5, 0.5, 0.5)], without_noise=0.5, guessing=0.5, fits=1),
        made([(1.0, -2e5, -9e6, 0.5), (2.0, 0.5, 0.4, 0.6)]),
        made([(10.0**k, 0.5, 0.4, 0.6) for k in range(-6, 6)]),
    ],
    ids=["one point", "far off", "many"],
)
def test_odd_curves_stay_within_the_picture(curve):
    tree = ElementTree.fromstring(curve.svg())  # noqa: S314
    width, height = float(tree.get("width")), float(tree.get("height"))
    for dot in tree.iter(f"{SVG}circle"):
        assert 0 < float(dot.get("cx")) < width
        assert 0 < float(dot.get("cy")) < height
    for text in tree.iter(f"{SVG}text"):
        if text.get("y"):
            assert 0 < float(text.get("y")) <= height
    assert str(curve)


def test_a_notebook_shows_the_picture_and_what_it_is_of():
    page = THREE._repr_html_()
    assert page.count("<svg") == 1
    assert "Mean of 5 fits on 75 rows" in page
    assert "http" not in page  # it loads nothing


def test_the_picture_is_written(tmp_path):
    THREE.write(tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8") == THREE.svg()
    with pytest.raises(InvalidInput, match="SVG"):
        THREE.write(tmp_path / "curve.png")


def test_wrong_arguments_are_refused():
    x, y = data()
    for wrong in ([], [0], [-1]):
        with pytest.raises(InvalidInput):
            learn.curve(logistic(), x, y, wrong)
    with pytest.raises(InvalidInput):
        learn.curve(logistic(), x, y, [1], fits=0)
