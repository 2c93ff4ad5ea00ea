"""How long the client in JavaScript takes for one report, in Node, with the system's randomness."""

import json
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from timing import Figure, at_most, for_information, judge, show

from discreet.local.survey import NumberBetween, OneOf, SurveyQuestion, definition

MICROSECONDS = 20
ROUNDS, REPORTS = 7, 5000
OPTIONS = [(2, 1), (16, 1), (100, 1), (256, 0.5), (10_000, 0.5), (10_000, 1), (10_000, 4), (1_000_000, 1)]
SCRIPT = Path(__file__).with_suffix(".mjs")


def questions() -> dict[str, SurveyQuestion]:
    asked = {f"{k:,} options, ε = {e}": OneOf.ask("q", "?", k, epsilon=e) for k, e in OPTIONS}
    return asked | {f"number, ε = {e}": NumberBetween.ask("q", "?", 0, 1, epsilon=e) for e in (0.5, 1, 4)}


def measured(node: str, asked: dict[str, SurveyQuestion]) -> dict[str, float]:
    """Microseconds a report, question by question."""
    content = {
        "module": f"file://{files('discreet.local')}/browser/discreet-local.js",
        "questions": [(definition(question), question.mechanism.answers) for question in asked.values()],
        "rounds": ROUNDS,
        "reports": REPORTS,
    }
    done = subprocess.run(
        [node, SCRIPT], input=json.dumps(content), check=True, capture_output=True, text=True
    )
    return dict(zip(asked, json.loads(done.stdout), strict=True))


def figures() -> list[Figure]:
    node = shutil.which("node")
    if node is None:
        return [for_information("local report in JavaScript", "Node is not installed")]
    asked = questions()
    found = measured(node, asked)
    rows = [[name, asked[name].mechanism.name, f"{found[name]:.2f}"] for name in asked]
    show("One report in JavaScript: best of rounds", ("question", "mechanism", "µs"), rows)
    target = "10,000 options, ε = 1"
    return [
        at_most(f"report in JavaScript, {target}", found[target], MICROSECONDS, " µs"),
        at_most("report in JavaScript, the slowest of these", max(found.values()), MICROSECONDS, " µs"),
    ]


if __name__ == "__main__":
    sys.exit(judge(figures()))
