"""The quality report: its numbers are what they say, and the page is a page."""

import json
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss
from discreet.model.sensitivity import Sensitivity
from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.records import shares
from discreet.synth.core.synthesis import Synthetic
from discreet.synth.mwem.mwem import mwem
from discreet.synth.mwem.workload import Workload
from discreet.synth.report.html import html_page
from discreet.synth.report.plots import percent
from discreet.synth.report.quality import _shares_of_any, counts_of, quality
from discreet.synth.report.relations import best_table, relation

DOMAIN = Domain(sizes=(4, 3, 20))
NAMES = ["region", "sex", "age"]
PEOPLE = 10_000.0


def made(domain=DOMAIN, orders=(1, 2), sigma=20.0, seed=1, moved=()):
    """A synthetic table, and measurements of a truth that is the same but for some cells."""
    chance = np.random.default_rng(seed)
    records = Cells(domain)
    records.weights[:] = np.random.default_rng(7).dirichlet(np.full(domain.cells, 0.5))
    truth = Cells(domain)
    truth.weights[:] = records.weights
    for start, end, share in moved:
        truth.weights[end] += truth.weights[start] * share
        truth.weights[start] *= 1 - share
    measurements = []
    for order in orders:
        for marginal in domain.marginals(order):
            exact = shares(truth, marginal) * PEOPLE
            noisy = exact + chance.normal(0, sigma, len(exact))
            measurements.append(Measurement(marginal=marginal, counts=noisy, variance=sigma**2))
    return Synthetic(domain=domain, people=PEOPLE, records=records, measurements=tuple(measurements))


def test_a_perfect_copy_is_as_far_off_as_the_noise_floor():
    """The mean and the standard deviation of 300 tables; five standard errors."""
    found = [quality(made(seed=seed, orders=(2,))).tables[0] for seed in range(300)]
    distances = np.array([each.distance for each in found])
    assert abs(distances.mean() - found[0].floor) < 5 * found[0].spread / 300**0.5
    assert distances.std() == pytest.approx(found[0].spread, rel=5 / 600**0.5)
    assert all(each.followed for each in found)


def test_what_the_synthetic_table_lacks_is_found():
    half = np.arange(0, 240, 2)
    told = quality(made(moved=[(half, half + 1, 0.5)]), NAMES)
    assert "age" in told.worst[0].columns
    assert {each.columns for each in told.tables if each.followed} == {
        ("region",),
        ("sex",),
        ("region", "sex"),
    }
    assert all(each.beyond > 0.05 for each in told.tables if not each.followed)


def cramers_v(table):
    even = np.outer(table.sum(axis=1), table.sum(axis=0))
    return np.sqrt((((table - even) ** 2) / even).sum() / (min(table.shape) - 1))


def test_relations_are_cramers_v():
    told = quality(made(sigma=1e-3), NAMES)
    for each, pair in zip(told.relations, [(0, 1), (0, 2), (1, 2)], strict=True):
        table = shares(made().records, Marginal.full(DOMAIN, pair)).reshape([DOMAIN.sizes[i] for i in pair])
        assert each.columns == tuple(NAMES[i] for i in pair)
        assert each.synthetic == pytest.approx(cramers_v(table), rel=1e-3)
        assert each.measured == pytest.approx(each.synthetic, abs=1e-3)


def test_noise_is_taken_off_measured_relations():
    """Columns that have nothing to do with each other, 200 times."""
    domain = Domain(sizes=(6, 8))
    squares, errors = [], []
    for seed in range(200):
        synthetic = made(domain, (2,), 30.0, seed)
        synthetic.records.weights.fill(1 / 48)
        (only,) = synthetic.measurements
        noise = np.random.default_rng(seed).normal(0, 30, 48)
        flat = Measurement(marginal=only.marginal, counts=PEOPLE / 48 + noise, variance=900.0)
        found = relation(synthetic, [flat], (0, 1), ("a", "b"))
        assert found.synthetic == pytest.approx(0, abs=1e-9)
        squares.append(found.measured**2)
        errors.append(found.error**2)
    with_noise = 48 * 900 / PEOPLE**2 * 48 / 5
    assert np.mean(squares) < with_noise / 5  # half of them are below 0, and cut off there
    assert 0.3 < np.std(squares) / np.mean(errors) < 1.2


