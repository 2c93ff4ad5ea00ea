"""How large an answer can be, before anything is paid: from the types of its columns and from public keys."""

from collections.abc import Sequence
from typing import NamedTuple

from discreet.errors import QueryRefused
from discreet.model.expression import Call, Expression, Field, Literal
from discreet.model.policy import ValueType
from discreet.model.query import Query, group_count, key_field
from discreet.model.receipt import LARGEST_ANSWER

MOST_CELLS = 4_000_000
MOST_BYTES = 2**27
"""The most bytes of all texts: half of the largest answer that a ledger stores."""
_MOST_WORK = 100_000_000
"""The most numbers of all tables that are computed from noisy answers: half a minute or so."""

_LONGEST_JOINED = 4 * 4096
"""Joined texts are cut to 4,096 characters."""
_LONGEST_NUMBER = 64
_WIDER = 3
"""A text in upper or lower case can take so many times as many bytes."""


class AnswerSize(NamedTuple):
    """The most that an answer can have, if there is one group with private keys: nobody knows how many."""

    cells: int
    text_bytes: int
    work: int = 0
    """Numbers of all tables on the way from noisy answers."""


def size_of_answer(query: Query) -> AnswerSize:
    groups = 1 if query.private_keys else group_count(query)
    longest = {key_field(i): longest_key(key.values or ()) for i, key in enumerate(query.keys)}
    texts = [output.expression for output in query.outputs if output.expression.type is ValueType.TEXT]
    return AnswerSize(
        groups * len(query.outputs), groups * sum(longest_text(text, longest) for text in texts)
    )


def check_answer_size(query: Query) -> None:
    """Refuse what could be too large to store. The number of private keys is unknown, and not counted in."""
    check_sizes([size_of_answer(query)])


def check_sizes(answers: Sequence[AnswerSize]) -> None:
    """Refuse answers that could be too large together."""
    if sum(each.cells for each in answers) > MOST_CELLS:
        raise QueryRefused(
            f"That is an answer of more than {MOST_CELLS:,} numbers.",
            remedy="Ask for fewer columns, or for fewer groups.",
        )
    if sum(each.text_bytes for each in answers) > MOST_BYTES:
        raise QueryRefused(
            "The texts of the answer could take too much room.",
            remedy="Ask for the keys as they are, and for fewer or shorter texts beside them.",
        )
    if sum(each.work for each in answers) > _MOST_WORK:
        raise QueryRefused(
            "Too much is computed from noisy answers.",
            remedy="Use fewer windows and steps, or fewer groups; or ask in several questions.",
        )


def check_storable(most: int, remedy: str) -> None:
    """Refuse, before anything is charged, what could take more bytes than a ledger stores for one charge."""
    if most > LARGEST_ANSWER:
        raise QueryRefused(
            f"What would be drawn for this could take {most:,} bytes. A ledger stores at most"
            f" {LARGEST_ANSWER:,} of them for one charge.",
            remedy=remedy,
        )


def longest_key(values: tuple[object, ...]) -> int:
    """The most bytes of a key."""
    return max((len(value.encode()) for value in values if isinstance(value, str)), default=0)


def longest_text(text: Expression, keys: dict[str, int]) -> int:
    """The most bytes that a text can have."""
    match text:
        case Field(name=name):
            return keys.get(name, 0)
        case Literal(value=value):
            return len(value.encode()) if isinstance(value, str) else 0
        case Call(function=function, arguments=arguments):
            parts = [longest_text(each, keys) for each in arguments if each.type is ValueType.TEXT]
            if function == "concat":
                return min(_LONGEST_JOINED, sum(parts))
            if function == "replace":
                return min(_LONGEST_JOINED, parts[0] * (1 + parts[-1]))
            longest = max(parts, default=_LONGEST_NUMBER)
            return _WIDER * longest if function in ("upper", "lower") else longest
