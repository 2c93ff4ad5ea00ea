"""A survey: what is asked, by which mechanism, at which ε. All that a device needs, as one text.

The text is JSON. A survey carries integer thresholds, so every device randomises alike and none computes
with real numbers; and whoever reads one checks, exactly, that they cost no more than the ε beside them.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import floor, isfinite
from typing import Any, Literal, TypeAlias, get_args

from discreet.errors import InvalidInput
from discreet.local.mechanisms.choice import best_for_options
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.mechanisms.mechanism import Categorical
from discreet.local.mechanisms.number import NumberResponse
from discreet.local.mechanisms.projective import ProjectiveResponse
from discreet.local.mechanisms.subset import SubsetSelection
from discreet.local.mechanisms.thresholds import epsilon_in_range, weight_of
from discreet.model.exact import Number, short, whole

FORMAT = 1
MOST_QUESTIONS = 200
LONGEST_TEXT = 2**20
DEFAULT_STEPS = 4096
MILLION = 10**6
"""Losses are whole millionths of ε: a decimal on every device, and a sum without rounding."""

Refresh: TypeAlias = Literal["never", "epoch"]
"""When a device randomises its answer anew: never, or once an epoch, at ε each time."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_CATEGORICAL: Mapping[str, Callable[..., Categorical]] = {
    cls.name: cls for cls in (SubsetSelection, ProjectiveResponse, HadamardResponse)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """A question with options: their texts, or only how many there are, numbered from 0."""

    name: str
    text: str
    options: tuple[str, ...] | int
    epsilon: Fraction
    refresh: Refresh = "never"
    mechanism: Categorical

    @classmethod
    def ask(
        cls,
        name: str,
        text: str,
        options: Sequence[str] | int,
        *,
        epsilon: Number,
        refresh: Refresh = "never",
    ) -> "OneOf":
        """With the mechanism that has the least error."""
        listed = options if isinstance(options, int) else tuple(options)
        best = best_for_options(epsilon_in_range(epsilon), _count(listed))
        return cls(
            name=name,
            text=text,
            options=listed,
            epsilon=epsilon_in_range(epsilon),
            refresh=refresh,
            mechanism=best,
        )

    def __post_init__(self) -> None:
        _check(self)
        if self.mechanism.answers != _count(self.options):
            raise _wrong(f"Question {self.name} has another number of options than its mechanism.")
        if not isinstance(self.options, int):
            if not all(isinstance(option, str) and option.strip() for option in self.options):
                raise _wrong(f"The options of question {self.name} must be texts, none empty.")
            if len(set(self.options)) < len(self.options):
                raise _wrong(f"Question {self.name} has the same option twice.")

    def level(self, answer: object) -> int:
        """Which answer this is: an option's text, or its number where options have no texts."""
        if isinstance(self.options, int):
            return whole(answer, f"The answer to {self.name}", 0, self.options - 1)
        if answer not in self.options:
            raise InvalidInput(
                f"That is not an option of question {self.name}.",
                remedy=f"Answer one of: {', '.join(self.options[:10])}.",
            )
        return self.options.index(str(answer))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberBetween:
    """A question for a number. It is rounded to one of `steps` + 1 evenly spaced ones."""

    name: str
    text: str
    lower: float
    upper: float
    epsilon: Fraction
    refresh: Refresh = "never"
    mechanism: NumberResponse

    @classmethod
    def ask(
        cls,
        name: str,
        text: str,
        lower: float,
        upper: float,
        *,
        epsilon: Number,
        steps: int = DEFAULT_STEPS,
        refresh: Refresh = "never",
    ) -> "NumberBetween":
        exact = epsilon_in_range(epsilon)
        best = NumberResponse.for_loss(exact, steps)
        return cls(
            name=name,
            text=text,
            lower=float(lower),
            upper=float(upper),
            epsilon=exact,
            refresh=refresh,
            mechanism=best,
        )

    def __post_init__(self) -> None:
        _check(self)
        if not (self.lower < self.upper and isfinite(self.upper - self.lower)):
            raise _wrong(f"The bounds of question {self.name} must be finite, the lower below the upper.")

    def level(self, answer: object) -> int:
        """The nearest of the evenly spaced numbers; beyond the bounds, the bound."""
        if isinstance(answer, bool) or not isinstance(answer, int | float) or answer != answer:
            raise InvalidInput(f"The answer to {self.name} must be a number.", remedy="Answer with a number.")
        steps = self.mechanism.steps
        clamped = min(max(float(answer), self.lower), self.upper)
        return min(floor((clamped - self.lower) / (self.upper - self.lower) * steps + 0.5), steps)

    def value(self, level: float) -> float:
        """The number at a level."""
        return self.lower + level / self.mechanism.steps * (self.upper - self.lower)


