"""Random well-typed expressions, of every function on the allow-list."""

from hypothesis import strategies as st

from discreet.dialects.quoting import build_literal
from discreet.functions.registry import build_call
from discreet.model.expression import Expression, Literal
from discreet.model.policy import ValueType
from tests.question.nasty import BOOLEANS, FIELDS, INTEGERS, NUMBERS, TEXTS

INTEGER, NUMBER, TEXT = ValueType.INTEGER, ValueType.NUMBER, ValueType.TEXT
BOOLEAN, DATE, TIMESTAMP = ValueType.BOOLEAN, ValueType.DATE, ValueType.TIMESTAMP
UNITS = ["year", "quarter", "month", "week", "day"]
TIMES = ["hour", "minute", "second"]
PARTS = ["year", "quarter", "month", "week", "day", "dayofweek", "dayofyear"]
MONTHS = st.integers(-30, 30) | st.sampled_from([-119_988, -119_987, -24_000, 24_000, 119_987, 119_988])
SECONDS = st.integers(-200_000, 200_000) | st.sampled_from(
    [86_400 * 3_652_058, -86_400 * 3_652_058, -(10**11)]
)

# What a call of each result type looks like: a name, then a type to draw from or a strategy of constants.
_TWO_OF_A_KIND = [(kind, kind) for kind in ValueType]
_ORDERED = [(kind, kind) for kind in ValueType if kind is not BOOLEAN] + [
    (INTEGER, NUMBER),
    (DATE, TIMESTAMP),
]

CALLS: dict[ValueType, list[tuple[object, ...]]] = {
    INTEGER: [
        *((name, INTEGER, INTEGER) for name in ("+", "-", "*", "%")),
        ("negate", INTEGER), ("abs", INTEGER), ("sign", INTEGER), ("sign", NUMBER),
        *((name, NUMBER) for name in ("floor", "ceil", "round", "cast_integer")),
        ("floor", INTEGER), ("round", INTEGER, st.integers(0, 12)),
        ("length", TEXT), ("cast_integer", TEXT), ("cast_integer", BOOLEAN),
        *((name, DATE) for name in PARTS),
        *((name, TIMESTAMP) for name in (*PARTS, *TIMES)),
        ("position", TEXT, st.text("a%_\\'é0-", min_size=1, max_size=3)),
        ("date_diff", st.just("day"), DATE, TIMESTAMP), ("date_diff", st.just("day"), TIMESTAMP, DATE),
    ],
    NUMBER: [
        *((name, NUMBER, NUMBER) for name in ("+", "-", "*", "/", "%")),
        *((name, INTEGER, NUMBER) for name in ("+", "-", "*", "/", "%")),
        ("/", INTEGER, INTEGER),
        *((name, NUMBER) for name in ("negate", "abs", "sqrt", "ln", "log10", "exp")),
        ("round", NUMBER, st.integers(1, 12)), ("power", NUMBER, st.integers(1, 6)),
        ("power", INTEGER, st.integers(1, 6)),
        ("cast_number", INTEGER), ("cast_number", TEXT), ("cast_number", BOOLEAN),
    ],
    TEXT: [
        *((name, TEXT) for name in ("lower", "upper", "trim", "ltrim", "rtrim")),
        ("split_part", TEXT, st.text("a%_\\' é0-", min_size=1, max_size=2), st.integers(1, 4)),
        ("substring", TEXT, st.integers(-10, 10), st.integers(0, 10)),
        ("substring", TEXT, st.integers(-10, 10)),
        ("left", TEXT, st.integers(0, 10)), ("right", TEXT, st.integers(0, 10)),
        ("concat", TEXT, TEXT), ("concat", TEXT, TEXT, TEXT),
        ("replace", TEXT, st.text(min_size=1, max_size=3), st.text(max_size=16)),
        ("replace", TEXT, st.just("a"), st.just("aaaaaaaaaaaaaaaa")),
        *(("cast_text", kind) for kind in (INTEGER, BOOLEAN, DATE, TIMESTAMP)),
    ],
    BOOLEAN: [
        *((name, *kinds) for name in ("=", "<>", "is_distinct_from", "is_not_distinct_from")
          for kinds in _TWO_OF_A_KIND),
        *((name, *kinds) for name in ("<", "<=", ">", ">=") for kinds in _ORDERED),
        *((name, kind) for name in ("is_null", "is_not_null") for kind in ValueType),
        *(("between", kind, *kinds) for kind, *kinds in [(a, a, b) for a, b in _ORDERED]),
        ("and", BOOLEAN, BOOLEAN), ("or", BOOLEAN, BOOLEAN, BOOLEAN), ("not", BOOLEAN),
        ("starts_with", TEXT, TEXT), ("ends_with", TEXT, TEXT), ("contains", TEXT, TEXT),
        ("like", TEXT, st.text("ab%_.\\'é", max_size=8)),
        ("cast_boolean", INTEGER), ("cast_boolean", TEXT),
    ],
    DATE: [
        ("date_trunc", st.sampled_from(UNITS), DATE), ("date_trunc", st.sampled_from(UNITS), TIMESTAMP),
        ("add_days", DATE, INTEGER), ("cast_date", TEXT), ("cast_date", TIMESTAMP),
        ("add_months", DATE, MONTHS),
    ],
    TIMESTAMP: [
        ("cast_timestamp", TEXT), ("cast_timestamp", DATE), ("add_months", TIMESTAMP, MONTHS),
        ("add_seconds", TIMESTAMP, SECONDS), ("date_trunc", st.sampled_from(TIMES), TIMESTAMP),
        ("date_trunc", st.sampled_from(TIMES), DATE),
    ],
}  # fmt: skip

