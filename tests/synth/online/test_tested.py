"""Tests of guesses: their law, their price, when they are made, and that the promised error holds."""

import os
from dataclasses import dataclass, field
from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest

from discreet.audit.sparse_claims import transcript_law
from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.noise.above_threshold import Run
from discreet.synth.domain import Domain
from discreet.synth.online.histogram import MOST_RECORDS, Histogram
from discreet.synth.online.online import Buy, FromCache, Online, Pay
from discreet.synth.online.question import Question
from discreet.synth.online.readings import Pricing
from discreet.synth.online.tested import LEAST_SHARE, RENT, SHARE, Guesses, cheapest

DOMAIN = Domain(sizes=(6, 8, 3))
CONFIDENCE = Fraction(95, 100)
WITHIN = Fraction(100)
MOST = Fraction(10**6)
EVERYONE = Question.where(DOMAIN, {})
QUESTION = Question.where(DOMAIN, {0: [1], 1: [2, 3]})


def passes(tester, test, exact):
    """As the curator does: the run is taken first, and given back if the guess passes."""
    tester.take_run(test)
    return tester.passes(test, exact)


def pricing_of(*, concentrated, replaced=False, unit=1):
    neighbours = Neighbours.REPLACE_ONE if replaced else Neighbours.ADD_REMOVE
    return Pricing(
        concentrated=concentrated,
        table=Sensitivity.histogram(neighbours, max_rows=unit),
        single=Sensitivity.scalar(unit, neighbours),
        unit=unit,
    )


LAPLACE, GAUSSIAN = pricing_of(concentrated=False), pricing_of(concentrated=True)
BOTH = pytest.mark.parametrize("pricing", [GAUSSIAN, LAPLACE], ids=["Gaussian", "Laplace"])


def amount(loss):
    return getattr(loss, "rho", None) or loss.epsilon


def ready(pricing, domain=DOMAIN, *, error=100.0):
    """A tester that may start a run: it paid much for questions whose guess was right."""
    online, tester = Online(domain, pricing), Guesses(domain, pricing)
    everyone = Question.where(domain, {})
    step = online.decide(everyone, within=WITHIN, confidence=CONFIDENCE)
    online.learn(*step.measure(1000 * pricing.unit))
    own = tester._own
    own.paid = own.passable = Fraction(10**6)
    own.record.extend([(error, 0.1, 0.1)] * 64)
    return online, tester


def decided(
    online, tester, question=QUESTION, *, guess=50.0, within=WITHIN, confidence=CONFIDENCE, most=MOST
):
    step = online.decide(question, within=within, confidence=confidence)
    assert not isinstance(step, FromCache)
    return tester.decide(question, online, step, guess=guess, within=within, confidence=confidence, most=most)


@BOTH
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("unit", [1, 8])
def test_a_run_costs_what_its_noise_costs(pricing, replaced, unit):
    """Δ/b₁ + 2Δ/b₂ for one above of questions that are not monotone, and ε²/2 as ρ; exactly."""
    pricing = pricing_of(concentrated=pricing.concentrated, replaced=replaced, unit=unit)
    test = decided(*ready(pricing))
    change = pricing.single.linf
    epsilon = change / test.mechanism.threshold_scale + 2 * change / test.mechanism.answer_scale
    assert amount(test.run) == (epsilon**2 / 2 if pricing.concentrated else epsilon)
    assert amount(test.loss) == amount(test.run) + amount(test.otherwise.loss)
    assert test.mechanism.aboves == 1


@BOTH
def test_while_a_run_is_under_way_a_test_costs_nothing_more(pricing):
    online, tester = ready(pricing)
    first = decided(online, tester)
    tester.begin(first)
    second = decided(online, tester)
    assert second.run is None
    assert second.mechanism == first.mechanism
    assert second.loss == second.otherwise.loss


def test_the_noise_leaves_its_share_to_the_threshold():
    test = decided(*ready(LAPLACE))
    assert test.within == 100
    assert test.threshold >= int(SHARE * 100)
    assert test.threshold + test.mechanism.interval(CONFIDENCE).high <= 100  # 2.5 % on one side


