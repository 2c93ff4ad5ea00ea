"""A format of dates means what strptime means by it, and holds nothing but the closed list of codes."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.model.date_format import read_format

FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%m-%Y %H:%M", "%Y/%m/%dT%H:%M:%S", "%H:%M, %d.%m.%Y"]


@given(written=st.sampled_from(FORMATS), moment=st.datetimes(min_value=datetime(1000, 1, 1)))
def test_what_strftime_writes_is_read(written, moment):
    text = moment.strftime(written)
    assert read_format(written).parse(text) == datetime.strptime(text, written)
    assert read_format(written).parse(f" {text}  ") == read_format(written).parse(text)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("%d.%m.%Y", "31.02.2025"),
        ("%d.%m.%Y", "15.03.25"),
        ("%d.%m.%Y", "2025-03-15"),
        ("%d.%m.%Y", "15.03.2025\n"),
        ("%d.%m.%Y", "15x03x2025"),
        ("%d.%m.%Y", "15.03.0000"),
        ("%d.%m.%Y", "٣.٣.2025"),
        ("%d.%m.%Y", ""),
        ("%m/%d/%Y", "15/03/2025"),
        ("%Y%m%d", "2025315"),
        ("%Y-%m-%d %H:%M", "2025-03-15 24:00"),
        ("%Y-%m-%d %H:%M:%S", "2025-03-15 10:00:60"),
    ],
)
def test_what_does_not_fit_is_missing(written, text):
    assert read_format(written).parse(text) is None


@pytest.mark.parametrize(
    "written",
    [
        *(
            "",
            "%",
            "%d.%m",
            "%d.%m.%y",
            "%d %b %Y",
            "%d.%m.%Y %d",
            "%d.%m.%Y %H",
            "%d.%m.%Y %S",
            "%M %d.%m.%Y",
        ),
        *("%d.%m.%Y %p", "%d.%m.%Y%%", "day %d.%m.%Y", "%d.%m.%Y'", "%d\n%m\n%Y", "%d.%m.%Y" + " " * 40),
        *("%d]%m]%Y", "%d\\%m\\%Y", "%d.%m.%Y %H:%S"),
    ],
)
def test_anything_else_is_no_format(written):
    with pytest.raises(InvalidInput) as refusal:
        read_format(written)
    assert "%d.%m.%Y" in refusal.value.remedy
