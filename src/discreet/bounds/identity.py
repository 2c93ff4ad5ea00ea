"""The identity of a question: see `model.identity`."""

import json

from discreet.bounds.calibrate import Plan, QuestionMechanism
from discreet.bounds.facts import bounded_facts, parts_in_order
from discreet.model.identity import QUESTION, Facts, RelationFacts, identity_of, loss_facts
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import QuantileTree
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip


def question_identity(plan: Plan) -> str:
    """The same for two questions exactly if the same would be run, at the same price.

    Version 2 has the estimate of what is left out; what has none is known as before.
    """
    bounded, picks, order = plan.bounded, plan.bounded.query.picks, parts_in_order(plan.bounded)
    noise = [mechanism_facts(plan.mechanisms[i]) for i in order]
    return identity_of(
        "question",
        {
            **bounded_facts(bounded, order),
            "noise": noise,
            "price": loss_facts(plan.loss),
            "picks": None if picks is None else [picks.count, picks.aggregate.value],
            "named_by": None if bounded.selector is None else order.index(bounded.selector),
            "threshold": None if plan.threshold is None else plan.threshold.threshold,
        },
        version=2 if bounded.left_out_share else 1,
    )


def question_key(plan: Plan) -> str:
    """The key of a question in a ledger: all prices of one question have keys that begin alike."""
    return f"{question_at_any_price(plan)}{question_identity(plan).partition(':')[2]}"


def question_at_any_price(plan: Plan) -> str:
    """How the keys of a question begin, whatever it costs, and whatever limits are chosen for it.

    What begins alike is not always the same question: whoever uses it compares the whole key.
    """
    query = plan.bounded.query
    facts = RelationFacts(query.source)
    measures = [
        json.dumps(
            [
                each.aggregate.value,
                facts.expression(each.argument),
                facts.expression(each.condition),
                None if each.share is None else str(each.share),
            ]
        )
        for each in query.measures
    ]
    picks = query.picks
    asked: dict[str, Facts] = {
        "source": facts.source,
        "keys": [facts.key(key) for key in query.keys],
        "sets": [list(chosen) for chosen in query.sets],
        "measures": [*sorted(measures)],
        "picks": None if picks is None else [picks.count, picks.aggregate.value, picks.largest],
    }
    return f"{QUESTION}{identity_of('question', asked, version=3).partition(':')[2][:32]}:"


def mechanism_facts(mechanism: QuestionMechanism) -> Facts:
    """The noise. Together with the other facts it decides the price."""
    match mechanism:
        case DiscreteLaplace():
            return {"laplace": str(mechanism.scale)}
        case DiscreteGaussian():
            return {"gaussian": str(mechanism.sigma_squared)}
        case QuantileTree():
            return {"tree": mechanism_facts(mechanism.noise), "branching": mechanism.branching}
        case PermuteAndFlip():
            return {"permute_and_flip": str(mechanism.temperature)}
        case ExponentialMechanism():
            return {"exponential": str(mechanism.temperature)}
