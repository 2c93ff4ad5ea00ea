"""Answers a survey for one device, and sends the randomised reports."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.apps.views.escape import shown
from discreet.apps.views.survey import console, open_survey
from discreet.errors import CollectorClosed, InvalidInput
from discreet.local.batch import read_batch
from discreet.local.client import Client, enrol
from discreet.local.device_store import FileStore
from discreet.local.survey import NumberBetween, Survey, SurveyQuestion
from discreet.model.exact import short

_TRIES, _SECONDS = 3, 15


def answer_survey(
    path: Path,
    key: str,
    answers: Sequence[str],
    *,
    memory: Path,
    limit: float | None,
    output: Path | None,
    to: str | None,
) -> None:
    survey, _ = open_survey(path, key)
    given = read_answers(survey, answers)
    store = FileStore(memory)
    if limit is not None:
        enrol(store, limit=limit)
    elif store.read() is None:
        raise InvalidInput(
            f"This device has no memory in {memory}: it would forget what it has given away.",
            remedy="If it never answered before, say what it may ever give away, such as --limit 5.",
        )
    client = Client(store)
    batch = client.report(survey, given)
    view = console()
    for place, reports in read_batch(batch, survey).reports.items():
        sent = " ".join(report.tobytes().hex() for report in reports)
        view.print(f"  {shown(survey.questions[place].name)}: what leaves this device is [bold]{sent}[/]")
    view.print(f"  This device has given away ε = {short(client.spent)} so far.")
    if output is not None:
        _keep(batch, output)
        view.print(f"Wrote the batch to {shown(str(output))}.")
    if to is not None:
        receipt = send(batch, to)
        again = ", which had it already" if receipt.get("repeated") else ""
        view.print(f"[green]✓[/] The collector took {receipt.get('accepted')}{again}.")


def read_answers(survey: Survey, answers: Sequence[str]) -> Mapping[str, object]:
    """From QUESTION=ANSWER, each question once."""
    found: dict[str, object] = {}
    for answer in answers:
        name, equals, value = answer.partition("=")
        if not equals or name in found:
            raise InvalidInput(
                "An answer is missing, or a question is answered twice.",
                remedy="Write QUESTION=ANSWER once for each question, such as smokes=no.",
            )
        found[name] = _value(survey.question(name), value)
    return found


def _value(question: SurveyQuestion, text: str) -> object:
    numbered = not isinstance(question, NumberBetween) and isinstance(question.options, int)
    if not numbered and not isinstance(question, NumberBetween):
        return text
    try:
        return int(text) if numbered else float(text)
    except ValueError:
        raise InvalidInput(
            f"The answer to {question.name} must be a number.", remedy=f"Write {question.name}=5."
        ) from None


def send(batch: bytes, to: str) -> Mapping[str, object]:
    """Send a batch; the collector's receipt. Without a reply the same batch is sent again: it counts once."""
    if not to.startswith(("http://", "https://")):
        raise InvalidInput("The address begins with neither http:// nor https://.", remedy="Give --to URL.")
    address = to.rstrip("/")
    address += "" if address.endswith("/reports") else "/reports"
    request = urllib.request.Request(  # noqa: S310  its scheme is checked above
        address, data=batch, headers={"Content-Type": "application/octet-stream"}, method="POST"
    )
    for attempt in range(_TRIES):
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
                receipt = _json_of(response.read(2**16))
            if receipt is not None:
                return receipt
            break
        except urllib.error.HTTPError as error:
            with error:
                told = _json_of(error.read(2**16)) or {}
            if error.code < 500:
                raise InvalidInput(
                    f"The collector refused: {str(told.get('problem', error.code))[:200]}",
                    remedy=str(told.get("remedy", "Check the address."))[:200],
                ) from None
        except (OSError, ValueError):
            pass
        time.sleep(0.5 * attempt)
    raise CollectorClosed(
        "The collector did not acknowledge the batch.",
        remedy="Check the address given with --to, and send later: the report stays the same.",
    )


def _json_of(body: bytes) -> Mapping[str, object] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _keep(batch: bytes, output: Path) -> None:
    try:
        with output.open("xb") as file:
            file.write(batch)
    except OSError as error:
        raise InvalidInput(
            f"{output} cannot be written: {error.strerror}.", remedy="Name a file that is not there yet."
        ) from None