def test_a_relation_that_noise_hides_is_not_told():
    told = quality(made(sigma=2000.0), NAMES)
    assert all(each.measured is None and each.error is None for each in told.relations)


def test_larger_tables_serve_for_smaller_ones():
    """With the noise of all the cells that are added up; the table with fewer columns is preferred."""
    synthetic = made(orders=(3,), sigma=1.0)
    pair = best_table(synthetic.measurements, (2, 0))
    assert pair.variance == 3.0
    np.testing.assert_allclose(
        pair.counts, shares(synthetic.records, Marginal.full(DOMAIN, (2, 0))) * PEOPLE, atol=6 * 3**0.5
    )
    both = made(orders=(2, 3))
    assert best_table(both.measurements, (0, 1)).variance == 400.0
    assert best_table(made(orders=(1,)).measurements, (0, 1)) is None


def test_bins_are_named_by_their_ends():
    records = made().records
    codes = (np.arange(20) // 6).astype(np.int32)
    coarse = Marginal(attributes=(2,), codes=(codes,))
    measurement = Measurement(marginal=coarse, counts=shares(records, coarse) * PEOPLE, variance=1.0)
    synthetic = Synthetic(domain=DOMAIN, people=PEOPLE, records=records, measurements=(measurement,))
    labels = [[str(i) for i in range(4)], list("abc"), [f"{i} years" for i in range(20)]]
    told = quality(synthetic, NAMES, labels=labels)
    assert told.columns[0].values == (
        "0 years … 5 years",
        "6 years … 11 years",
        "12 years … 17 years",
        "18 years … 19 years",
    )
    assert any("in a bin: of age." in each for each in told.not_preserved)


@pytest.mark.parametrize(
    ("orders", "said", "not_said"),
    [
        ((1, 2, 3), [], ["or more have to do"]),
        ((1, 2), ["What three columns or more"], ["were not measured themselves"]),
        ((1,), ["What two columns or more"], ["in a bin"]),
    ],
)
def test_what_is_not_preserved_is_what_was_not_measured(orders, said, not_said):
    told = " ".join(quality(made(orders=orders), NAMES).not_preserved)
    assert all(each in told for each in [*said, "one person", "fewer than about 40 people", "order of rows"])
    assert not any(each in told for each in not_said)


def test_tables_that_were_left_out_are_counted():
    some = made(orders=(1, 2))
    fewer = Synthetic(domain=DOMAIN, people=PEOPLE, records=some.records, measurements=some.measurements[:4])
    assert any("2 of the 3 tables of two columns" in each for each in quality(fewer, NAMES).not_preserved)


def test_a_reference_takes_the_place_of_the_measurements():
    synthetic = made()
    marginal = Marginal.full(DOMAIN, (0, 1))
    exact = shares(synthetic.records, marginal).reshape(4, 3) * PEOPLE
    told = quality(synthetic, NAMES, reference={marginal: (exact, 1.0)})
    assert told.independent
    assert [each.columns for each in told.tables] == [("region", "sex")]
    assert told.tables[0].distance == pytest.approx(0)
    assert "paid from the budget" in html_page(told)


def test_a_rehearsal_tells_how_far_the_truth_is():
    """Within a factor of two of it; the means of 15 distances are within a fifth of each other."""
    domain = Domain(sizes=(5, 4, 6))
    histogram = np.random.default_rng(3).multinomial(
        20_000, np.random.default_rng(4).dirichlet(np.full(120, 0.3))
    )
    cells = Cells(domain)
    cells.weights[:] = histogram / 20_000
    truth = Synthetic(domain=domain, people=20_000, records=cells, measurements=())
    workload = Workload.marginals(domain, 2) + Workload.marginals(domain, 3)
    options = {
        "loss": ConcentratedLoss(rho=Fraction(1, 50), delta=Fraction(0)),
        "sensitivity": Sensitivity.histogram(Neighbours.ADD_REMOVE),
    }
    actual, rehearsed = [], []
    for _ in range(4):
        first = mwem(workload, counts_of(truth), **options).synthetic
        second = mwem(workload, counts_of(first), **options).synthetic
        told = quality(first, rehearsal=second)
        rehearsed += [each.expected for each in told.tables]
        actual += [
            np.abs(shares(first.records, each.marginal) - shares(cells, each.marginal)).sum() / 2
            for each in first.measurements
        ]
    assert 0.5 < np.mean(rehearsed) / np.mean(actual) < 2


def test_it_is_json():
    told = quality(made(), NAMES).to_dict()
    read = json.loads(json.dumps(told, allow_nan=False))
    assert read["people"] == 10_000
    assert [(each["columns"], each["tables"], each["followed"]) for each in read["summary"]] == [
        (1, 3, 3),
        (2, 3, 3),
    ]
    assert read["tables"][0].keys() >= {
        "columns",
        "distance",
        "floor",
        "ratio",
        "beyond",
        "followed",
        "expected",
    }


class Reader(HTMLParser):
    """Notes texts and tags, and that all that was opened is closed in its turn."""

    VOID = ("meta",)

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts, self.links = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, _):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)