@pytest.mark.parametrize("guess", [0, 1000])
def test_the_law_of_a_run_is_that_of_sparse_vector(guess):
    """4,000 transcripts of three questions with thresholds of their own, against the exact law (10⁻⁶)."""
    runs = 4000
    allowed = sqrt(log(2 * 8 / 1e-6) / (2 * runs))  # Hoeffding, for each of eight outcomes
    online, tester = ready(LAPLACE)
    tests, differences = [], []
    tester.begin(decided(online, tester))
    for within, far in ((100, 65), (160, 120), (100, 85)):
        test = decided(online, tester, guess=float(guess), within=Fraction(within))
        tests.append((test, test.guess + far))
        differences.append(far - test.threshold)
    law = transcript_law(test.mechanism, differences)
    found = np.zeros(8)
    for _ in range(runs):
        tester.begin(tests[0][0])
        outcome = 0
        for test, exact in tests:
            outcome = 2 * outcome + (tester._own.run is not None and not passes(tester, test, exact))
        found[outcome] += 1
    assert np.abs(found / runs - law).max() <= allowed
    wrong = transcript_law(cheapest(12, Fraction(975, 1000), LAPLACE.single), differences)
    assert np.abs(wrong - law).max() > 2 * allowed  # half the noise would be seen


def test_no_neighbour_is_told_apart_by_more_than_the_price():
    """The exact law of transcripts of distances that one person moves, each up or down: no false alarm."""
    test = decided(*ready(LAPLACE, error=8.0), within=Fraction(8), confidence=Fraction(9, 10))
    epsilon = float(amount(test.run))
    distances = [1, 4, 7]
    here = transcript_law(test.mechanism, [d - test.threshold for d in distances])
    worst = 0.0
    for moves in np.ndindex(3, 3, 3):
        moved = [d + m - 1 - test.threshold for d, m in zip(distances, moves, strict=True)]
        there = transcript_law(test.mechanism, moved)
        possible = here > 0
        worst = max(worst, np.abs(np.log(here[possible] / there[possible])).max())
    assert epsilon / 10 < worst <= epsilon * (1 + 1e-9)


@BOTH
@pytest.mark.parametrize("unit", [1, 16])
def test_a_guess_that_is_too_far_off_hardly_ever_passes(pricing, unit):
    """In 2.5 % of runs at most: of 2,000, 94 with a probability below 10⁻⁸ (Chernoff)."""
    online, tester = ready(pricing_of(concentrated=pricing.concentrated, unit=unit))
    test = decided(online, tester)
    for side in (-1, 1):
        passed = 0
        for _ in range(2000):
            tester.begin(test)
            passed += passes(tester, test, test.guess + side * (100 * unit + 1))
        assert passed <= 94
        assert passed >= 10  # and it is not far too careful


@pytest.mark.parametrize("percent", [80, 90, 95, 99])
def test_what_passes_wrongly_in_a_whole_run_is_little_beside_what_is_paid_before_it(percent):
    """All guesses are just too far off: Σ P(ρ)·(1/P(above | ρ) − 1) pass before one fails, exactly."""
    confidence, within = Fraction(percent, 100), Fraction(1000)
    online, tester = ready(LAPLACE, error=1000.0)
    test = decided(online, tester, within=within, confidence=confidence)
    one, two = float(test.mechanism.threshold_scale), float(test.mechanism.answer_scale)
    secret = np.arange(-int(100 * one), int(100 * one) + 1)
    chance = np.exp(-np.abs(secret) / one) * np.tanh(1 / (2 * one))
    least = secret - (1001 - test.threshold)  # ν ≥ this is above
    q = np.exp(-1 / two)
    beyond = q ** np.where(least > 0, least, 1 - least) / (1 + q)
    wrong = float(chance @ (1 / np.where(least > 0, beyond, 1 - beyond) - 1))
    miss = 1 - float(confidence)
    assert miss / 2 <= wrong <= 4 * miss / 2
    step = online.decide(QUESTION, within=within, confidence=confidence)
    paid = float(RENT * amount(test.run) / amount(step.loss))
    assert paid > 25
    assert (wrong + miss / 2 + paid * miss) / (wrong + 1 + paid) <= miss * (1 + 1 / 30)


