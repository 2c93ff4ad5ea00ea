"""What a question can cost on one row, whatever the row holds: time, and memory for the texts that it makes.

DuckDB computes 2,048 rows at a time. Only between such batches it checks whether it should stop. It keeps all
texts that a batch makes until the next one, and does not count them towards its memory limit. So the cost of
one row is limited. This bounds how long a question goes on after the time limit, and its memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.dialects.dialect import FEW_CALLS, LONGEST_PARSED
from discreet.errors import QueryRefused
from discreet.functions.definition import constant_moment
from discreet.functions.texts import LONGEST_GROWN_TEXT, LONGEST_PATTERN, kept_of_replaced
from discreet.model.expression import Call, Expression, Literal, size_of
from discreet.model.policy import ValueType

MOST_STEPS_OF_A_ROW = 2**16
"""2,048 rows of this many steps take 2.7 seconds."""
MOST_TEXT_OF_A_ROW = 2**18
"""Characters: 2,048 rows of them are half a gigabyte, where a character is one byte."""

USUAL_CELL = 256
"""Characters that a cell is taken to have where the cost of one person's rows is counted. Longer cells take
longer, in proportion. Texts of the question itself are counted in full."""

_STEPS = {
    "replace": 8_000,
    "lower": 2_600,
    "upper": 2_600,
    "trim": 2_000,
    "ltrim": 2_000,
    "rtrim": 2_600,
    "split_part": 3_300,
    "substring": 1_100,
    "left": 300,
    "right": 600,
    "length": 500,
    "starts_with": 300,
    "ends_with": 600,
}
"""What a call takes on a text of 4,096 characters at most, in steps of about 20 ns. Most calls take one step.
Measured on DuckDB, on the kind of texts that takes longest."""
_STEPS_ELSEWHERE = {"lower": 20_000, "upper": 20_000, "starts_with": 2_700, "left": 1_200}
"""The same where another database takes far longer: letters beyond ASCII in PostgreSQL."""
_STEPS_OF_NUMBERS_ELSEWHERE = {
    "power": 192,
    **dict.fromkeys(("+", "-", "*", "/", "%", "round", "log10"), 32),
    **dict.fromkeys(("exp", "sqrt"), 20),
    **dict.fromkeys(("floor", "ceil", "abs", "sign", "negate", "ln"), 12),
    **dict.fromkeys(("nullif", "least", "greatest", "date_diff", "add_days", "date_trunc"), 28),
    **dict.fromkeys(("add_months", "add_seconds"), 28),
    **dict.fromkeys(("year", "quarter", "month", "week", "day", "dayofweek", "dayofyear"), 8),
    **dict.fromkeys(("hour", "minute", "second"), 8),
    "cast_integer": 80,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "between"), 3),
}
"""Of a call on numbers and dates, where PostgreSQL takes far longer than a step: it names values by
subqueries, to see that they are finite."""
_STEPS_OF_A_PART = 1_000
"""Of each text that is joined with others."""
_STEPS_OF_A_SEARCH = {"contains": 1_700, "position": 1_700, "like": 1_500}
"""Of contains and position, and of LIKE with a % that is not at the end."""
_STEPS_OF_A_LETTER = 80
"""Of each letter after the first 16 of what is searched for, as some databases try it at every place."""
_FIRST_LETTERS = 16
_STEPS_OF_A_SLOW_LETTER = 400
"""Of each letter after % in a pattern that has _ there: it is tried at every letter of the text."""
_STEPS_OF_READING = 180
"""Of a text as something else: its shape, or the case of its first letters."""
_STEPS_OF_READING_ELSEWHERE = 720
_STEPS_OF_DIGITS = 200
"""The same of a number that is as long as may be, besides."""
_FEW_MEMBERS = 16
"""So many members of a list take one step: databases look them up."""

_NAMED = ("between", "in", "split_part")
_STEPS_OF_A_NAME = 28
"""Of naming what the database would repeat, where that is a subquery."""

_COPIES = {"least": 3, "greatest": 3, "nullif": 2, "between": 2}
_COPIES_OF_A_CAST = 8
"""How often an argument may be written. Some databases compute it as often."""

_LONGEST_NUMBER = 64
"""Characters of a value of another type, written as a text."""
_MAKING = (
    "lower",
    "upper",
    "trim",
    "ltrim",
    "rtrim",
    "split_part",
    "substring",
    "left",
    "right",
    "concat",
    "replace",
)


def steps_in(expressions: Iterable[Expression], cell: int = USUAL_CELL, *, everywhere: bool = True) -> int:
    """How many steps these take on one row, all together, if a cell has so many characters: on the slowest
    database, or on DuckDB.
    """
    measured: dict[int, tuple[int, int]] = {}

    def measure(node: Expression) -> tuple[int, int]:
        if not isinstance(node, Call):
            return 0, _longest_of_leaf(node, cell)
        if id(node) not in measured:
            parts = [measure(argument) for argument in node.arguments]
            lengths = [length for _, length in parts]
            below = _copies(node) * sum(steps for steps, _ in parts)
            own = _steps_of(node, lengths, everywhere=everywhere) + _steps_of_names(node) * everywhere
            measured[id(node)] = own + below, _longest_of_call(node, lengths)[1]
        return measured[id(node)]

    return sum(measure(expression)[0] for expression in expressions)


def _steps_of(call: Call, lengths: list[int], *, everywhere: bool) -> int:
    """What a call takes on one row at most, without its arguments."""
    name, length = call.function, min(lengths[0], LONGEST_GROWN_TEXT) if lengths else 0
    if name in ("like", "contains", "position"):
        return (
            1
            + _runs_of_letters(call)
            + _of_whole_text(call, everywhere=everywhere) * length // LONGEST_GROWN_TEXT
        )
    if name == "concat":
        joined = min(sum(lengths), LONGEST_GROWN_TEXT)
        return len(lengths) * (1 + _STEPS_OF_A_PART * joined // LONGEST_GROWN_TEXT)
    if name.startswith("cast_") and call.arguments[0].type is ValueType.TEXT:
        if constant_moment(call.arguments[0], call.type) is not None:
            return 1
        digits = min(length, LONGEST_PARSED) if name == "cast_number" else 0
        reading = _STEPS_OF_READING_ELSEWHERE if everywhere else _STEPS_OF_READING
        return reading + _STEPS_OF_DIGITS * digits // LONGEST_PARSED
    if name == "in":
        return 2 + len(lengths) // _FEW_MEMBERS
    if name in _STEPS:
        slowest = _STEPS_ELSEWHERE if everywhere else _STEPS
        return 1 + slowest.get(name, _STEPS[name]) * length // LONGEST_GROWN_TEXT
    each = _STEPS_OF_NUMBERS_ELSEWHERE.get(name, 1) if everywhere else 1
    return each * max(1, len(lengths) - 1) if each > 1 else max(1, len(lengths))


def _steps_of_names(call: Call) -> int:
    is_named = any(size_of(argument).calls > FEW_CALLS for argument in call.arguments)
    return _STEPS_OF_A_NAME if call.function in _NAMED and is_named else 0


def _of_whole_text(call: Call, *, everywhere: bool) -> int:
    """What searching a text of full length takes."""
    sought = call.arguments[1]
    text = str(sought.value) if isinstance(sought, Literal) else "?" * LONGEST_PATTERN
    after = text
    if call.function == "like":
        _, wild, after = text.partition("%")
        if not (wild and after):
            return 1 + len(text)
        if "_" in after:
            return _STEPS_OF_A_SEARCH["like"] + _STEPS_OF_A_SLOW_LETTER * len(after)
    letters = max(0, len(after) - _FIRST_LETTERS) if everywhere else 0
    return _STEPS_OF_A_SEARCH[call.function] + _STEPS_OF_A_LETTER * letters


def _copies(call: Call) -> int:
    if call.arguments[0].type is not ValueType.TEXT:
        return 1
    if call.function == "like":
        return 1 + len(_pattern(call).split("%")) + _runs_of_letters(call)
    return _COPIES_OF_A_CAST if call.function.startswith("cast_") else _COPIES.get(call.function, 1)


def _runs_of_letters(call: Call) -> int:
    """How many parts the beginning and the end of a pattern have between _. Each is looked at by itself."""
    first, *others = _pattern(call).split("%")
    return sum(len([run for run in part.split("_") if run]) for part in (first, *others[-1:]))


def _pattern(call: Call) -> str:
    return str(getattr(call.arguments[1], "value", "")) if call.function == "like" else ""


def _longest_of_leaf(leaf: Expression, cell: int) -> int:
    if isinstance(leaf, Literal):
        return len(leaf.value) if isinstance(leaf.value, str) else _LONGEST_NUMBER
    return cell if leaf.type is ValueType.TEXT else _LONGEST_NUMBER


def check_row(expressions: Iterable[Expression]) -> None:
    """Refuse what could take too long, or too much memory, on one row. Equal calls are computed once."""
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
    """The cost of all different calls: databases compute equal ones once."""

    steps: int = 0
    text: int = 0
    _numbers: dict[object, int] = field(default_factory=dict)
    """A number for each different node."""
    _longest: dict[int, int] = field(default_factory=dict)
    _met: dict[int, int] = field(default_factory=dict)
    """These numbers by identity: a name stands for the same tree wherever it is used."""

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
        if not isinstance(node, Call):
            return _longest_of_leaf(node, LONGEST_GROWN_TEXT)
        self.steps += _steps_of(node, parts, everywhere=False)
        made, longest = _longest_of_call(node, parts)
        self.text += made
        return longest


def _longest_of_call(call: Call, parts: list[int]) -> tuple[int, int]:
    """The characters of all texts that a call makes, and of its result."""
    if call.type is not ValueType.TEXT:
        return 0, _LONGEST_NUMBER
    if call.function not in _MAKING:
        return 0, max(parts, default=_LONGEST_NUMBER)  # one of its arguments, as CASE is, or a number
    return _made(call, parts)


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
