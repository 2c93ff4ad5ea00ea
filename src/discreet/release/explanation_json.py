"""Explanations as JSON: for `explain` and `report --explain` with `--format json`, and for a service."""

from discreet.answers.explanation import Explanation
from discreet.answers.json_text import charge_json
from discreet.answers.report.report_explanation import ReportExplanation


def explanation_json(found: Explanation) -> dict[str, object]:
    """One object with all that can be said before anything is spent."""
    private = found.private_groups
    return {
        "cost": charge_json(found.loss),
        "epsilon": found.epsilon,
        "share_of_budget": found.share,
        "questions_left": found.questions_left,
        "groups": found.groups,
        "noise": found.noise,
        "weights": found.weights,
        "shares": found.shares,
        "confidence": found.confidence,
        "errors": [{"measure": e.measure, "each": e.each, "all": e.all, "of": e.of} for e in found.errors],
        "private_groups": None
        if private is None
        else {"people_for_even_chance": private.people, "chances": private.chances},
        "posterior_of_even_odds": found.posterior,
        "posterior_but_for_a_chance_of": found.posterior_chance,
        "alternatives": list(found.alternatives),
        "notes": list(found.notes),
        "way": found.way,
    }


def report_explanation_json(found: ReportExplanation) -> dict[str, object]:
    """The explanation of each question. The price in each is that of the whole report."""
    explained = zip(found.titles, found.questions, found, strict=True)
    return {
        "questions": [
            {"title": title, "sql": question.sql, "explanation": explanation_json(each)}
            for title, question, each in explained
        ]
    }
