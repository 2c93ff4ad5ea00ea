"""What a question can take on one row, whatever the row holds: time, and the texts that functions make of it.

DuckDB computes 2,048 rows at a time. It looks whether it should stop only between these, and keeps all texts
that are made of them until the next ones, beside its memory limit. So what is computed from one row has a
limit, from which follows how long it goes on after the time limit, and how much memory it takes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.errors import QueryRefused
from discreet.functions.texts import LONGEST_GROWN_TEXT, kept_of_replaced
from discreet.model.expression import Call, Expression, Literal
from discreet.model.policy import ValueType

MOST_STEPS_OF_A_ROW = 2**16
"""2,048 rows of this many steps take 2.7 seconds."""
MOST_TEXT_OF_A_ROW = 2**18
"""Characters: 2,048 rows of them are half a gigabyte, where a character is one byte."""

_STEPS = {
    "replace": 8_000,
    "lower": 2_600,
    "upper": 2_600,
    "contains": 1_700,
    "trim": 1_200,
    "substring": 800,
    "left": 300,
    "right": 300,
    "length": 200,
}
"""What a call takes on one row at most, in steps of about 20 ns, which is what most calls take. Measured on
texts of 4,096 characters, of the kind that takes longest."""
_STEPS_OF_A_PART = 1_000
"""Of each text that is joined with others."""
_STEPS_OF_A_SEARCH = 1_500
"""Of LIKE with a % that is not at the end."""
_STEPS_OF_A_SLOW_LETTER = 400
"""Of each letter after % in a pattern that has _ there: it is tried at every letter of the text."""
_STEPS_OF_READING = 100
"""Of a text as a number or date."""

_LONGEST_NUMBER = 64
"""Characters of anything else as a text."""
_MAKING = ("lower", "upper", "trim", "substring", "left", "right", "concat", "replace")


def steps_of(call: Call) -> int:
    """What a call takes on one row at most, without its arguments."""
    name = call.function
    if name == "like":
        return _steps_of_like(call.arguments[1])
    if name == "concat":
        return _STEPS_OF_A_PART * len(call.arguments)
    if name.startswith("cast_") and call.arguments[0].type is ValueType.TEXT:
        return _STEPS_OF_READING
    return _STEPS.get(name, max(1, len(call.arguments)))


def _steps_of_like(pattern: Expression) -> int:
    text = str(pattern.value) if isinstance(pattern, Literal) else ""
    before, wild, after = text.partition("%")
    if "_" in after:
        return _STEPS_OF_A_SEARCH + _STEPS_OF_A_SLOW_LETTER * len(after)
    return _STEPS_OF_A_SEARCH if wild and after else 1 + len(before)


def check_row(expressions: Iterable[Expression]) -> None:
    """Refuse what could take too long, or too much memory, on one row. What is written twice is computed
    once.
    """
    costs = _Costs()
    for expression in expressions:
        costs.add(expression)
    if costs.steps > MOST_STEPS_OF_A_ROW:
        raise QueryRefused(
            "The question computes too much from each row.",
            remedy="Compute less from texts, above all LIKE with _ after % and replace; or ask in several"
            " questions.",
        )
    if costs.text > MOST_TEXT_OF_A_ROW:
        raise QueryRefused(
            "The question makes too many texts of each row.",
            remedy="Use fewer text functions, or shorten texts first: left(x, 100); or ask in several"
            " questions.",
        )


@dataclass(slots=True)
class _Costs:
    """Of all different calls: databases compute what is the same once."""

    steps: int = 0
    text: int = 0
    _numbers: dict[object, int] = field(default_factory=dict)
    """Another number for everything that differs."""
    _longest: dict[int, int] = field(default_factory=dict)
    _met: dict[int, int] = field(default_factory=dict)
    """By identity, as names stand for the same tree again and again."""

    def add(self, node: Expression) -> int:
        """The number of a node; what it costs is added when it is new."""
        if id(node) in self._met:
            return self._met[id(node)]
        key: object = node
        arguments: list[int] = []
        if isinstance(node, Call):
            arguments = [self.add(argument) for argument in node.arguments]
            key = (node.function, tuple(arguments), node.type)
        number = self._numbers.setdefault(key, len(self._numbers))
        self._met[id(node)] = number
        if number not in self._longest:
            self._longest[number] = self._new(node, [self._longest[each] for each in arguments])
        return number

    def _new(self, node: Expression, parts: list[int]) -> int:
        """Counts a node that is new; the most characters that it has."""
        if isinstance(node, Literal):
            return len(node.value) if isinstance(node.value, str) else _LONGEST_NUMBER
        if not isinstance(node, Call):
            return LONGEST_GROWN_TEXT if node.type is ValueType.TEXT else _LONGEST_NUMBER
        self.steps += steps_of(node)
        if node.type is not ValueType.TEXT:
            return _LONGEST_NUMBER
        if node.function not in _MAKING:
            return max(parts, default=_LONGEST_NUMBER)  # one of its arguments, as CASE is, or a number
        made, longest = _made(node, parts)
        self.text += made
        return longest


def _made(call: Call, parts: list[int]) -> tuple[int, int]:
    """The characters that a call makes, also on the way, and those of its result."""
    cut = [min(part, LONGEST_GROWN_TEXT) for part in parts]
    match call.function:
        case "concat":
            made, joined = sum(cut), cut[0]
            for part in cut[1:]:
                made += joined + part
                joined = min(joined + part, LONGEST_GROWN_TEXT)
                made += joined
            return made, joined
        case "replace":
            old, new = parts[1:]
            kept = min(parts[0], kept_of_replaced(old, new))
            grown = kept if new <= old else kept * new // old + new
            longest = min(grown, LONGEST_GROWN_TEXT)
            return kept + grown + (longest if new > old else 0), longest
        case "left" | "right":
            longest = min(parts[0], _number(call.arguments[1]))
        case "substring" if len(parts) == 3:
            longest = min(parts[0], _number(call.arguments[2]))
        case _:
            longest = parts[0]
    return longest, longest


def _number(argument: Expression) -> int:
    """A position or a count, which is a constant."""
    value = argument.value if isinstance(argument, Literal) else None
    return value if isinstance(value, int) else LONGEST_GROWN_TEXT
