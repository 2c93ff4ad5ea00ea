"""From sqlglot's nodes to calls of allow-listed functions; a node without an entry here is refused."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.registry import build_call, build_literal
from discreet.model.expression import Expression, Literal
from discreet.question.mistakes.instead import instead_of, typed_name
from discreet.question.spelling.functions import NAMED, SPELLINGS

Leaf = Callable[[exp.Expression], Expression | None]
"""What stands for a node in its context, such as a column; None to go on with the node's own meaning."""

_SIMPLE: dict[type[exp.Expression], tuple[str, tuple[str, ...]]] = {
    exp.Mul: ("*", ("this", "expression")),
    exp.Div: ("/", ("this", "expression")),
    exp.Mod: ("%", ("this", "expression")),
    exp.Neg: ("negate", ("this",)),
    exp.Abs: ("abs", ("this",)),
    exp.Sign: ("sign", ("this",)),
    exp.Sqrt: ("sqrt", ("this",)),
    exp.Ln: ("ln", ("this",)),
    exp.Exp: ("exp", ("this",)),
    exp.Floor: ("floor", ("this",)),
    exp.Ceil: ("ceil", ("this",)),
    exp.Pow: ("power", ("this", "expression")),
    exp.EQ: ("=", ("this", "expression")),
    exp.NEQ: ("<>", ("this", "expression")),
    exp.LT: ("<", ("this", "expression")),
    exp.LTE: ("<=", ("this", "expression")),
    exp.GT: (">", ("this", "expression")),
    exp.GTE: (">=", ("this", "expression")),
    exp.NullSafeNEQ: ("is_distinct_from", ("this", "expression")),
    exp.NullSafeEQ: ("is_not_distinct_from", ("this", "expression")),
    exp.Between: ("between", ("this", "low", "high")),
    exp.Not: ("not", ("this",)),
    exp.Nullif: ("nullif", ("this", "expression")),
    exp.Lower: ("lower", ("this",)),
    exp.Upper: ("upper", ("this",)),
    exp.Length: ("length", ("this",)),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Left: ("left", ("this", "expression")),
    exp.Right: ("right", ("this", "expression")),
    exp.DPipe: ("concat", ("this", "expression")),
    exp.StartsWith: ("starts_with", ("this", "expression")),
    exp.EndsWith: ("ends_with", ("this", "expression")),
    exp.Contains: ("contains", ("this", "expression")),
    exp.Year: ("year", ("this",)),
    exp.Quarter: ("quarter", ("this",)),
    exp.Month: ("month", ("this",)),
    exp.Day: ("day", ("this",)),
    exp.DayOfWeek: ("dayofweek", ("this",)),
    exp.DayOfWeekIso: ("dayofweek", ("this",)),
    exp.Hour: ("hour", ("this",)),
    exp.Minute: ("minute", ("this",)),
    exp.Second: ("second", ("this",)),
    exp.Week: ("week", ("this",)),
    exp.WeekOfYear: ("week", ("this",)),
    exp.DayOfYear: ("dayofyear", ("this",)),
    exp.DayOfMonth: ("day", ("this",)),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
}
_LONGEST_NUMBER = 1_000
"""Characters. No double needs more."""
_IGNORED = {"big_int", "typed", "safe", "copy", "default", "is_left", "coerce", "null"}
_CASTS = {
    "integer": (exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT),
    "number": (exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL),
    "text": (exp.DType.TEXT, exp.DType.VARCHAR),
    "boolean": (exp.DType.BOOLEAN,),
    "date": (exp.DType.DATE,),
    "timestamp": (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME),
}


def convert(node: exp.Expression | None, leaf: Leaf) -> Expression:
    """The node as our own expression. `leaf` says what a node stands for in this context."""
    if node is None:
        raise QueryRefused(
            "Something is missing in the question, such as what a function is of.",
            remedy="Check what stands between commas and in brackets: quantile(cost, 0.9).",
        )
    found = leaf(node)
    if found is not None:
        return found
    if isinstance(node, exp.Paren):
        return convert(node.this, leaf)
    if isinstance(node, exp.And | exp.Or):
        return build_call(node.key, tuple(convert(part, leaf) for part in _chain(node)))
    if type(node) in _SIMPLE:
        name, parts = _SIMPLE[type(node)]
        _check_parts(node, parts)
        return build_call(
            name, tuple(convert(node.args[part], leaf) for part in parts if node.args.get(part))
        )
    if type(node) in SPELLINGS:
        spelling, parts = SPELLINGS[type(node)]
        _check_parts(node, parts)
        return spelling(node, lambda part: convert(part, leaf))
    match node:
        case exp.Literal() | exp.Boolean() | exp.Null():
            return constant(node)
        case exp.Is():
            return _is(node, leaf)
        case exp.In():
            return _in(node, leaf)
        case exp.Case():
            return _case(node, leaf)
        case exp.Coalesce():
            return build_call("coalesce", tuple(convert(n, leaf) for n in (node.this, *node.expressions)))
        case exp.Least() | exp.Greatest():
            name = "least" if isinstance(node, exp.Least) else "greatest"
            return build_call(name, tuple(convert(n, leaf) for n in (node.this, *node.expressions)))
        case exp.Cast() | exp.TryCast():
            return _cast(node, leaf)
        case exp.Anonymous(expressions=arguments) if node.name.lower() in NAMED:
            named, count = NAMED[node.name.lower()]
            if len(arguments) == count:
                return named(arguments, lambda part: convert(part, leaf))
            raise QueryRefused(
                f"{node.name} was given {len(arguments)} arguments.", remedy=f"Give it {count}."
            )
    raise refused(node)


