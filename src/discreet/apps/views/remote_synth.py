"""`discreet synth` of a service: rows come from there, and files are written here."""

from collections.abc import Mapping
from typing import Any

from discreet.answers.answer import Answer
from discreet.answers.frames import write_file
from discreet.answers.json_reading import read_charge
from discreet.apps.views.synth import SynthRequest, check_files, show_explanation, show_made, show_warning
from discreet.client.remote_curator import RemoteCurator
from discreet.errors import InvalidInput
from discreet.synth.plan.explain import ExplainedStage, SynthesisExplanation
from discreet.synth.plan.synthetic_table import checked_output


def make_remotely(
    request: SynthRequest, remote: RemoteCurator, *, purpose: str, only_explain: bool, as_json: bool
) -> None:
    """Explain, or pay and write."""
    _check_options(request)
    if not only_explain:
        check_files(request)
    private = [table.name for table in remote.tables if not table.public]
    question = request.question(private)
    found = _explanation(remote.explain_synthesis(**question))
    if only_explain:
        show_explanation(found, as_json=as_json)
        return
    if not as_json:
        show_warning(found)
    made = remote.synthesize(**question, rows=request.rows, purpose=purpose)
    _write(made, request)
    show_made(made, request, made.left, rows=len(made), as_json=as_json)


def _check_options(request: SynthRequest) -> None:
    if request.report is not None or request.check_epsilon is not None:
        raise InvalidInput(
            "A service gives rows, and no report about them.",
            remedy="Leave --report and --check-epsilon out.",
        )


def _write(made: Answer, request: SynthRequest) -> None:
    if request.output is not None:
        write_file(made.released, checked_output(request.output))


def _explanation(found: Mapping[str, Any]) -> SynthesisExplanation:
    return SynthesisExplanation(
        loss=read_charge(found["cost"]),
        epsilon=found["epsilon"],
        share=found["share"],
        cells=found["cells"],
        form=found["form"],
        stages=tuple(
            ExplainedStage(
                order=stage["columns"],
                tables=stage["tables"],
                error=stage["error"],
                shares=tuple(stage["moved"].values()),
            )
            for stage in found["stages"]
        ),
        questions=found["questions"],
        question_error=found["question_error"],
    )
