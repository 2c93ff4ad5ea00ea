"""What each function gives, by example."""

import math
from datetime import date, datetime

import pytest

from discreet.functions.registry import FUNCTIONS
from tests.question.nasty import evaluate

NULL = None
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
DAY, MOMENT = date(2024, 2, 29), datetime(2024, 2, 29, 12, 34, 56, 789000)

EXAMPLES = [
    # integers are exact; what does not fit 64 bits is NULL
    ("+", (1, 2), 3),
    ("+", (1, 2.5), 3.5),
    ("+", (1, NULL), NULL),
    ("+", (LARGEST, 1), NULL),
    ("+", (1e308, 1e308), NULL),
    ("-", (1, 2), -1),
    ("-", (SMALLEST, 1), NULL),
    ("*", (3037000500, 3037000500), NULL),
    ("*", (2**31, 2**31), 2**62),
    ("*", (SMALLEST, SMALLEST), NULL),
    # division is never whole, and by zero it is NULL
    ("/", (7, 2), 3.5),
    ("/", (7, 0), NULL),
    ("/", (0, 0), NULL),
    ("/", (1.0, -0.0), NULL),
    ("/", (1e308, 1e-10), NULL),
    # the remainder has the sign of the dividend
    ("%", (7, 3), 1),
    ("%", (-7, 3), -1),
    ("%", (7, -3), 1),
    ("%", (7, 0), NULL),
    ("%", (SMALLEST, -1), 0),
    ("%", (-5.5, 3), -2.5),
    ("%", (5.5, 0), NULL),
    ("negate", (5,), -5),
    ("negate", (SMALLEST,), NULL),
    ("negate", (2.5,), -2.5),
    ("abs", (-5,), 5),
    ("abs", (SMALLEST,), NULL),
    ("abs", (-2.5,), 2.5),
    ("sign", (-5,), -1),
    ("sign", (0.0,), 0),
    # floor, ceil and round give integers; half is rounded away from zero
    ("floor", (-2.5,), -3),
    ("floor", (7,), 7),
    ("floor", (1e19,), NULL),
    ("floor", (9.223372036854775807e18,), NULL),
    ("ceil", (-2.5,), -2),
    ("round", (2.5,), 3),
    ("round", (-2.5,), -3),
    ("round", (0.49999999999999994,), 0),
    ("round", (7.125, 2), 7.13),
    ("round", (1234, 2), 1234),
    ("power", (3, 2), 9.0),
    ("power", (-2.0, 3), -8.0),
    ("power", (1e200, 2), NULL),
    ("sqrt", (4,), 2.0),
    ("sqrt", (0,), 0.0),
    ("sqrt", (-1,), NULL),
    ("ln", (1,), 0.0),
    ("ln", (0,), NULL),
    ("ln", (-1,), NULL),
    ("log10", (1000,), pytest.approx(3.0)),
    ("log10", (0,), NULL),
    ("exp", (0,), 1.0),
    ("exp", (1000,), NULL),
    ("exp", (-1000,), 0.0),
    # least and greatest do not skip NULL
    ("least", (3, 1, 2), 1),
    ("least", (3, NULL), NULL),
    ("least", ("b", "A"), "A"),
    ("greatest", (3, 1.5), 3.0),
    ("greatest", (NULL, 1), NULL),
    ("coalesce", (NULL, 2, 3), 2),
    ("coalesce", (NULL, NULL), NULL),
    ("nullif", (2, 2), NULL),
    ("nullif", ("a", "A"), "a"),
    # comparisons; texts by their bytes, ISO texts with dates as dates
    ("=", (1, 1.0), True),
    ("=", ("a", "A"), False),
    ("=", (DAY, "2024-02-29"), True),
    ("=", (NULL, 1), NULL),
    ("<>", ("a", "a "), True),
    ("<", ("Z", "a"), True),
    ("<", ("é", "z"), False),
    ("<=", (DAY, MOMENT), True),
    (">", (2, 1), True),
    (">=", (1, 2), False),
    ("is_null", (NULL,), True),
    ("is_not_null", (NULL,), False),
    ("is_distinct_from", (NULL, 1), True),
    ("is_not_distinct_from", (NULL, NULL), True),
    ("between", (2, 1, 3), True),
    ("between", (2, 3, 1), False),
    ("in", (2, 1, 2), True),
    ("in", (3, 1, NULL), NULL),
    ("in", ("a", "A"), False),
    # logic has three values
    ("and", (True, NULL), NULL),
    ("and", (False, NULL), False),
    ("or", (True, NULL), True),
    ("or", (False, NULL), NULL),
    ("not", (NULL,), NULL),
    ("not", (True,), False),
    ("case", (True, 1, 2), 1),
    ("case", (NULL, 1, 2.5), 2.5),
    ("case", (False, "a"), NULL),
    # texts
    ("lower", ("ÀB",), "àb"),
    ("upper", ("àb",), "ÀB"),
    ("trim", ("  a b ",), "a b"),
    ("length", ("👨‍👩‍👧",), 5),
    ("substring", ("abcdef", 2, 3), "bcd"),
    ("substring", ("abcdef", 0, 3), "ab"),
    ("substring", ("abcdef", -5, 3), ""),
    ("substring", ("abcdef", 3), "cdef"),
    ("left", ("abc", 2), "ab"),
    ("right", ("abc", 2), "bc"),
    ("right", ("abc", 0), ""),
    ("concat", ("a", "b", "c"), "abc"),
    ("concat", ("a", NULL), NULL),
    ("starts_with", ("abc", "ab"), True),
    ("ends_with", ("abc", "bc"), True),
    ("contains", ("abc", "B"), False),
    ("contains", ("abc", ""), True),
    ("like", ("abc", "a%"), True),
    ("like", ("a\nc", "a_c"), True),
    ("like", ("a.c", "a._"), True),
    ("like", ("abc", "a._"), False),
    ("like", ("a\\c", "a\\_"), True),
    ("like", ("ABC", "a%"), False),
    ("like", ("é👨", "__"), True),
    ("like", ("a%", "a\\%"), False),
    ("replace", ("a-b-c", "-", ""), "abc"),
    ("replace", (NULL, "-", ""), NULL),
    # dates; weeks begin on Monday
    ("year", (DAY,), 2024),
    ("quarter", (DAY,), 1),
    ("month", (MOMENT,), 2),
    ("day", (DAY,), 29),
    ("hour", (MOMENT,), 12),
    ("dayofweek", (date(2024, 1, 7),), 7),
    ("dayofweek", (date(2024, 1, 8),), 1),
    ("date_trunc", ("month", MOMENT), date(2024, 2, 1)),
    ("date_trunc", ("week", DAY), date(2024, 2, 26)),
    ("date_trunc", ("week", date.min), date.min),
    ("date_trunc", ("year", NULL), NULL),
    ("date_diff", ("day", DAY, date(2024, 3, 1)), 1),
    ("date_diff", ("day", MOMENT, date(2024, 3, 1)), 1),
    ("date_diff", ("day", date.max, date.min), -3652058),
    ("add_days", (DAY, 1), date(2024, 3, 1)),
    ("add_days", (date.max, 1), NULL),
    ("add_days", (DAY, LARGEST), NULL),
    # casts: what cannot be converted is NULL, and only plain forms can
    ("cast_integer", (2.5,), 3),
    ("cast_integer", (-2.5,), -3),
    ("cast_integer", (1e19,), NULL),
    ("cast_integer", ("-12",), -12),
    ("cast_integer", ("1.5",), NULL),
    ("cast_integer", ("0x10",), NULL),
    ("cast_integer", ("9" * 25,), NULL),
    ("cast_integer", (True,), 1),
    ("cast_number", (1,), 1.0),
    ("cast_number", ("1.5e3",), 1500.0),
    ("cast_number", ("1e400",), NULL),
    ("cast_number", ("nan",), NULL),
    ("cast_text", (12,), "12"),
    ("cast_text", (date(24, 1, 2),), "0024-01-02"),
    ("cast_text", (MOMENT,), "2024-02-29 12:34:56.789"),
    ("cast_text", (True,), "true"),
    ("cast_boolean", ("TRUE",), True),
    ("cast_boolean", ("yes",), NULL),
    ("cast_boolean", (7,), True),
    ("cast_date", ("2024-02-29",), DAY),
    ("cast_date", ("2023-02-29",), NULL),
    ("cast_date", ("infinity",), NULL),
    ("cast_date", ("0000-01-01",), NULL),
    ("cast_date", (MOMENT,), DAY),
    ("cast_timestamp", ("2024-02-29 12:34:56.789",), MOMENT),
    ("cast_timestamp", ("2024-02-29 10:00:00+02",), NULL),
    ("cast_timestamp", ("epoch",), NULL),
    ("cast_timestamp", (DAY,), datetime(2024, 2, 29)),
]


@pytest.mark.parametrize("hostile", [False, True], ids=["", "hostile-settings"])
@pytest.mark.parametrize(("name", "arguments", "expected"), EXAMPLES)
def test_it_gives(name, arguments, expected, hostile):
    result = evaluate(name, *arguments, hostile=hostile)
    assert result == expected
    assert type(result) is type(expected) or isinstance(result, float)


def test_every_function_has_an_example():
    assert set(FUNCTIONS) == {name for name, _, _ in EXAMPLES}


def test_no_example_is_not_finite():
    assert all(math.isfinite(expected) for _, _, expected in EXAMPLES if isinstance(expected, float))