def _chain(node: exp.And | exp.Or) -> list[exp.Expression]:
    """What is joined by AND, or by OR, however it is bracketed: a list as long as the chain, not as deep."""
    parts: list[exp.Expression] = []
    waiting: list[exp.Expression] = [node]
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            _check_parts(part, ("this", "expression"))
            waiting += [part.expression, part.this]
        elif isinstance(part, exp.Paren) and isinstance(part.this, type(node) | exp.Paren):
            waiting.append(part.this)
        else:
            parts.append(part)
    return parts


def constant(node: exp.Expression) -> Literal:
    """A literal, re-read by us: what sqlglot made of its text is checked again."""
    if isinstance(node, exp.Null):
        return build_literal(None)
    if isinstance(node, exp.Boolean):
        return build_literal(bool(node.this))
    if node.args.get("is_string"):
        return build_literal(str(node.this))
    text = str(node.this)
    try:
        if len(text) > _LONGEST_NUMBER:
            raise ValueError("Python writes no integers of so many digits")
        return build_literal(int(text) if text.isdigit() else Decimal(text))
    except (ValueError, InvalidOperation):
        raise QueryRefused(
            "A number in the question cannot be read.", remedy="Write it plainly: 12.5"
        ) from None


_OTHER_PEOPLE = (
    "Rows are chosen by their own values. Compare with a number, or join on the person:"
    " JOIN (SELECT person FROM … GROUP BY person) USING (person)."
)
_INSTEAD: dict[type[exp.Expression], tuple[str, str]] = {
    exp.Window: ("A window function", "It looks at other rows; use GROUP BY, and ORDER BY on noisy values."),
    exp.Subquery: ("A subquery in a condition", _OTHER_PEOPLE),
    exp.Exists: ("EXISTS", _OTHER_PEOPLE),
    exp.In: ("IN (SELECT …)", _OTHER_PEOPLE),
    exp.CurrentDate: (
        "current_date",
        "A question means the same every day. Write the day: DATE '2026-01-31'.",
    ),
    exp.CurrentTimestamp: (
        "now()",
        "A question means the same every day. Write TIMESTAMP '2026-01-31 12:00:00'.",
    ),
    exp.IntDiv: ("x // y", "Write floor(x / y)."),
}


def refused(node: exp.Expression) -> QueryRefused:
    known = _INSTEAD.get(type(node))
    name, remedy = (typed_name(node, known[0]), known[1]) if known else (typed_name(node), instead_of(node))
    return QueryRefused(f"{name} is not part of what can be asked.", remedy=remedy)


def _check_parts(node: exp.Expression, parts: tuple[str, ...]) -> None:
    """Refuse a node with an unknown part: we would not know what it means."""
    extra = {name for name, value in node.args.items() if value} - set(parts) - _IGNORED
    if extra:
        raise refused(node)


def _is(node: exp.Is, leaf: Leaf) -> Expression:
    if isinstance(node.expression, exp.Null):
        return build_call("is_null", (convert(node.this, leaf),))
    if isinstance(node.expression, exp.Boolean):
        return build_call("is_not_distinct_from", (convert(node.this, leaf), constant(node.expression)))
    raise refused(node)


def _in(node: exp.In, leaf: Leaf) -> Expression:
    _check_parts(node, ("this", "expressions"))
    members = (_constant_below_zero(each) or convert(each, leaf) for each in node.expressions)
    return build_call("in", (convert(node.this, leaf), *members))


def _constant_below_zero(node: exp.Expression) -> Literal | None:
    """−5 is written as an operation on 5, and a list takes constants only."""
    if not isinstance(node, exp.Neg) or not isinstance(node.this, exp.Literal) or node.this.is_string:
        return None
    positive = constant(node.this)
    return build_literal(-positive.value) if isinstance(positive.value, int | Fraction) else None


def _case(node: exp.Case, leaf: Leaf) -> Expression:
    """CASE x WHEN 1 … is CASE WHEN x = 1 …"""
    subject = None if node.this is None else convert(node.this, leaf)
    arguments: list[Expression] = []
    for branch in node.args["ifs"]:
        condition = convert(branch.this, leaf)
        if subject is not None:
            condition = build_call("=", (subject, condition))
        arguments += [condition, convert(branch.args["true"], leaf)]
    if node.args.get("default") is not None:
        arguments.append(convert(node.args["default"], leaf))
    return build_call("case", tuple(arguments))


def _cast(node: exp.Expression, leaf: Leaf) -> Expression:
    wanted = node.args["to"].this
    for name, types in _CASTS.items():
        if wanted in types:
            return build_call(f"cast_{name}", (convert(node.this, leaf),))
    raise QueryRefused(
        "There is no cast to that type.",
        remedy="Cast to BIGINT, DOUBLE, VARCHAR, BOOLEAN, DATE or TIMESTAMP.",
    )