SurveyQuestion: TypeAlias = OneOf | NumberBetween


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Questions asked together, in one epoch, until a day."""

    name: str
    epoch: int
    expires: date
    questions: tuple[SurveyQuestion, ...]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise _wrong("A survey's name has lower-case letters, digits, _ and -, 40 at most.")
        whole(self.epoch, "epoch", 1, 10**6)
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            raise _wrong(f"A survey has from 1 to {MOST_QUESTIONS} questions.")
        if len({question.name for question in self.questions}) < len(self.questions):
            raise _wrong("Two questions have the same name.")

    @property
    def loss(self) -> Fraction:
        """ε of one who answers everything once: losses add up."""
        return sum((question.epsilon for question in self.questions), Fraction(0))

    def question(self, name: str) -> SurveyQuestion:
        for question in self.questions:
            if question.name == name:
                return question
        raise InvalidInput(
            f"The survey has no question {name[:40]!r}.",
            remedy=f"It asks: {', '.join(question.name for question in self.questions)}.",
        )

    def text(self) -> str:
        """What is signed, and what a device reads."""
        content = {
            "format": FORMAT,
            "name": self.name,
            "epoch": self.epoch,
            "expires": self.expires.isoformat(),
            "questions": [definition(question) for question in self.questions],
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    @property
    def digest(self) -> bytes:
        """16 bytes that stand for this text in every batch of reports."""
        return hashlib.sha256(self.text().encode()).digest()[:16]


def definition(question: SurveyQuestion) -> dict[str, Any]:
    """All that makes the question what it is, for JSON."""
    common = {"name": question.name, "text": question.text, "epsilon": _decimal(question.epsilon)}
    answers: dict[str, Any]
    if isinstance(question, OneOf):
        listed = question.options if isinstance(question.options, int) else list(question.options)
        answers = {"options": listed}
    else:
        answers = {"lower": question.lower, "upper": question.upper}
    how = {"refresh": question.refresh, "mechanism": question.mechanism.name, **question.mechanism.parameters}
    return {**common, **answers, **how}


def read_survey(text: str) -> Survey:
    """The survey that a text describes; refused unless every threshold keeps to its ε."""
    if len(text) > LONGEST_TEXT:
        raise _wrong("The survey is longer than a megabyte.")
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise _wrong("The survey has a format that this version does not know.")
        survey = Survey(
            name=content["name"],
            epoch=content["epoch"],
            expires=date.fromisoformat(content["expires"]),
            questions=tuple(_read_question(question) for question in content["questions"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise _wrong("The text is not a survey.") from None
    if survey.text() != text:
        raise _wrong("The survey says more than a survey has, or in another order.")
    return survey


def _read_question(fields: Mapping[str, Any]) -> SurveyQuestion:
    name, text, refresh = fields["name"], fields["text"], fields["refresh"]
    epsilon = epsilon_in_range(Fraction(fields["epsilon"]))
    common = {"name", "text", "epsilon", "refresh", "mechanism", "options", "lower", "upper"}
    parameters = {name: value for name, value in fields.items() if name not in common}
    if "options" in fields:
        listed = fields["options"]
        options = listed if isinstance(listed, int) else tuple(listed)
        mechanism = _CATEGORICAL[fields["mechanism"]](answers=_count(options), **parameters)
        return OneOf(
            name=name, text=text, options=options, epsilon=epsilon, refresh=refresh, mechanism=mechanism
        )
    if fields["mechanism"] != NumberResponse.name:
        raise _wrong(f"Question {name} has an unknown mechanism.")
    lower, upper = float(fields["lower"]), float(fields["upper"])
    number = NumberResponse(**parameters)
    return NumberBetween(
        name=name, text=text, lower=lower, upper=upper, epsilon=epsilon, refresh=refresh, mechanism=number
    )


def _check(question: SurveyQuestion) -> None:
    if not isinstance(question.name, str) or not _NAME.fullmatch(question.name):
        raise _wrong("A question's name has lower-case letters, digits, _ and -, 40 at most.")
    if not isinstance(question.text, str) or not 1 <= len(question.text.strip()) <= 1000:
        raise _wrong(f"Question {question.name} must have a text, of 1,000 characters at most.")
    if question.refresh not in get_args(Refresh):
        raise _wrong(f'Question {question.name} is refreshed "never", or once an "epoch".')
    if (question.epsilon * MILLION).denominator != 1:
        raise _wrong(f"The ε of question {question.name} must have at most six decimals.")
    if question.mechanism.odds > weight_of(question.epsilon):
        raise InvalidInput(
            f"Question {question.name} gives away more than its ε of {short(question.epsilon)}.",
            remedy="Do not answer it: its thresholds were not made by `discreet local new`.",
        )


def _count(options: Sequence[str] | int) -> int:
    return options if isinstance(options, int) else len(options)


def _decimal(epsilon: Fraction) -> str:
    whole_part, millionths = divmod(int(epsilon * MILLION), MILLION)
    return f"{whole_part}.{millionths:06}".rstrip("0").rstrip(".")


def _wrong(problem: str) -> InvalidInput:
    return InvalidInput(
        problem, remedy="Ask whoever runs the survey, or write it anew with `discreet local new`."
    )
