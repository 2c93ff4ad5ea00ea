"""What a report would cost and how accurate each answer would be, before anything is spent."""

from dataclasses import replace

from discreet.answers.explanation import Explanation
from discreet.bounds.leaves import NoisyPlan
from discreet.bounds.report_plan import ReportPlan
from discreet.model.deadline import Deadline
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend, amount_of
from discreet.release.explain import explain, priced
from discreet.release.noisy.explain_noisy import explain_noisy


def explain_report(
    plan: ReportPlan, dataset: Dataset, deadline: Deadline, *, budget: Spend, left: Spend
) -> list[Explanation]:
    """What is said of each question, at the price of all."""
    found, questions = [], list(plan.questions())
    for question in questions:
        if isinstance(question, NoisyPlan):
            own = explain_noisy(
                question, dataset, deadline, budget=budget, left=left, questions=len(questions)
            )
        else:
            own = explain(question, dataset, budget=budget, left=left)
        part = float(amount_of(question.loss) / amount_of(plan.loss))
        whole = priced(own, plan.loss, dataset, budget=budget, left=left, way="", reach=0.0)
        shares = {name: share * part for name, share in own.shares.items()}
        found.append(replace(whole, errors=own.errors, shares=shares))
    return found
