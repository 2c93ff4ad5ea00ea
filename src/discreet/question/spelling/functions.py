"""Other ways to write what the functions of the allow-list mean.

A spelling reads a node of sqlglot as calls of functions that exist, with their ranges and their SQL. So it
needs no SQL of its own, and cannot fail on any row.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.registry import build_call, build_literal, range_of
from discreet.model.expression import Expression, Literal
from discreet.model.policy import ValueType
from discreet.question.spelling import date_formats, dates, patterns
from discreet.question.spelling.dates import Reader, as_moment, call, truncated

Spelling = Callable[[exp.Expression, Reader], Expression]

_MOST_BUCKETS = 10_000
_MOST_DIGITS = 12
_LONGEST_PAD = 256


def _if(node: exp.Expression, read: Reader) -> Expression:
    """IF(a, x, y) is CASE WHEN a THEN x ELSE y END."""
    parts = [read(node.this), read(node.args.get("true"))]
    if node.args.get("false") is not None:
        parts.append(read(node.args["false"]))
    return build_call("case", tuple(parts))


def _concat(node: exp.Expression, read: Reader) -> Expression:
    """concat(…) takes values that are no texts, and skips NULL; x || y does neither."""
    parts = [read(each) for each in node.expressions]
    texts = [each if each.type is ValueType.TEXT else call("cast_text", each) for each in parts]
    texts = [each if isinstance(each, Literal) else call("coalesce", each, "") for each in texts]
    texts = [each for each in texts if not (isinstance(each, Literal) and each.value is None)]
    return texts[0] if len(texts) == 1 else build_call("concat", tuple(texts))


def _round(node: exp.Expression, read: Reader) -> Expression:
    """round(x, -1) is in tens."""
    digits = _digits(node, read)
    if digits is None or digits >= 0:
        further = (read(node.args["decimals"]),) if node.args.get("decimals") else ()
        return build_call("round", (read(node.this), *further))
    step = 10 ** min(-digits, _MOST_DIGITS)
    return call("*", call("round", call("/", read(node.this), step)), step)


def _trunc(node: exp.Expression, read: Reader) -> Expression:
    """Towards 0. trunc(x) is an INTEGER, as floor(x) is."""
    digits, number = _digits(node, read) or 0, read(node.this)
    if number.type in (ValueType.DATE, ValueType.TIMESTAMP):
        raise QueryRefused("trunc is of numbers.", remedy="Write date_trunc('month', day).")
    if digits == 0:
        return truncated(number)
    step = 10 ** min(abs(digits), _MOST_DIGITS)
    if digits < 0:
        return call("*", truncated(call("/", number, step)), step)
    return call("/", truncated(call("*", call("cast_number", number), step)), step)


def _digits(node: exp.Expression, read: Reader) -> int | None:
    """The digits that round and trunc are given, if they are a constant."""
    inner = node.args.get("decimals")
    if inner is None:
        return None
    negative = isinstance(inner, exp.Neg)
    found = read(inner.this if negative else inner)
    if isinstance(found, Literal) and isinstance(found.value, int) and not isinstance(found.value, bool):
        return -found.value if negative else found.value
    raise QueryRefused("The digits are a constant.", remedy="Write round(x, 1), or round(x, -1) for tens.")


def _logarithm(node: exp.Expression, read: Reader) -> Expression:
    """log(base, x); log(x) alone is e's in some databases, and that of 10 in others."""
    if node.args.get("expression") is None:
        raise QueryRefused(
            "log is not part of what can be asked.", remedy="Write ln(x), log10(x) or log2(x)."
        )
    base = read(node.this)
    if isinstance(base, Literal) and isinstance(base.value, int | Fraction) and 1 < base.value < 10**6:
        if base.value == 10:
            return call("log10", read(node.expression))
        return call("/", call("ln", read(node.expression)), build_literal(math.log(base.value)))
    raise QueryRefused("The base of log is a constant above 1.", remedy="Write log2(x) or log(10, x).")


def _width_bucket(node: exp.Expression, read: Reader) -> Expression:
    """Bins of equal width, numbered from 1; below them is 0, and above them one more than their number."""
    names = ("min_value", "max_value", "num_buckets")
    low, high, number = (_constant(read(node.args.get(name))) for name in names)
    if not (low < high and number.denominator == 1 and 1 <= number <= _MOST_BUCKETS):
        raise QueryRefused(
            "width_bucket(x, low, high, n) needs low below high, and a whole number of bins.",
            remedy=f"Write width_bucket(cost, 0, 100, 10), with at most {_MOST_BUCKETS:,} bins.",
        )
    value, count = read(node.this), int(number)
    place = call(
        "floor", call("/", call("-", value, build_literal(low)), build_literal((high - low) / count))
    )
    inside = call("least", call("greatest", call("+", place, 1), 1), count)
    span = range_of(value)
    branches: list[Expression | int] = []
    if span is None or span.low < low:
        branches += [call("<", value, build_literal(low)), 0]
    if span is None or span.high >= high:
        branches += [call(">=", value, build_literal(high)), count + 1]
    return call("case", *branches, inside) if branches else inside