@BOTH
def test_what_is_paid_after_a_test_holds_with_the_misses_that_are_left(pricing):
    online, tester = ready(pricing)
    test = decided(online, tester)
    strict = online.decide(QUESTION, within=WITHIN, confidence=Fraction(975, 1000))
    assert test.paid_confidence == Fraction(975, 1000)
    assert test.otherwise.noise == strict.noise
    assert amount(test.otherwise.loss) == amount(strict.loss)


def test_a_guess_that_fails_ends_the_run():
    online, tester = ready(LAPLACE)
    test = decided(online, tester)
    tester.begin(test)
    assert not passes(tester, test, test.guess + 10**6)
    with pytest.raises(InvalidInput):
        passes(tester, test, test.guess)
    assert decided(online, tester) is None  # and the next one is not started for nothing


def test_guesses_that_pass_do_not_end_it():
    """The threshold is 10⁶ scales away: none of 20 fails."""
    online, tester = ready(LAPLACE)
    test = decided(online, tester)
    tester.begin(test)
    tester._own.run._noisy_threshold = int(10**6 * test.mechanism.answer_scale)
    assert all(passes(tester, test, test.guess) for _ in range(20))
    assert tester._own.saved == 20 * amount(test.otherwise.loss)
    assert decided(online, tester).run is None


def test_a_question_that_the_run_is_too_coarse_for_is_not_tested():
    online, tester = ready(LAPLACE)
    tester.begin(decided(online, tester))
    reach = tester._own.mechanism.interval(CONFIDENCE).high
    least = int(reach / LEAST_SHARE)
    assert decided(online, tester, within=Fraction(least - 1)) is None
    fine = decided(online, tester, within=Fraction(least + 1))
    assert fine.threshold == least + 1 - reach
    assert decided(online, tester, confidence=Fraction(999_999, 10**6)) is None


def test_what_would_be_much_dearer_after_a_test_is_not_tested():
    """At 50 % half of the misses cost twice as much, at 90 % a third more."""
    assert decided(*ready(LAPLACE), confidence=Fraction(1, 2)) is None
    assert decided(*ready(LAPLACE), confidence=Fraction(9, 10)) is not None


def test_the_worst_case_is_within_what_may_be_paid():
    online, tester = ready(LAPLACE)
    test = decided(online, tester)
    assert decided(online, tester, most=amount(test.loss)) is not None
    assert decided(online, tester, most=amount(test.loss) - Fraction(1, 10**9)) is None


def test_g1_a_test_that_is_stopped_anywhere_has_ended_its_run(monkeypatch):
    """Between its draw and what is done with it, too: the run was taken before."""
    online, tester = ready(LAPLACE)
    test = decided(online, tester)
    honest = Run.above

    def stopped(run, exact):
        honest(run, exact)
        raise KeyboardInterrupt

    tester.begin(test)
    tester.take_run(test)
    with monkeypatch.context() as patched:
        patched.setattr(Run, "above", stopped)
        with pytest.raises(KeyboardInterrupt):
            tester.passes(test, test.guess)
    for stale in (tester.take_run, lambda test: tester.passes(test, test.guess)):
        with pytest.raises(InvalidInput):
            stale(test)
    tester.begin(test)
    tester.take_run(test)  # and stopped before anything was drawn
    with pytest.raises(InvalidInput):
        tester.take_run(test)


def test_a_forked_process_has_no_run(monkeypatch):
    """Two that shared a secret would have paid for one run."""
    online, tester = ready(LAPLACE)
    test = decided(online, tester)
    tester.begin(test)
    assert decided(online, tester).run is None
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert decided(online, tester) is None
    with pytest.raises(InvalidInput):
        passes(tester, test, test.guess)


@BOTH
def test_a_run_is_started_when_payments_that_it_would_have_saved_are_its_rent(pricing):
    online, tester = ready(pricing)
    test = decided(online, tester)
    own = tester._own
    own.passable = RENT * amount(test.run)
    assert decided(online, tester) is not None
    own.passable -= Fraction(1, 10**15)
    assert decided(online, tester) is None
    own.passable = RENT * amount(test.run) * 4
    own.lost = 2
    assert decided(online, tester) is not None
    own.lost = 3
    assert decided(online, tester) is None


