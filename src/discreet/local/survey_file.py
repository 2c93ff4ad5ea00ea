"""Reads a survey as its owner writes it: a small TOML file, from which the signed file is made."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import cast, get_args

from discreet.errors import InvalidInput
from discreet.local.survey import DEFAULT_STEPS, NumberBetween, OneOf, Refresh, Survey, SurveyQuestion
from discreet.model.declaration import nearest
from discreet.policy.toml_file import FileKind, Section, read_toml

SURVEY_SETTINGS = {
    "": ("name", "epoch", "expires", "questions"),
    "question": ("text", "options", "lower", "upper", "steps", "epsilon", "refresh"),
}
"""Every setting there is, by kind of section."""

_KIND = FileKind(
    name="survey",
    error=InvalidInput,
    if_missing="Begin with a template: discreet local new FILE --template",
    if_too_large="Where options have no texts of their own, give how many there are: options = 10000.",
)
_OPTIONS = 'options = ["no", "yes"], or options = 10000 if they are only numbered'


def read_survey_toml(path: Path) -> Survey:
    """The survey, with the best mechanism for each question."""
    root = read_toml(path, _KIND)
    root.allow_only(SURVEY_SETTINGS[""])
    asked = root.section("questions")
    questions = tuple(_question(name, asked.section(name)) for name in asked.values)
    name = root.text("name", 'name = "health"')
    epoch = root.count("epoch") if "epoch" in root.values else 1
    expires = _day(root)
    return root.checked("", lambda: Survey(name=name, epoch=epoch, expires=expires, questions=questions))


def _day(root: Section) -> date:
    example = f"expires = {date.today() + timedelta(days=90)}"
    value = root.required("expires", example)
    if isinstance(value, str):
        with suppress(ValueError):
            value = date.fromisoformat(value)
    if not isinstance(value, date) or isinstance(value, datetime):
        root.refuse("expires", "this must be a day.", f"Write {example}.")
    if value < date.today():
        root.refuse("expires", "this day is past: nobody could answer.", f"Write {example}.")
    return value


def _question(name: str, section: Section) -> SurveyQuestion:
    section.allow_only(SURVEY_SETTINGS["question"])
    text = section.text("text", 'text = "Do you smoke?"')
    if "options" in section.values:
        for setting in ("lower", "upper", "steps"):
            if setting in section.values:
                section.refuse(setting, "this is for a number, not for options.", f"Drop {setting}.")
        return _one_of(name, text, section)
    return _number(name, text, section)


def _one_of(name: str, text: str, section: Section) -> OneOf:
    value = section.values["options"]
    listed = isinstance(value, list) and value and all(isinstance(option, str) for option in value)
    if not listed and (isinstance(value, bool) or not isinstance(value, int)):
        section.refuse("options", "this must be a list of texts, or a whole number.", f"Write {_OPTIONS}.")
    options = cast(list[str] | int, value)
    epsilon, refresh = section.epsilon(), _refresh(section)
    return section.checked(
        "options", lambda: OneOf.ask(name, text, options, epsilon=epsilon, refresh=refresh)
    )


def _number(name: str, text: str, section: Section) -> NumberBetween:
    for setting in ("lower", "upper"):
        section.required(setting, f"lower and upper for a number, or {_OPTIONS}")
    lower, upper = _real(section, "lower"), _real(section, "upper")
    steps = section.count("steps") if "steps" in section.values else DEFAULT_STEPS
    epsilon, refresh = section.epsilon(), _refresh(section)
    return section.checked(
        "lower",
        lambda: NumberBetween.ask(name, text, lower, upper, epsilon=epsilon, steps=steps, refresh=refresh),
    )


def _real(section: Section, setting: str) -> float:
    value = section.values[setting]
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        section.refuse(setting, "this must be a number.", f"Write {setting} = 0.")
    try:
        return float(value)
    except OverflowError:
        section.refuse(setting, "this number is too large.", f"Write {setting} = 0.")


def _refresh(section: Section) -> Refresh:
    known: Mapping[str, Refresh] = {name: name for name in get_args(Refresh)}
    if "refresh" not in section.values:
        return "never"
    value = section.text("refresh", 'refresh = "never" or "epoch"')
    if value not in known:
        section.refuse("refresh", f"“{value}” is not when an answer is drawn anew.", nearest(value, known))
    return known[value]


def template() -> str:
    """A survey to begin with."""
    return f"""# A survey that needs no trust: every answer is randomised on the device of whoever gives it.
# Make the file for devices and collectors from it: discreet local new survey.toml

name = "health"
epoch = 1                          # raise it to ask again; each epoch is collected and estimated on its own
expires = {date.today() + timedelta(days=90)}               # devices and collectors refuse after this day

# The ε of a question is what answering it once gives away, at most. A device adds up what it answered.

[questions.smokes]
text = "Do you smoke?"
options = ["no", "yes"]
epsilon = 1.0
refresh = "never"                  # a device repeats its first report for ever; or "epoch": anew in each

[questions.town]
text = "Where do you live?"
options = 10000                    # numbered from 0: for lists that devices have anyway
epsilon = 2.0

[questions.sleep]
text = "How many hours do you sleep?"
lower = 0
upper = 24
epsilon = 1.0
"""