def questions():
    workload = Workload.ranges(DOMAIN, 1)
    return mwem(
        workload,
        counts_of(made()),
        loss=ConcentratedLoss(rho=Fraction(1), delta=Fraction(0)),
        sensitivity=Sensitivity.histogram(Neighbours.ADD_REMOVE),
        rounds=5,
    ).synthetic


CASES = {
    "usual": made,
    "with three": lambda: made(orders=(1, 2, 3)),
    "drowned": lambda: made(sigma=1e6),
    "exact": lambda: made(sigma=1e-3),
    "one column": lambda: made(Domain(sizes=(7,)), (1,)),
    "one value": lambda: made(Domain(sizes=(1, 1)), (1, 2)),
    "many columns": lambda: made(Domain(sizes=(2,) * 14), (1, 2)),
    "many values": lambda: made(Domain(sizes=(500, 3)), (1, 2)),
    "only triples": lambda: made(orders=(3,)),
    "questions": questions,
}


@pytest.mark.parametrize("case", CASES)
def test_the_page_stands_alone(case):
    told = quality(CASES[case]())
    page = html_page(told, "Staff, 2026")
    seen = Reader(page)
    assert "script" not in seen.tags
    assert seen.links == []
    assert "url(" not in page
    assert "@import" not in page
    assert "nan" not in page.lower().replace("nance", "")
    assert "Staff, 2026" in seen.texts
    assert "What is not preserved" in seen.texts
    assert all(any(each.name in text for text in seen.texts) for each in told.columns)


def test_names_and_values_are_escaped():
    bad = "<script>alert(1)</script>\"'&"
    labels = [[bad] * 4, [bad] * 3, [bad] * 20]
    page = html_page(quality(made(), [bad + "1", bad + "2", bad + "3"], labels=labels), bad)
    assert "<script" not in page
    assert "script" not in Reader(page).tags


@pytest.mark.parametrize(
    "options", [{"names": ["a"]}, {"labels": [["a"], ["b"], ["c"]]}, {"names": NAMES, "labels": [["a"] * 4]}]
)
def test_names_that_do_not_fit_are_refused(options):
    with pytest.raises(InvalidInput):
        quality(made(), **options)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.123, "12 %"),
        (0.0123, "1.2 %"),
        (0.00123, "0.12 %"),
        (1e-9, "0.0000 %"),
        (5, "over 100 %"),
    ],
)
def test_shares_in_words(share, text):
    assert percent(share) == text


def test_a_rehearsal_may_have_values_that_the_table_dropped():
    """The fit drops NULL where nobody seems to have it; noise may say otherwise in the rehearsal."""
    records = Cells(Domain(sizes=(2, 3)))
    dropped = Marginal(attributes=(0, 1), codes=(np.arange(2), np.arange(2)))
    found = _shares_of_any(records, dropped)
    assert found.shape == (4,)
    assert found.sum() == pytest.approx(float(records.weights[records.columns[1] < 2].sum()))


def test_a_rehearsal_may_drop_what_the_table_kept():
    """Its noise is another one, so that a value which few have may seem to be empty."""
    table = made()
    dropped = DOMAIN.without([False, True, False])
    (found,) = counts_of(table)([Marginal.full(dropped, (0, 1))])
    whole = counts_of(table)([Marginal.full(DOMAIN, (0, 1))])[0].reshape(4, 3)
    assert np.abs(found.reshape(4, 2) - whole[:, :2]).max() <= 1