for _kind, _calls in CALLS.items():
    _calls += [
        ("case", BOOLEAN, _kind, _kind), ("case", BOOLEAN, _kind),
        ("case", BOOLEAN, _kind, BOOLEAN, _kind, _kind),
        ("coalesce", _kind, _kind), ("nullif", _kind, _kind),
    ]  # fmt: skip
    if _kind is not BOOLEAN:
        _calls += [("least", _kind, _kind), ("greatest", _kind, _kind, _kind)]

CONSTANTS: dict[ValueType, st.SearchStrategy[object]] = {
    INTEGER: st.sampled_from([each for each in INTEGERS if each is not None]),
    NUMBER: st.sampled_from([each for each in NUMBERS if each is not None and abs(each) < 1.8e308])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.fractions(),
    TEXT: st.sampled_from([each for each in TEXTS if each is not None and "\0" not in each])
    | st.text(max_size=5).filter(lambda text: "\0" not in text),
    BOOLEAN: st.sampled_from([each for each in BOOLEANS if each is not None]),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(),
}


def leaves(kind: ValueType) -> st.SearchStrategy[Expression]:
    fields = st.sampled_from([field for field in FIELDS.values() if field.type is kind])
    constants = CONSTANTS[kind].map(build_literal)
    return fields | fields | constants | st.just(Literal(value=None, type=kind))


@st.composite
def expressions(draw: st.DrawFn, kind: ValueType | None = None, levels: int = 4) -> Expression:
    kind = kind or draw(st.sampled_from(list(ValueType)))
    if levels == 0 or draw(st.integers(0, 4)) == 0:
        return draw(leaves(kind))
    if kind is BOOLEAN and draw(st.integers(0, 9)) == 0:
        of = draw(st.sampled_from(list(ValueType)))
        members = draw(
            st.lists(CONSTANTS[of].map(build_literal) | st.just(build_literal(None)), min_size=1, max_size=4)
        )
        return build_call("in", (draw(expressions(kind=of, levels=levels - 1)), *members))
    name, *shape = draw(st.sampled_from(CALLS[kind]))
    arguments = [
        draw(expressions(kind=each, levels=levels - 1)) if isinstance(each, ValueType)
        else build_literal(draw(each.filter(lambda value: value is None or "\0" not in str(value))))
        for each in shape
    ]  # fmt: skip
    return build_call(str(name), tuple(arguments))
