"""Attacks A1–A7: on how numbers are kept, added and noised."""

import math
from fractions import Fraction

import pytest
from click.testing import CliRunner
from scipy.stats import norm

from discreet import DiscreetError, InvalidInput
from discreet.apps.commands.main import main
from discreet.model.privacy import PureLoss
from tests.bad_values import BAD_QUANTITIES

from .ask import BAD_LUCK, ROWS, Clinic, cell

GRID = 2**20
"""Counts and sums of whole numbers, where people have several rows: on a grid of 2⁻²⁰."""


# A1 and A2: the support of the noise. Word by word: tests/noise/test_sampling.py and `discreet audit`.


def test_a1_a2_every_answer_is_on_one_public_grid_whatever_the_data(tmp_path):
    """Float noise leaves holes that differ between neighbours, and low bits that tell the exact value.

    Here all answers, with a person of odd cost and without, are multiples of one step. If a bit of a value or
    of the noise lay below that grid, half of 40 answers would miss it: by chance none with probability 2⁻⁴⁰.
    """
    odd = "SELECT 5000, 'north', 0.1 + 1e-13, 71, 'flu'"
    finer = 0
    for name, rows in (("without", ROWS), ("with", f"{ROWS} UNION ALL {odd}")):
        clinic = Clinic(tmp_path / name, rows=rows, cost="unit = 1")
        for age in range(100, 120):
            for column in ("count(*)", "sum(cost)"):  # each is one vector, and not computed from several
                answer = clinic.ask(f"SELECT {column} AS it FROM visits WHERE age < {age}")
                scaled = Fraction(cell(answer, "it")) * GRID
                assert scaled.denominator == 1
                finer += scaled.numerator % 2
    assert finer > 0  # the grid is used to its last bit: 80 even numbers in a row have probability 2⁻⁸⁰


def test_a2_the_size_of_a_value_does_not_show_in_its_precision(tmp_path):
    """The spacing of floats grows with the number; a count of a million and one of none share their grid."""
    for people in (0, 1_000_000):
        rows = f"SELECT range, 'north', 1.0, 50, 'flu' FROM range({people})"
        answer = Clinic(tmp_path / str(people), rows=rows).ask("SELECT count(*) AS n FROM visits")
        assert (Fraction(cell(answer, "n")) * GRID).denominator == 1


# A3: sums of floats. All neighbours of small tables, exactly: tests/bounds/test_one_person.py.


@pytest.mark.parametrize("order", ["range", "-range", "hash(range)"])
def test_a3_a_sum_does_not_depend_on_the_order_of_rows_or_on_huge_ones(tmp_path, order):
    """As floats, these add up to NaN, ∞, or to a number that lost all of the small ones.

    Clamped row by row they are 400 · 0.5 + 4 · 100. The noise has scale 3 · 100/200.
    """
    huge = "[1e308, -1e308, 1e16, -1e16, 1.7e308, -1.7e308, 9e15, -9e15][1 + range]"
    rows = f"SELECT range, 'north', CASE WHEN range < 8 THEN {huge} ELSE 0.5 END, 50, 'flu' FROM range(408)"
    clinic = Clinic(tmp_path, rows=f"SELECT * FROM ({rows} ORDER BY {order})")
    answer = clinic.ask("SELECT sum(cost) AS total FROM visits", epsilon=200)
    assert cell(answer, "total") == pytest.approx(600, abs=1.5 * BAD_LUCK)


# A4: overflow.


def test_a4_a_sum_beyond_64_bits_is_right(tmp_path):
    """400 people at 2⁴⁰, each of them 2⁶⁰ on the grid: 2⁶⁸ in all. 14 scales are 0.02 % of it."""
    top = 2**40
    clinic = Clinic(
        tmp_path, rows=f"SELECT range, 'north', {top}.0, 50, 'flu' FROM range(400)", cost="unit = 1"
    )
    clinic.policy.write_text(clinic.policy.read_text().replace("[0, 100]", f"[0, {top}]"))
    answer = clinic.ask("SELECT sum(cost) AS total FROM visits", epsilon=500)
    assert cell(answer, "total") == pytest.approx(400 * top, rel=3 * BAD_LUCK / 500 / 400)


@pytest.mark.parametrize(
    ("bounds", "unit"),
    [(f"[0, {2**59}]", 1), (f"[{-(2**59)}, {2**59}]", 1), ("[0, 1e15]", 1e-9), (f"[0, {2**43}]", 1)],
)
def test_a4_what_might_not_fit_is_refused_before_the_charge(tmp_path, bounds, unit):
    clinic = Clinic(tmp_path, cost=f"unit = {unit}")
    clinic.policy.write_text(clinic.policy.read_text().replace("[0, 100]", bounds))
    for measure in ("sum(cost)", "avg(cost)", "variance(cost)", "sum(cost * cost)"):
        answer = clinic.ask_or_be_refused(f"SELECT {measure} AS n FROM visits")
        assert answer is None or math.isfinite(cell(answer, "n"))


