"""Makes a survey's signed file, and shows what a survey asks and how well it will know the answers."""

import os
from pathlib import Path
from statistics import NormalDist

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.apps.views.escape import shown
from discreet.errors import InvalidInput
from discreet.local.signing import key_in, open_signed, sign
from discreet.local.survey import LONGEST_TEXT, OneOf, Survey, SurveyQuestion, read_survey
from discreet.local.survey_file import read_survey_toml, template
from discreet.model.exact import short

PEOPLE = (1_000, 10_000, 100_000)
_DEVIATIONS = NormalDist().inv_cdf(0.975)


def write_template(path: Path) -> None:
    _write_new(path, template(), 0o644)
    console().print(f"Wrote {path}. Edit it, and then run: discreet local new {path}", markup=False)


def make_survey(source: Path, *, output: Path, key_file: Path) -> None:
    """Sign what the TOML file asks. Neither a key nor another survey is ever overwritten."""
    survey = read_survey_toml(source)
    if output.exists() and not _is_of(output, survey):
        raise InvalidInput(
            f"{output} is another survey, or another file altogether, and is not overwritten.",
            remedy="Name another file with --output; whoever answered the old one may need it still.",
        )
    made = not key_file.exists()
    if made:
        _write_new(key_file, _fresh_key(), 0o600)
    signed = sign(survey, _read_key(key_file))
    if not output.exists():
        _write_new(output, signed, 0o644)
    view = console()
    show(view, survey)
    if made:
        view.print(f"Made the key {shown(str(key_file))}: keep it secret, and keep it.")
    view.print(f"Wrote {shown(str(output))}, for devices and collectors. Its public key:\n")
    view.print(f"  [bold]{key_in(signed)}[/]\n", soft_wrap=True)
    view.print(f"Next: discreet local collect {shown(str(output))} --key … --folder reports")


def open_survey(path: Path, key: str) -> tuple[Survey, str]:
    """The survey, once its signature is checked, and its file's text."""
    text = read_signed(path)
    return open_signed(text, key=key), text


def read_signed(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(2 * LONGEST_TEXT)
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(
            f"The survey {path} cannot be read.", remedy="Make one with `discreet local new`."
        ) from None


def show_survey(path: Path, key: str | None) -> None:
    """Show what a signed file asks. Without a key, its signature is not checked."""
    text = read_signed(path)
    view = console()
    if key is not None:
        show(view, open_signed(text, key=key))
        view.print("[green]✓[/] Signed by the key that you gave; no question gives away more than its ε.")
        return
    import json

    claimed = key_in(text)
    show(view, read_survey(json.loads(text)["survey"]))
    view.print(
        "[yellow]![/] Whoever wrote this file says it is signed by the key below. To check, give it as"
    )
    view.print("  --key, but from somebody you trust.\n")
    view.print(f"  {shown(claimed)}", soft_wrap=True)


def show(view: Console, survey: Survey) -> None:
    view.print(f"Survey [bold]{shown(survey.name)}[/], epoch {survey.epoch}, until {survey.expires}\n")
    table = Table(box=SIMPLE_HEAD)
    for column in ("question", "answers", "ε", "mechanism", "bytes"):
        table.add_column(column, justify="right" if column in ("ε", "bytes") else "left")
    for people in PEOPLE:
        table.add_column(f"± at {people:,}", justify="right")
    for question in survey.questions:
        table.add_row(
            shown(question.name),
            shown(_answers(question)),
            short(question.epsilon),
            question.mechanism.name,
            str(question.mechanism.size),
            *(_error_text(question, people) for people in PEOPLE),
        )
    view.print(table)
    view.print(f"Whoever answers all of it gives away ε = {short(survey.loss)} at most.")
    view.print("± is the error to expect with so many people: 95 % of estimates are within it.\n")


def expected_error(question: SurveyQuestion, people: int) -> float:
    """The half-width of the 95 % interval: of a share if all are equal, or of a mean in the middle."""
    if isinstance(question, OneOf):
        return float(_DEVIATIONS * (question.mechanism.mean_variance / people) ** 0.5)
    mechanism = question.mechanism
    middle = mechanism.mean_variance(type(question.epsilon)(mechanism.steps, 2))
    step = (question.upper - question.lower) / mechanism.steps
    return float(_DEVIATIONS * (float(middle) / people) ** 0.5 * step)


def console() -> Console:
    import sys

    return Console(highlight=False, width=None if sys.stdout.isatty() else 110)


def _answers(question: SurveyQuestion) -> str:
    if not isinstance(question, OneOf):
        return f"{question.lower:g} to {question.upper:g}"
    if isinstance(question.options, int):
        return f"{question.options:,} options"
    listed = ", ".join(question.options)
    return listed if len(listed) <= 24 else f"{len(question.options)} options"


def _error_text(question: SurveyQuestion, people: int) -> str:
    error = expected_error(question, people)
    return f"{100 * error:.2g} points" if isinstance(question, OneOf) else f"{error:.2g}"


def _is_of(path: Path, survey: Survey) -> bool:
    try:
        import json

        return bool(json.loads(read_signed(path))["survey"] == survey.text())
    except (ValueError, KeyError, TypeError):
        return False


def _fresh_key() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _read_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(
            f"{path} is not an Ed25519 key without a password, or cannot be read.",
            remedy="Name another with --signing-key; where there is no file, one is made.",
        )
    return key


def _write_new(path: Path, text: str, mode: int) -> None:
    """Write a file that must not exist yet, and flush it to the disk."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise InvalidInput(
            f"{path} is there already, and is not overwritten.", remedy="Name another file, or remove it."
        ) from None
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror}.",
            remedy="Name a file in a folder that you may write.",
        ) from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