def test_a_run_that_saved_nothing_makes_the_next_dearer_and_one_that_did_does_not():
    online, tester = ready(LAPLACE)
    test = decided(online, tester)
    tester.begin(test)
    assert tester._own.passable == 0
    passes(tester, test, test.guess + 10**6)
    assert tester._own.lost == 1
    tester.begin(test)
    tester._own.saved = amount(test.run)
    passes(tester, test, test.guess + 10**6)
    assert tester._own.lost == 0


def test_guesses_that_were_far_off_start_nothing():
    online, tester = ready(LAPLACE)
    tester._own.record.extend([(100.0, 0.32, 0.3)] * 64)
    assert decided(online, tester) is not None
    tester._own.record.extend([(100.0, 0.34, 0.3)] * 64)
    assert decided(online, tester) is None


def test_guesses_for_another_error_say_nothing():
    for error, alike in ((49.0, False), (51.0, True), (199.0, True), (201.0, False)):
        assert (decided(*ready(LAPLACE, error=error)) is not None) == alike


def test_how_close_guesses_were_is_judged_by_the_noise():
    """Perfect guesses: the mean of 4,000 is what noise alone makes likely, within 10 % (six deviations)."""
    for pricing in (LAPLACE, GAUSSIAN):
        online, tester = ready(pricing)
        step = online.decide(QUESTION, within=WITHIN, confidence=CONFIDENCE)
        found = []
        for _ in range(4000):
            tester.paid(step, step.measure(0), 0.0, WITHIN)
            found.append(tester._own.record[-1][1:])
        off, usual = np.array(found).sum(axis=0)
        assert off == pytest.approx(usual, rel=0.1)


def test_only_payments_whose_guess_would_have_passed_are_counted():
    online, tester = ready(LAPLACE)
    step = online.decide(QUESTION, within=WITHIN, confidence=CONFIDENCE)
    own = tester._own
    for off, counted in ((0, True), (75, True), (76, False), (-75, True), (-90, False)):
        own.passable, before = Fraction(0), own.paid
        (reading,) = step.measure(0)
        value = float(reading.counts[0])
        tester.paid(step, [reading], value - off, WITHIN)
        assert own.passable == (amount(step.loss) if counted else 0)
        assert own.paid == before + amount(step.loss)
    own.passable = Fraction(0)
    tester.paid(step, [reading], None, WITHIN)
    assert own.passable == 0


def test_a_process_that_paid_little_makes_no_guess():
    online, tester = ready(LAPLACE)
    assert tester.guess(QUESTION, online, WITHIN, CONFIDENCE) is not None
    tester._own.paid = amount(decided(online, tester).run) - Fraction(1, 10**9)
    assert tester.guess(QUESTION, online, WITHIN, CONFIDENCE) is None


