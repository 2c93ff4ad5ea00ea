"""Online answers: what is decided, what it costs, and that the promised error holds."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.synth.cached.counting_question import CountingQuestion
from discreet.synth.cached.readings import Pricing, Reading
from discreet.synth.cached.resolutions import coarser, radices
from discreet.synth.cached.strategy import Buy, FromCache, Online, Pay
from discreet.synth.core.domain import Domain

DOMAIN = Domain(sizes=(6, 8, 3))
CONFIDENCE = Fraction(95, 100)
TABLE, SINGLE = Sensitivity.histogram(Neighbours.ADD_REMOVE), Sensitivity.scalar(1, Neighbours.ADD_REMOVE)
GAUSSIAN = Pricing(concentrated=True, table=TABLE, single=SINGLE)
LAPLACE = Pricing(concentrated=False, table=TABLE, single=SINGLE)
BOTH = pytest.mark.parametrize("pricing", [GAUSSIAN, LAPLACE], ids=["Gaussian", "Laplace"])
COUNTS = np.random.default_rng(7).integers(0, 400, DOMAIN.sizes)


def exact(question, step):
    others = tuple(a for a in range(3) if a not in question.attributes)
    table = np.asarray(COUNTS.sum(axis=others))
    return table if isinstance(step, Buy) else question.count(table)


def truth(question):
    others = tuple(a for a in range(3) if a not in question.attributes)
    return question.count(np.asarray(COUNTS.sum(axis=others)))


def ask(online, question, within=100, readings=None, **more):
    step = online.decide(question, within=within, confidence=CONFIDENCE, **more)
    if not isinstance(step, FromCache):
        found = step.measure(exact(question, step))
        online.learn(*found)
        if readings is not None:
            readings.extend(found)
    return step, online.answer(question)


def some_ranges(count, seed=1):
    chance, questions = np.random.default_rng(seed), []
    for _ in range(count):
        chosen = chance.choice(3, 2, replace=False)
        ends = {int(a): sorted(chance.integers(0, DOMAIN.sizes[a], 2)) for a in chosen}
        questions.append(
            CountingQuestion.where(DOMAIN, {a: range(low, high + 1) for a, (low, high) in ends.items()})
        )
    return questions


def amount(step):
    return getattr(step.loss, "rho", None) or step.loss.epsilon


def price(step, pricing):
    """What the step must cost, from its noise alone."""
    noises = [noise for _, noise in step.tables] if isinstance(step, Buy) else [step.noise]
    kind = pricing.table if isinstance(step, Buy) else pricing.single
    if pricing.concentrated:
        return sum(Fraction(kind.l2_squared) / (2 * noise.sigma_squared) for noise in noises)
    return sum(Fraction(kind.l1) / noise.scale for noise in noises)


@BOTH
def test_a_first_question_is_paid_as_if_alone(pricing):
    step, _ = ask(Online(DOMAIN, pricing), CountingQuestion.where(DOMAIN, {0: [1], 1: [2, 3]}))
    alone = (DiscreteGaussian if pricing.concentrated else DiscreteLaplace).for_error(100, CONFIDENCE)
    assert isinstance(step, Pay)
    least = alone.loss(SINGLE)
    assert 1 <= amount(step) / (least.rho if pricing.concentrated else least.epsilon) < 1.03


@BOTH
def test_the_same_question_again_is_free(pricing):
    online, question = Online(DOMAIN, pricing), CountingQuestion.where(DOMAIN, {0: [1], 1: [2, 3]})
    _, first = ask(online, question)
    step, second = ask(online, question)
    assert isinstance(step, FromCache)
    assert (first.value, first.spread) == (second.value, second.spread)
    assert isinstance(ask(online, question, within=200)[0], FromCache)


@BOTH
def test_rounding_asks_for_nothing_more(pricing):
    online = Online(DOMAIN, pricing)
    for question in some_ranges(100):
        ask(online, question)
        assert isinstance(online.decide(question, within=100, confidence=CONFIDENCE), FromCache)


def test_a_smaller_error_pays_the_difference():
    """Gaussian noise: the precision that is missing, and no more."""
    online, question = Online(DOMAIN, GAUSSIAN), CountingQuestion.where(DOMAIN, {0: [1], 1: [2, 3]})
    paid = sum(amount(ask(online, question, within=within)[0]) for within in (100, 50, 20))
    at_once = amount(Online(DOMAIN, GAUSSIAN).decide(question, within=20, confidence=CONFIDENCE))
    assert float(paid) == pytest.approx(float(at_once), rel=1e-6)


@BOTH
def test_charges_are_those_of_the_noise_that_is_drawn(pricing):
    pricing = replace(
        pricing,
        table=Sensitivity.histogram(Neighbours.REPLACE_ONE, max_rows=2),
        single=Sensitivity.scalar(2, Neighbours.REPLACE_ONE),
    )
    online, kinds = Online(DOMAIN, pricing), set()
    for question in some_ranges(150):
        step, _ = ask(online, question)
        kinds.add(type(step))
        if not isinstance(step, FromCache):
            assert amount(step) == price(step, pricing)
            drawn = [reading.noise for reading in step.measure(exact(question, step))]
            assert drawn == ([noise for _, noise in step.tables] if isinstance(step, Buy) else [step.noise])
    assert kinds == {FromCache, Pay, Buy}


@BOTH
def test_it_never_costs_more_than_twice_what_paying_each_does(pricing):
    for within, count in ((100, 3), (100, 40), (100, 300)):
        online, spent = Online(DOMAIN, pricing), Fraction(0)
        each = 0
        for question in some_ranges(count, seed=count):
            alone = Online(DOMAIN, pricing).decide(question, within=within, confidence=CONFIDENCE)
            each += 0 if isinstance(alone, FromCache) else amount(alone)
            step, _ = ask(online, question, within=within)
            spent += 0 if isinstance(step, FromCache) else amount(step)
            assert spent <= 2 * each
    assert spent < each / 4  # and many questions far less


@BOTH
@pytest.mark.parametrize("within", [2, 100])
def test_the_answer_has_the_error_that_was_promised_before(pricing, within):
    online, kinds = Online(DOMAIN, pricing), set()
    for question in some_ranges(100):
        step, found = ask(online, question, within=within)
        kinds.add(type(step))
        assert float(found.interval(CONFIDENCE).half_width) == pytest.approx(step.reach)
        assert step.reach <= within
    assert Buy in kinds


@BOTH
def test_tables_are_bought_when_the_rent_since_the_last_time_is_their_price(pricing):
    online, rents, bought = Online(DOMAIN, pricing), {}, []
    for question in some_ranges(250):
        alone = Online(DOMAIN, pricing).decide(question, within=100, confidence=CONFIDENCE)
        step, _ = ask(online, question)
        rent = rents.get(question.attributes, 0)
        if isinstance(step, Pay):
            rents[question.attributes] = rent + amount(step)
        elif isinstance(step, Buy):
            assert amount(step) <= rent + amount(alone)  # alone it costs at least as much as now
            rents[question.attributes] = 0
            bought.append(question.attributes)
    assert len(bought) > len(set(bought))  # some more than once


@BOTH
def test_decisions_depend_on_no_count(pricing):
    """Two caches with the same noise and different counts decide alike, to the last digit."""
    one, two = Online(DOMAIN, pricing), Online(DOMAIN, pricing)
    for question in some_ranges(150):
        step = one.decide(question, within=60, confidence=CONFIDENCE)
        other = two.decide(question, within=60, confidence=CONFIDENCE)
        assert type(step) is type(other)
        assert step.reach == other.reach
        if not isinstance(step, FromCache):
            noises = [x.tables if isinstance(x, Buy) else x.noise for x in (step, other)]
            assert noises[0] == noises[1]
            assert (step.loss, step.attributes) == (other.loss, other.attributes)
            one.learn(*step.measure(exact(question, step)))
            two.learn(*other.measure(10**6 - 3 * exact(question, step)))


@BOTH
def test_everything_is_rebuilt_from_the_readings(pricing):
    online, readings = Online(DOMAIN, pricing), []
    for question in some_ranges(100):
        ask(online, question, readings=readings)
    again = Online(DOMAIN, pricing, readings)
    for question in some_ranges(60, seed=9):
        for within in (30, 100):
            step, other = (x.decide(question, within=within, confidence=CONFIDENCE) for x in (online, again))
            assert (type(step), step.reach) == (type(other), other.reach)
        assert online.answer(question).value == again.answer(question).value


def read(online, attributes, noise, counts=None, levels=None):
    """A whole table, at its finest unless told."""
    table = COUNTS.sum(axis=tuple(a for a in range(3) if a not in attributes))
    levels = levels or tuple(len(radices(DOMAIN.sizes[a])) for a in attributes)
    noisy = noise.release(coarser(table, levels).reshape(-1)) if counts is None else counts
    online.learn(Reading(attributes=attributes, levels=levels, mask=None, noise=noise, counts=noisy))


@BOTH
@pytest.mark.parametrize("others", [{}, {(1, 2): 5.0, (0,): 60.0}])
def test_the_interval_of_bought_tables_holds(pricing, others):
    """1,000 times anew: 5 % miss, 50; that 100 do has a probability below 10⁻⁶ (7 deviations)."""
    question = CountingQuestion.where(DOMAIN, {0: [1, 2, 4], 1: range(1, 6)})
    wanted, missed, errors = truth(question), 0, []
    for _ in range(1000):
        online = Online(DOMAIN, pricing)
        for attributes, variance in {**others, (0, 1): 25.0}.items():
            read(online, attributes, pricing.single_noise(variance))
        read(online, (0, 1), pricing.single_noise(9.0), levels=(1, 1))
        found = online.answer(question)
        missed += wanted not in found.interval(CONFIDENCE)
        errors.append(found.value - wanted)
    assert missed <= 100
    assert missed >= 5  # it is not far too long either: below 10⁻⁶ if 3 % miss
    assert np.var(errors) == pytest.approx(found.spread.variance, rel=0.35)  # 7 deviations of 5 %
    assert abs(np.mean(errors)) <= 6 * np.sqrt(found.spread.variance / 1000)


@BOTH
def test_promised_errors_hold_over_a_whole_stream(pricing):
    """12 streams of 50: the mean share of misses, within 7 of its deviations."""
    shares = []
    for seed in range(12):
        online, misses = Online(DOMAIN, pricing), 0
        for question in some_ranges(50, seed=100 + seed):
            _, found = ask(online, question)
            misses += abs(found.value - truth(question)) > 100
        shares.append(misses / 50)
    assert np.mean(shares) <= 0.05 + 7 * max(np.std(shares), 0.05) / np.sqrt(12)


@BOTH
def test_a_question_picked_by_looking_at_answers_holds_if_its_family_was_named(pricing):
    """The analyst sees all 21 · 36 ranges of a table and picks the one that is off most: the worst there is.

    At 95 % for all at once, 300 times anew: that more than 40 miss has a probability below 10⁻⁶.
    """
    ranges = [
        CountingQuestion.where(DOMAIN, {0: range(a, b), 1: range(c, d)})
        for a in range(6)
        for b in range(a + 1, 7)
        for c in range(8)
        for d in range(c + 1, 9)
    ]
    family = len(ranges)
    masks = np.zeros((family, 6, 8))
    for i, question in enumerate(ranges):
        rows = np.broadcast_to(
            question.mask.reshape([DOMAIN.sizes[a] if a in question.attributes else 1 for a in (0, 1)]),
            (6, 8),
        )
        masks[i] = rows
    noise = pricing.single_noise(25.0)
    table = np.pad(COUNTS.sum(axis=2), [(0, 0), (0, 1)])  # eight values are nine, as three times three
    sizes = masks.reshape(family, 48)
    fixed = missed = 0
    for _ in range(300):
        counts = noise.release(table.reshape(-1))
        off = (counts.reshape(6, 9) - table)[:, :8].reshape(-1)
        worst = int(np.argmax(np.abs(sizes @ off) / np.sqrt(sizes.sum(axis=1))))
        online = Online(DOMAIN, pricing)
        read(online, (0, 1), noise, counts)
        found, wanted = online.answer(ranges[worst]), truth(ranges[worst])
        missed += wanted not in found.interval(CONFIDENCE, values=family)
        fixed += wanted not in found.interval(CONFIDENCE)
    assert missed <= 40
    assert fixed >= 200  # an interval for one question is not one for the worst of many


@BOTH
def test_drawn_noise_is_the_noise_that_was_paid_for(pricing):
    """The mean square of 6,000 draws is within 20 % of the variance: seven deviations of a Laplace draw's."""
    question = CountingQuestion.where(DOMAIN, {0: [1], 1: [2, 3]})
    step = Online(DOMAIN, pricing).decide(question, within=100, confidence=CONFIDENCE)
    variance = pricing.spread(step.noise).variance
    drawn = np.array([step.measure(0)[0].counts[0] for _ in range(6_000)], dtype=float)
    assert np.mean(drawn**2) == pytest.approx(variance, rel=0.2)


