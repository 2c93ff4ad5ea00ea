"""The functions over several noisy rows that a question may use: aggregates and windows, and no others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.definition import as_type
from discreet.model.expression import Expression, Literal
from discreet.model.noisy_table import WindowFrame
from discreet.model.policy import ValueType
from discreet.question.expressions.convert import constant

ReadNode: TypeAlias = Callable[[exp.Expression], Expression]
_MOST_ROWS_AWAY = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFunction:
    """A function of several rows, as it was asked for."""

    function: str
    arguments: tuple[Expression, ...]
    type: ValueType
    distinct: bool = False


_OF_NUMBERS: Mapping[type[exp.Expression], str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Median: "median",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
}
_OF_PAIRS: Mapping[type[exp.Expression], str] = {
    exp.Corr: "corr",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
}
_ENDS: Mapping[type[exp.Expression], str] = {exp.Min: "min", exp.Max: "max"}
_QUANTILES = (exp.Quantile, exp.PercentileCont, exp.ApproxQuantile)
_RANKS: Mapping[type[exp.Expression], tuple[str, ValueType]] = {
    exp.RowNumber: ("row_number", ValueType.INTEGER),
    exp.Rank: ("rank", ValueType.INTEGER),
    exp.DenseRank: ("dense_rank", ValueType.INTEGER),
    exp.PercentRank: ("percent_rank", ValueType.NUMBER),
    exp.CumeDist: ("cume_dist", ValueType.NUMBER),
}
_NEIGHBOURS: Mapping[type[exp.Expression], str] = {exp.Lag: "lag", exp.Lead: "lead"}
_OF_FRAMES: Mapping[type[exp.Expression], str] = {
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
}


def read_aggregate(node: exp.Expression, read: ReadNode) -> AskedFunction | None:
    """An aggregate over noisy rows; None if the node is something else."""
    kind = type(node)
    if isinstance(node, exp.Count):
        return _count(node, read)
    if kind in _OF_NUMBERS:
        return AskedFunction(
            function=_OF_NUMBERS[kind], arguments=(_number(node.this, read),), type=ValueType.NUMBER
        )
    if kind in _OF_PAIRS:
        pair = (_number(node.this, read), _number(node.expression, read))
        return AskedFunction(function=_OF_PAIRS[kind], arguments=pair, type=ValueType.NUMBER)
    if kind in _ENDS and not node.expressions:
        found = read(node.this)
        return AskedFunction(function=_ENDS[kind], arguments=(found,), type=found.type)
    if isinstance(node, _QUANTILES):
        arguments = (_number(node.this, read), _share(node.args.get("quantile") or node.expression))
        return AskedFunction(function="quantile_cont", arguments=arguments, type=ValueType.NUMBER)
    if isinstance(node, exp.CountIf):
        return AskedFunction(
            function="count_if", arguments=(_condition(node.this, read),), type=ValueType.INTEGER
        )
    if isinstance(node, exp.AggFunc | exp.WithinGroup | exp.IgnoreNulls):
        raise QueryRefused(
            f"{node.key.upper()} of noisy numbers cannot be asked.",
            remedy="Use count, sum, avg, min, max, median, quantile, stddev, variance or corr.",
        )
    return None


def read_window(node: exp.Expression, read: ReadNode) -> AskedFunction:
    """The function of a window."""
    kind = type(node)
    if kind in _RANKS:
        name, result = _RANKS[kind]
        return AskedFunction(function=name, arguments=(), type=result)
    if isinstance(node, exp.Ntile):
        return AskedFunction(
            function="ntile", arguments=(_whole(node.this, "ntile", 1),), type=ValueType.INTEGER
        )
    if kind in _NEIGHBOURS:
        return _neighbour(node, _NEIGHBOURS[kind], read)
    if kind in _OF_FRAMES:
        found = read(node.this)
        return AskedFunction(function=_OF_FRAMES[kind], arguments=(found,), type=found.type)
    if isinstance(node, exp.NthValue):
        found = read(node.this)
        arguments = (found, _whole(node.args.get("offset"), "nth_value", 1))
        return AskedFunction(function="nth_value", arguments=arguments, type=found.type)
    asked = None if isinstance(node, exp.IgnoreNulls) else read_aggregate(node, read)
    if asked is None or asked.distinct:
        raise QueryRefused(
            "This window function cannot be asked.",
            remedy="Use sum, avg, min, max, count, lag, lead, first_value, last_value, rank, dense_rank,"
            " row_number, ntile or percent_rank.",
        )
    return asked


def read_frame(spec: exp.Expression | None) -> WindowFrame | None:
    """ROWS BETWEEN … AND …"""
    if spec is None:
        return None
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude"):
        raise _frame()
    start = _end(spec.args.get("start"), spec.args.get("start_side"))
    end = _end(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    if kind == "RANGE" and {start, end} - {None, 0}:
        raise _frame()
    if start is not None and end is not None and start > end:
        raise _frame()
    return WindowFrame(rows=kind == "ROWS", start=start, end=end)


def _end(value: object, side: object) -> int | None:
    if isinstance(value, str) and value.upper() == "CURRENT ROW":
        return 0
    if isinstance(value, str) and value.upper() == "UNBOUNDED":
        return None
    if not isinstance(value, exp.Expression):
        raise _frame()
    rows = int(str(_whole(value, "A frame", 0).value))
    return -rows if str(side).upper() == "PRECEDING" else rows


def _frame() -> QueryRefused:
    return QueryRefused(
        "This frame of a window cannot be asked.",
        remedy="Write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or leave it out.",
    )


def _count(node: exp.Count, read: ReadNode) -> AskedFunction:
    inner = node.this
    if inner is None or isinstance(inner, exp.Star):
        return AskedFunction(function="count", arguments=(), type=ValueType.INTEGER)
    distinct = isinstance(inner, exp.Distinct)
    values = inner.expressions if isinstance(inner, exp.Distinct) else [inner, *node.expressions]
    if len(values) != 1:
        raise QueryRefused("count(…) takes one thing.", remedy="Count one column, or count(*).")
    return AskedFunction(
        function="count", arguments=(read(values[0]),), type=ValueType.INTEGER, distinct=distinct
    )


def _neighbour(node: exp.Expression, name: str, read: ReadNode) -> AskedFunction:
    found = read(node.this)
    away = node.args.get("offset")
    arguments: tuple[Expression, ...] = (
        found,
        Literal(value=1, type=ValueType.INTEGER) if away is None else _whole(away, name, 0),
    )
    if node.args.get("default") is not None:
        otherwise = as_type(read(node.args["default"]), found.type)
        if otherwise is None:
            raise QueryRefused(
                f"The default of {name} has another type than its value.", remedy="Write lag(n, 1, 0)."
            )
        arguments = (*arguments, otherwise)
    return AskedFunction(function=name, arguments=arguments, type=found.type)


def _number(node: exp.Expression | None, read: ReadNode) -> Expression:
    if node is None:
        raise QueryRefused("An aggregate is of nothing.", remedy="Write sum(n), or count(*).")
    found = as_type(read(node), ValueType.NUMBER)
    if found is None:
        raise QueryRefused(
            "An aggregate of noisy rows needs a number.", remedy="Use a column of numbers, or count(*)."
        )
    return found


def _condition(node: exp.Expression, read: ReadNode) -> Expression:
    found = read(node)
    if found.type is not ValueType.BOOLEAN:
        raise QueryRefused("count_if needs a condition.", remedy="Write count_if(n > 100).")
    return found


def _share(node: exp.Expression | None) -> Literal:
    found = constant(node) if isinstance(node, exp.Literal) else None
    share = None if found is None else as_type(found, ValueType.NUMBER)
    if isinstance(share, Literal) and isinstance(share.value, Fraction) and 0 <= share.value <= 1:
        return share
    raise QueryRefused("A quantile needs a share from 0 to 1.", remedy="Write quantile(n, 0.9).")


def _whole(node: exp.Expression | None, what: str, least: int) -> Literal:
    found = constant(node) if isinstance(node, exp.Literal) else None
    if found is not None and isinstance(found.value, int) and least <= found.value <= _MOST_ROWS_AWAY:
        return found
    raise QueryRefused(
        f"{what} needs a whole number there.",
        remedy=f"Write a number from {least} to {_MOST_ROWS_AWAY:,}.",
    )
