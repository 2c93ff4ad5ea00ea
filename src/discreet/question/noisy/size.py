"""How large the answer of a question over noisy answers can be, before anything is paid."""

from collections.abc import Iterator, Mapping

from discreet.model.expression import Expression, Field
from discreet.model.noisy_table import (
    AfterNoise,
    Grouped,
    Joined,
    LeafAnswer,
    NoisyTable,
    SelectFrom,
    Stacked,
    tables_within,
)
from discreet.model.policy import ValueType
from discreet.question.answer_size import AnswerSize, check_sizes, longest_key, longest_text

_NUMBERS_OF_A_WINDOW = 10
"""A window takes each row as long as so many numbers: a median over many rows takes 2 µs."""


def check_noisy_size(asked: AfterNoise) -> None:
    """Refuse what could be too large. How many private keys there are is unknown: they count as one."""
    for size in _sizes(asked):
        check_sizes([size])


def size_of_noisy_answer(asked: AfterNoise) -> AnswerSize:
    """The size of the last table."""
    return list(_sizes(asked))[-1]


def _sizes(asked: AfterNoise) -> Iterator[AnswerSize]:
    """Of each table, with the work of all up to it; those below others first."""
    longest: dict[str, int] = {}
    known: dict[int, int] = {}
    work = 0
    for table in tables_within(asked.table):
        longest |= _longest(table, asked, longest)
        rows = known[table.number] = _rows(table, asked, known)
        work += rows * len(table.columns)
        if isinstance(table, SelectFrom):  # LIMIT comes after its windows
            work += known[table.source.number] * len(table.windows) * _NUMBERS_OF_A_WINDOW
        texts = [column for column in table.columns if column.type is ValueType.TEXT]
        text_bytes = rows * sum(longest.get(column.name, 0) for column in texts)
        yield AnswerSize(rows * len(table.columns), text_bytes, work)


def _rows(table: NoisyTable, asked: AfterNoise, known: Mapping[int, int]) -> int:
    """The most rows of a table, if each leaf with private keys has one. Those below it are known."""
    match table:
        case LeafAnswer():
            return 1 if asked.leaves[table.leaf].private_keys else table.most_rows
        case SelectFrom():
            below = known[table.source.number]
            return below if table.limit is None else min(below, table.limit)
        case Grouped():
            return known[table.source.number] if table.keys else 1
        case Joined():
            return table.rows(known[table.left.number], known[table.right.number])
        case Stacked():
            return sum(known[branch.number] for branch in table.branches)


def _longest(table: NoisyTable, asked: AfterNoise, below: Mapping[str, int]) -> dict[str, int]:
    """The most bytes that the texts of each column can have."""

    def of(expression: Expression) -> int:
        return longest_text(expression, dict(below))

    match table:
        case LeafAnswer():
            keys = asked.leaves[table.leaf].keys
            return {
                field.name: longest_key(key.values or ()) for field, key in zip(table.keys, keys, strict=True)
            }
        case SelectFrom():
            windows = {each.field.name: max([0, *map(of, _texts(each.arguments))]) for each in table.windows}
            known = {**below, **windows}
            return windows | {
                made.name: longest_text(each, known) for made, each in table.named if _is_text(each)
            }
        case Grouped():
            found = {made.name: of(each) for made, each in table.keys if _is_text(each)}
            return found | {
                each.field.name: max([0, *map(of, _texts(each.arguments))]) for each in table.aggregates
            }
        case Stacked():
            return {
                made.name: max(of(branch[i]) for branch in table.converted)
                for i, made in enumerate(table.columns)
                if made.type is ValueType.TEXT
            }
    return {}


def _texts(arguments: tuple[Expression, ...]) -> list[Expression]:
    return [each for each in arguments if _is_text(each)]


def _is_text(expression: Expression | Field) -> bool:
    return expression.type is ValueType.TEXT