@BOTH
def test_every_table_of_a_purchase_has_its_noise(pricing):
    """Sums of squares over 300 purchases, within 8 deviations of a Laplace draw's."""
    online = Online(DOMAIN, pricing)
    step = next(s for s in (ask(online, q)[0] for q in some_ranges(200)) if isinstance(s, Buy))
    nothing = np.zeros(step.shape, dtype=np.int64)
    squares = {levels: [] for levels, _ in step.tables}
    for _ in range(300):
        for reading in step.measure(nothing):
            squares[reading.levels].extend((reading.counts.astype(float) ** 2).tolist())
    for levels, noise in step.tables:
        variance, drawn = pricing.spread(noise).variance, len(squares[levels])
        assert np.mean(squares[levels]) == pytest.approx(variance, rel=8 * np.sqrt(5 / drawn))


@BOTH
def test_a_table_answers_what_its_marginals_hold(pricing):
    online = Online(DOMAIN, pricing)
    read(online, (0, 1), pricing.single_noise(1.0))
    for allowed in ({0: [2]}, {1: [0, 5]}, {}, {0: [0, 1], 1: [3]}):
        question = CountingQuestion.where(DOMAIN, allowed)
        assert isinstance(ask(online, question)[0], FromCache)
        assert abs(online.answer(question).value - truth(question)) <= 100
    step = online.decide(CountingQuestion.where(DOMAIN, {2: [1]}), within=100, confidence=CONFIDENCE)
    assert not isinstance(step, FromCache)