def test_there_is_no_guess_without_people_or_with_too_many_records():
    _, tester = ready(LAPLACE)
    assert tester.guess(QUESTION, Online(DOMAIN, LAPLACE), WITHIN, CONFIDENCE) is None
    wide = Domain(sizes=(MOST_RECORDS // 2**10, 2**10 + 1))
    online, large = ready(LAPLACE, wide)
    assert large.guess(Question.where(wide, {0: [1]}), online, WITHIN, CONFIDENCE) is None


@pytest.mark.parametrize("within", [1, 2, 3, 5])
def test_an_error_of_a_few_people_is_no_trouble(within):
    online, tester = ready(LAPLACE, error=float(within))
    found = decided(online, tester, within=Fraction(within))
    if found is not None:
        assert 0 <= found.threshold <= within
        assert found.threshold + found.mechanism.interval(CONFIDENCE).high <= within


# Whole streams.

WIDE = Domain(sizes=(12, 10, 9, 8))
ERROR = Fraction(200)


def independent(people=20_000):
    """Columns that have nothing to do with each other: a histogram learns them fast."""
    shares = [np.random.default_rng(a).dirichlet(np.full(size, 2.0)) for a, size in enumerate(WIDE.sizes)]
    return np.round(people * np.einsum("a,b,c,d->abcd", *shares)).astype(np.int64)


def some_ranges(count, seed=1, *, first=ERROR):
    """Questions and their errors: the columns one by one, and then ranges of all four."""
    chance = np.random.default_rng(seed)
    yield Question.where(WIDE, {}), first
    for attribute, size in enumerate(WIDE.sizes):
        yield from ((Question.where(WIDE, {attribute: range(end)}), first) for end in range(1, size))
    for _ in range(count):
        ends = {a: sorted(chance.integers(0, size, 2)) for a, size in enumerate(WIDE.sizes)}
        yield Question.where(WIDE, {a: range(low, high + 1) for a, (low, high) in ends.items()}), ERROR


@dataclass
class Spent:
    """What a stream of questions came to."""

    all: Fraction = Fraction(0)
    each: Fraction = Fraction(0)
    """If each was paid by itself."""
    runs: int = 0
    passed: int = 0
    misses: list = field(default_factory=list)


def stream(pricing, questions, *, restart=10**9, wrong=False, tested=True):
    """At no moment more than three times what paying each costs. If wrong, every test fails."""
    counts, online, tester = independent(), Online(WIDE, pricing), Guesses(WIDE, pricing)
    found = Spent()
    for i, (question, within) in enumerate(questions):
        told = {"within": within, "confidence": CONFIDENCE}
        if i % restart == restart - 1:
            tester = restarted(tester, pricing)
        table = np.asarray(counts.sum(axis=tuple(a for a in range(4) if a not in question.attributes)))
        exact = question.count(table)
        found.each += amount(Online(WIDE, pricing).decide(EVERYONE, **told).loss)
        step, guess, test = online.decide(question, **told), None, None
        if tested and not isinstance(step, FromCache):
            guess = tester.guess(question, online, within, CONFIDENCE)
            test = tester.decide(question, online, step, guess=guess, **told, most=MOST)
        if test is not None:
            if test.run is not None:
                found.all, found.runs = found.all + amount(test.run), found.runs + 1
                tester.begin(test)
            if passes(tester, test, 10**9 if wrong else exact):
                found.passed += 1
                found.misses.append(abs(test.guess - exact) > within)
                continue
            step = test.otherwise
        if isinstance(step, Pay | Buy):
            found.all += amount(step.loss)
            readings = step.measure(table if isinstance(step, Buy) else exact)
            online.learn(*readings)
            tester.learn(readings)
            tester.paid(step, readings, guess, within)
        found.misses.append(abs(online.answer(question).value - exact) > within)
        assert found.all <= 3 * found.each
    return found


def restarted(tester, pricing):
    """Another process: it knows all readings, and nothing that the other did."""
    new = Guesses(WIDE, pricing)
    new._histogram = tester._histogram
    return new


@pytest.fixture
def near(monkeypatch):
    """Guesses that are off by a tenth of the error, and few of them needed for a run."""
    counts = independent()

    def guess(_, question, __):
        others = tuple(a for a in range(4) if a not in question.attributes)
        return float(question.count(np.asarray(counts.sum(axis=others)))) + 20

    monkeypatch.setattr(Histogram, "guess", guess)
    monkeypatch.setattr("discreet.synth.online.tested.CLOSE", 100.0)
    monkeypatch.setattr("discreet.synth.online.tested._LEAST_RECORD", 1)


@pytest.mark.usefixtures("near")
def test_many_guesses_pass_for_one_price_and_hold(monkeypatch):
    """Misses are at most 5 %; answers share noise, so 20 % are allowed for.

    A test fails with probability 10⁻³ or so, unless the secret is far off (once in a thousand runs); that
    not even 50 pass would take several such runs one after the other.
    """
    monkeypatch.setattr("discreet.synth.online.tested.RENT", Fraction(1, 4))
    plain, found = (stream(LAPLACE, some_ranges(200), tested=tested) for tested in (False, True))
    assert found.runs >= 1
    assert found.passed > 50
    assert np.mean(found.misses) <= 0.2
    assert found.all < plain.all


@BOTH
@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("restart", [10**9, 60, 1])
def test_it_never_costs_more_than_three_times_what_paying_each_does(pricing, restart):
    """Guesses look good and every test fails; processes come and go."""
    found = stream(pricing, some_ranges(150), restart=restart, wrong=True)
    assert found.passed == 0
    assert found.runs >= 1 or pricing.concentrated or restart <= 60


def test_a_process_that_is_started_for_every_question_starts_no_run():
    found = stream(LAPLACE, some_ranges(150), restart=1)
    assert found.runs == 0
