"""Private multiplicative weights: what it costs, that its error holds, and that it learns."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.synth.domain import Domain
from discreet.synth.online.pmw import PrivateMultiplicativeWeights, WeightSettings
from discreet.synth.online.question import Question

DOMAIN = Domain(sizes=(6, 5))
COUNT = Sensitivity.scalar(1, Neighbours.ADD_REMOVE)
CONFIDENCE = Fraction(95, 100)
TABLE = np.random.default_rng(3).multinomial(100_000, np.random.default_rng(4).dirichlet(np.full(30, 0.5)))
TABLE = TABLE.reshape(6, 5)


def questions(count, seed=1):
    chance = np.random.default_rng(seed)
    return [Question.about(DOMAIN, (0, 1), chance.random((6, 5)) < 0.4) for _ in range(count)]


def truth(question):
    others = tuple(a for a in range(2) if a not in question.attributes)
    return question.count(np.asarray(TABLE.sum(axis=others)))


def weights(charge, *, error=4000, rate=0.2):
    settings = WeightSettings.for_error(error, CONFIDENCE, COUNT, rate=rate)
    return PrivateMultiplicativeWeights(DOMAIN, settings, COUNT, charge, people=100_000), settings


def test_every_run_and_every_paid_answer_is_charged():
    charged = []
    learnt, settings = weights(charged.append)
    paid = [learnt.ask(question, truth(question)).paid for question in questions(300)]
    assert 0 < sum(paid) < 300
    runs = sum(paid) + (not paid[-1])
    test, direct = settings.test.loss(COUNT), settings.direct.loss(COUNT)
    assert sorted(loss.epsilon for loss in charged) == sorted(
        [test.epsilon] * runs + [direct.epsilon] * sum(paid)
    )
    assert learnt.updates == sum(paid)


def test_its_answers_hold_and_it_stops_paying():
    """Misses among 600: at most 5 % each; the tests of a run share a noise, so 20 % are allowed for.

    Of the later half 15 % are paid, with a deviation of 8.5 % between runs: 65 % is six of these.
    """
    learnt, _ = weights(lambda loss: None)
    answers = [(learnt.ask(question, truth(question)), truth(question)) for question in questions(600)]
    assert np.mean([abs(answer.value - exact) > 4000 for answer, exact in answers]) <= 0.2
    paid = [answer.paid for answer, _ in answers]
    assert np.mean(paid[300:]) < 0.65


def test_updates_stay_below_the_theorem():
    """At the theorem's rate, with errors large enough for it to say something."""
    learnt, settings = weights(lambda loss: None, error=20_000)
    gamma = settings.threshold / 100_000
    learnt, _ = weights(lambda loss: None, error=20_000, rate=gamma / 2)
    assert learnt.bound() == pytest.approx(4 * np.log(30) / gamma**2)
    for question in questions(4000):
        learnt.ask(question, truth(question))
    assert 0 < learnt.updates <= learnt.bound()


def test_what_the_budget_refuses_is_not_learnt():
    def refuse(_):
        raise BudgetExceeded("Nothing is left.", remedy="Ask less.")

    learnt, _ = weights(refuse)
    before = learnt.weights.copy()
    for question in questions(5):
        with pytest.raises(BudgetExceeded):
            learnt.ask(question, truth(question))
    assert (learnt.weights == before).all()


def test_an_answer_that_cannot_be_paid_ends_its_run():
    """The test said above; what comes next needs a run of its own, which is charged."""
    charged = []

    def only_tests(loss):
        charged.append(loss)
        if len(charged) == 2:
            raise BudgetExceeded("Nothing is left.", remedy="Ask less.")

    learnt, settings = weights(only_tests)
    learnt.weights = np.zeros((6, 5))
    learnt.weights[0, 0] = 1.0  # far off
    far = Question.where(DOMAIN, {0: [0], 1: [0]})
    with pytest.raises(BudgetExceeded):
        learnt.ask(far, truth(far))
    learnt.ask(far, truth(far))
    assert charged[2] == settings.test.loss(COUNT)
    assert learnt.updates == 1


def test_weights_stay_a_law_and_move_towards_the_data():
    learnt, _ = weights(lambda loss: None)

    def distance():
        return np.abs(learnt.weights - TABLE / TABLE.sum()).sum() / 2

    before = distance()
    for question in questions(600):
        learnt.ask(question, truth(question))
    assert learnt.weights.sum() == pytest.approx(1)
    assert distance() < before / 2


def test_a_domain_that_is_too_large_is_refused():
    settings = WeightSettings.for_error(100, CONFIDENCE, COUNT, rate=0.1)
    with pytest.raises(InvalidInput, match="too many"):
        PrivateMultiplicativeWeights(
            Domain(sizes=(10_000, 10_000)), settings, COUNT, lambda loss: None, people=10
        )


@pytest.mark.parametrize("wrong", [{"error": 1}, {"rate": 0}, {"share": 1}, {"rate": float("nan")}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidInput):
        WeightSettings.for_error(
            wrong.pop("error", 100), CONFIDENCE, COUNT, **{"rate": 0.1, "share": 0.5, **wrong}
        )


def test_a_test_lets_no_large_error_pass_too_often():
    """An error beyond the bound passes in 5 % of runs at most: of 4,000, 280 at 10⁻⁸."""
    settings = WeightSettings.for_error(400, CONFIDENCE, COUNT, rate=0.1)
    passed = sum(not settings.test.start(settings.threshold).above(401) for _ in range(4_000))
    assert passed <= 280
    assert passed >= 100  # and it is not far too careful