@BOTH
def test_nobody_is_in_no_cell(pricing):
    online, nobody = Online(DOMAIN, pricing), CountingQuestion.where(DOMAIN, {0: []})
    step, found = ask(online, nobody)
    assert isinstance(step, FromCache)
    assert found.value == 0
    assert 0 in found.interval(CONFIDENCE)


@BOTH
def test_everyone_is_one_count(pricing):
    online, everyone = Online(DOMAIN, pricing), CountingQuestion.where(DOMAIN, {})
    step, found = ask(online, everyone)
    assert isinstance(step, Pay)
    assert abs(found.value - COUNTS.sum()) <= 1000  # 20 times the error: e⁻³⁰ for Laplace


@BOTH
def test_units_change_the_grid_and_nothing_else(pricing):
    unit = 2**10
    fine = Pricing(
        concentrated=pricing.concentrated,
        table=Sensitivity.histogram(Neighbours.ADD_REMOVE, max_rows=unit),
        single=Sensitivity.scalar(unit, Neighbours.ADD_REMOVE),
        unit=unit,
    )
    one, two = Online(DOMAIN, pricing), Online(DOMAIN, fine)
    for question in some_ranges(40):
        step, other = (x.decide(question, within=100, confidence=CONFIDENCE) for x in (one, two))
        assert type(step) is type(other)
        if not isinstance(step, FromCache):
            assert float(amount(step)) == pytest.approx(float(amount(other)), rel=0.05)  # half a grid step
            one.learn(*step.measure(exact(question, step)))
            two.learn(*other.measure(unit * exact(question, step)))
            assert abs(two.answer(question).value - truth(question)) <= 1000