def _constant(expression: Expression) -> Fraction:
    """A constant number, such as -5."""
    match expression:
        case Literal(value=int() | Fraction() as value) if not isinstance(value, bool):
            return Fraction(value)
    found = range_of(expression)
    if found is not None and found.low == found.high:
        return found.low
    raise QueryRefused("The bins are given by constants.", remedy="Write width_bucket(cost, 0, 100, 10).")


def _trim(node: exp.Expression, read: Reader) -> Expression:
    letters = node.args.get("expression")
    if letters is not None and not (isinstance(letters, exp.Literal) and letters.this == " "):
        raise QueryRefused("Only spaces can be trimmed.", remedy="Write trim(x), or replace(x, '-', '').")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    return call(name, read(node.this))


def _pad(node: exp.Expression, read: Reader) -> Expression:
    """lpad(x, 3, '0') and rpad: cut to the length if x is longer."""
    text, count, fill = read(node.this), read(node.expression), node.args.get("fill_pattern")
    filled = read(fill) if fill is not None else build_literal(" ")
    match count, filled:
        case Literal(value=int() as length), Literal(value=str() as letter):
            known = 0 < length <= _LONGEST_PAD and len(letter) == 1
        case _:
            length, letter, known = 0, "", False
    if not known:
        raise QueryRefused(
            "lpad and rpad take a constant length and one letter.", remedy="Write lpad(x, 3, '0')."
        )
    if node.args.get("is_left"):
        made = call("right", call("concat", letter * length, text), length)
    else:
        made = call("left", call("concat", text, letter * length), length)
    return call("case", call("<", call("length", text), length), made, call("left", text, length))


def _position(node: exp.Expression, read: Reader) -> Expression:
    if node.args.get("position") is not None or node.args.get("occurrence") is not None:
        raise QueryRefused("position looks from the beginning.", remedy="Write position('-' IN text).")
    return call("position", read(node.this), read(node.args.get("substr")))


def _split_part(node: exp.Expression, read: Reader) -> Expression:
    parts = (read(node.args.get(name)) for name in ("this", "delimiter", "part_index"))
    return build_call("split_part", tuple(parts))


def _negatable(of: Spelling) -> Spelling:
    """NOT LIKE, which sqlglot marks on the node."""

    def spelling(node: exp.Expression, read: Reader) -> Expression:
        found = of(node, read)
        return call("not", found) if node.args.get("negate") else found

    return spelling


def _regular(*, whole: bool = False, fold: bool = False) -> Spelling:
    def spelling(node: exp.Expression, read: Reader) -> Expression:
        flags = node.args.get("flag")
        letters = str(flags.this) if isinstance(flags, exp.Literal) else "" if flags is None else "?"
        if set(letters) - {"i", "s"}:
            raise QueryRefused("This option of a regular expression is not known.", remedy="Leave it out.")
        folded = fold or "i" in letters
        return patterns.regular_expression(
            read(node.this), read(node.args.get("expression")), whole=whole, fold=folded
        )

    return spelling


def _of_date(meaning: Callable[[Expression], Expression]) -> Spelling:
    return lambda node, read: meaning(as_moment(read(node.this)))


def _extract(node: exp.Expression, read: Reader) -> Expression:
    return dates.date_part(node.name, as_moment(read(node.expression)))


def _difference(node: exp.Expression, read: Reader) -> Expression:
    start, end = (as_moment(read(each)) for each in (node.args.get("expression"), node.this))
    return dates.difference(unit_of(node), start, end)


def unit_of(node: exp.Expression) -> str:
    """The unit of a date function, which sqlglot reads as a word."""
    unit = node.args.get("unit")
    return unit.name.lower() if isinstance(unit, exp.Var | exp.Literal) else ""


def _truncated_date(node: exp.Expression, read: Reader) -> Expression:
    return call("date_trunc", unit_of(node), as_moment(read(node.this)))


def _bucket(node: exp.Expression, read: Reader) -> Expression:
    """time_bucket(INTERVAL '1 month', day) is date_trunc('month', day)."""
    width = node.this
    one = isinstance(width, exp.Interval) and isinstance(width.this, exp.Literal) and width.this.this == "1"
    if not one or node.args.get("zone") is not None:
        raise QueryRefused(
            "time_bucket takes one of a unit.", remedy="Write time_bucket(INTERVAL '1 month', day)."
        )
    return call("date_trunc", unit_of(width).removesuffix("s"), as_moment(read(node.expression)))


def _date_add(node: exp.Expression, read: Reader) -> Expression:
    if not isinstance(node.expression, exp.Interval):
        raise QueryRefused(
            "date_add takes an interval.", remedy="Write day + INTERVAL 7 DAY, or add_days(day, 7)."
        )
    return dates.moved(as_moment(read(node.this)), node.expression, read, less=False)