# A5: rows that are no numbers.


@pytest.mark.parametrize("poison", ["'nan'", "'inf'", "'-inf'", "NULL", "1e308 * 10"])
@pytest.mark.parametrize(
    ("measure", "reach"),
    [
        ("count(cost)", 0.42),
        ("sum(cost)", 42),
        ("sum(cost / 2 + 1)", 22),
        ("avg(cost)", 0.5),
        ("stddev(cost)", 5),
    ],
)
def test_a5_one_poisoned_row_changes_nothing(tmp_path, poison, measure, reach):
    """As if it had no cost at all. The two answers at ε = 200 are within 28 scales of each other or more."""
    answers = []
    for name, cost in (("poisoned", f"CAST({poison} AS DOUBLE)"), ("plain", "NULL")):
        poisoned = f"SELECT 5000, 'north', {cost}, 50, 'flu'"
        clinic = Clinic(tmp_path / name, rows=f"{ROWS} UNION ALL {poisoned}")
        answers.append(cell(clinic.ask(f"SELECT {measure} AS x FROM visits", epsilon=200), "x"))
    assert all(map(math.isfinite, answers))
    assert abs(answers[0] - answers[1]) <= reach


# A6: the accountant. Cross-checked law by law: tests/accounting/ and `discreet audit`.


def test_a6_what_was_charged_adds_up_exactly_and_is_what_was_asked_for(clinic):
    """In floats, ten tenths and three thirds do not add up to two."""
    answers = [clinic.ask(f"SELECT count(*) FROM visits WHERE age < {i}", epsilon=0.1) for i in range(10)]
    answers += [
        clinic.ask(f"SELECT count(*) FROM visits WHERE age > {i}", epsilon=Fraction(1, 3)) for i in range(3)
    ]
    charged = sum((answer.charged.epsilon for answer in answers), Fraction(0))
    assert clinic.spent() == PureLoss(epsilon=charged)
    assert 2 - Fraction(1, 10**9) <= charged <= 2  # a third is rounded down, before its noise is chosen


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (3, 1e-9), (0.1, 1e-5)])
def test_a6_a_second_accountant_finds_the_whole_budget_kept(tmp_path, epsilon, delta):
    """All of ρ is at worst one Gaussian of shift √(2ρ), whose δ at ε is known exactly (Balle & Wang 2018)."""
    clinic = Clinic(tmp_path, epsilon=epsilon, delta=delta)
    rho = float(clinic.open().budget().account.budget.rho)
    shift = math.sqrt(2 * rho)
    exact = norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)
    assert exact <= delta
    clinic.ask("SELECT count(*) AS n FROM visits", rho=Fraction(rho) / 2)
    with pytest.raises(DiscreetError):
        clinic.ask("SELECT count(*) AS m FROM visits", rho=Fraction(rho) * Fraction(51, 100))


# A7: prices that are none. In policies: tests/policy/test_reader.py; in Python: tests/model/test_exact.py.


@pytest.fixture(scope="module")
def unpaid(tmp_path_factory):
    """A clinic with a δ, of which nobody buys anything."""
    return Clinic(tmp_path_factory.mktemp("unpaid"), delta=1e-6)


@pytest.mark.parametrize("price", ["epsilon", "rho", "within", "confidence"])
@pytest.mark.parametrize("bad", [bad for bad in BAD_QUANTITIES if bad is not None], ids=repr)
def test_a7_a_price_that_is_none_is_refused_and_costs_nothing(unpaid, price, bad):
    clinic = unpaid
    arguments = {"epsilon": 1, "confidence": bad} if price == "confidence" else {price: bad}
    with pytest.raises(DiscreetError):
        clinic.ask("SELECT count(*) FROM visits", **arguments)
    assert clinic.spent().rho == 0


@pytest.mark.parametrize(
    "bad", ["nan", "inf", "-inf", "0", "-1", "1e-320", "1e300", "x", "", "True", "1,5", "0x1"]
)
@pytest.mark.parametrize("option", ["--epsilon", "--rho", "--within"])
def test_a7_nor_on_the_command_line(unpaid, option, bad):
    clinic = unpaid
    question = ["ask", "SELECT count(*) FROM visits", option, bad, "--policy", str(clinic.policy)]
    result = CliRunner().invoke(main, question)
    assert result.exit_code in (2, 3)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert clinic.spent().rho == 0


def test_a7_a_price_has_one_currency(clinic):
    for price in ({"epsilon": 1, "rho": 1}, {"epsilon": 1, "within": 5}, {"rho": 1, "within": 5}):
        with pytest.raises(InvalidInput):
            clinic.ask("SELECT count(*) FROM visits", **price)
    assert clinic.spent() == PureLoss(epsilon=Fraction(0))