@BOTH
@pytest.mark.parametrize("within", [0, -1, 0.5, None, "1", float("nan"), float("inf")])
def test_an_error_must_be_at_least_a_step_of_the_grid(pricing, within):
    with pytest.raises(InvalidInput):
        Online(DOMAIN, pricing).decide(
            CountingQuestion.where(DOMAIN, {0: [1]}), within=within, confidence=CONFIDENCE
        )


@BOTH
@pytest.mark.parametrize("within", [1, 2, 5])
def test_small_errors_hold_too(pricing, within):
    """Nearly no noise: 200 answers, of which 5 % may miss; that 35 do has a probability below 10⁻⁶."""
    question, missed = CountingQuestion.where(DOMAIN, {0: [1], 1: [2]}), 0
    for _ in range(200):
        step, found = ask(Online(DOMAIN, pricing), question, within=within)
        assert step.reach <= within * (1 + 1e-9)
        missed += abs(found.value - truth(question)) > within
    assert missed <= 35


@BOTH
def test_what_was_not_paid_for_has_no_answer(pricing):
    with pytest.raises(InvalidInput, match="determines"):
        Online(DOMAIN, pricing).answer(CountingQuestion.where(DOMAIN, {0: [1]}))


@BOTH
def test_a_purchase_needs_the_whole_table(pricing):
    online = Online(DOMAIN, pricing)
    step = next(s for s in (ask(online, q)[0] for q in some_ranges(200)) if isinstance(s, Buy))
    for wrong in (np.zeros(5, np.int64), np.zeros(step.shape), np.zeros((*step.shape[::-1], 1), np.int64)):
        with pytest.raises(InvalidInput, match="exact table"):
            step.measure(wrong)


@BOTH
@pytest.mark.parametrize("wrong", [1.5, True, "1", None])
def test_a_payment_needs_a_whole_number(pricing, wrong):
    step = Online(DOMAIN, pricing).decide(
        CountingQuestion.where(DOMAIN, {0: [1]}), within=9, confidence=CONFIDENCE
    )
    with pytest.raises(InvalidInput):
        step.measure(wrong)


def test_readings_of_another_currency_are_refused():
    readings = []
    ask(Online(DOMAIN, LAPLACE), CountingQuestion.where(DOMAIN, {0: [1]}), readings=readings)
    with pytest.raises(InvalidInput, match="currency"):
        Online(DOMAIN, GAUSSIAN, readings)