def _strftime(node: exp.Expression, read: Reader) -> Expression:
    """Either way round."""
    moment, text = node.this, node.args.get("format")
    if isinstance(moment, exp.Literal) and not isinstance(text, exp.Literal):
        moment, text = text, moment
    return date_formats.strftime(as_moment(read(moment)), read(text))


def _to_char(node: exp.Expression, read: Reader) -> Expression:
    return date_formats.to_char(as_moment(read(node.this)), read(node.args.get("format")))


SPELLINGS: Mapping[type[exp.Expression], tuple[Spelling, tuple[str, ...]]] = {
    exp.If: (_if, ("this", "true", "false")),
    exp.Concat: (_concat, ("expressions", "coalesce")),
    exp.Round: (_round, ("this", "decimals")),
    exp.Trunc: (_trunc, ("this", "decimals")),
    exp.Log: (_logarithm, ("this", "expression")),
    exp.WidthBucket: (_width_bucket, ("this", "min_value", "max_value", "num_buckets")),
    exp.Trim: (_trim, ("this", "expression", "position")),
    exp.Pad: (_pad, ("this", "expression", "fill_pattern")),
    exp.StrPosition: (_position, ("this", "substr", "position", "occurrence")),
    exp.SplitPart: (_split_part, ("this", "delimiter", "part_index")),
    exp.Like: (
        _negatable(lambda node, read: call("like", read(node.this), read(node.expression))),
        ("this", "expression", "negate"),
    ),
    exp.ILike: (
        _negatable(lambda node, read: patterns.ilike(read(node.this), read(node.expression))),
        ("this", "expression", "negate"),
    ),
    exp.SimilarTo: (
        _negatable(lambda node, read: patterns.similar_to(read(node.this), read(node.expression))),
        ("this", "expression", "negate"),
    ),
    exp.RegexpLike: (_negatable(_regular()), ("this", "expression", "flag", "negate")),
    exp.RegexpILike: (_negatable(_regular(fold=True)), ("this", "expression", "flag", "negate")),
    exp.RegexpFullMatch: (_regular(whole=True), ("this", "expression", "options")),
    exp.Add: (dates.sum_or_difference, ("this", "expression")),  # type: ignore[dict-item]
    exp.Sub: (dates.sum_or_difference, ("this", "expression")),  # type: ignore[dict-item]
    exp.Extract: (_extract, ("this", "expression")),
    exp.DateDiff: (_difference, ("this", "expression", "unit", "date_part_boundary")),
    exp.TimestampTrunc: (_truncated_date, ("this", "unit")),
    exp.DateTrunc: (_truncated_date, ("this", "unit")),
    exp.DateBin: (_bucket, ("this", "expression", "zone")),
    exp.DateAdd: (_date_add, ("this", "expression")),
    exp.AddMonths: (
        lambda node, read: call("add_months", as_moment(read(node.this)), read(node.expression)),
        ("this", "expression"),
    ),
    exp.Date: (_of_date(lambda moment: call("cast_date", moment)), ("this",)),
    exp.Dayname: (_of_date(dates.named_day), ("this",)),
    exp.Monthname: (_of_date(dates.named_month), ("this",)),
    exp.LastDay: (_of_date(dates.last_day), ("this",)),
    exp.TimeToStr: (_strftime, ("this", "format")),
    exp.ToChar: (_to_char, ("this", "format")),
}
"""What a node is read as, and the parts that it may have."""


def _named_part(arguments: list[exp.Expression], read: Reader) -> Expression:
    unit = arguments[0]
    name = unit.name if isinstance(unit, exp.Literal | exp.Column | exp.Var) else ""
    return dates.date_part(name, as_moment(read(arguments[1])))


def _date_sub(arguments: list[exp.Expression], read: Reader) -> Expression:
    if not isinstance(arguments[1], exp.Interval):
        raise QueryRefused("date_sub takes an interval.", remedy="Write day - INTERVAL 7 DAY.")
    return dates.moved(as_moment(read(arguments[0])), arguments[1], read, less=True)


def _plainly(name: str) -> Callable[[list[exp.Expression], Reader], Expression]:
    return lambda arguments, read: build_call(name, tuple(map(read, arguments)))


NAMED: Mapping[str, tuple[Callable[[list[exp.Expression], Reader], Expression], int]] = {
    "date_part": (_named_part, 2),
    "datepart": (_named_part, 2),
    "date_sub": (_date_sub, 2),
    "isoyear": (
        lambda arguments, read: dates.date_part("isoyear", as_moment(read(arguments[0]))),
        1,
    ),
    "decade": (lambda arguments, read: dates.date_part("decade", as_moment(read(arguments[0]))), 1),
    "date_format": (
        lambda arguments, read: date_formats.date_format(as_moment(read(arguments[0])), read(arguments[1])),
        2,
    ),
    **{name: (_plainly(name), 2) for name in ("add_days", "add_seconds")},
}
"""Functions that sqlglot has no node for, and how many arguments they take."""
