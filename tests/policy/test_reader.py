"""Policies as owners write them, and as they mistype them."""

import tomllib
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, PolicyError
from discreet.model.declaration import complete_with_schema
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Bounds, EachRow, PersonColumn, PublicTable, ValueType
from discreet.policy.reader import read_policy
from tests.bad_values import BAD_COUNTS, BAD_QUANTITIES, NOT_FINITE, NOT_NUMBERS

CLINIC = """\
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 3.0, delta = 1e-6 }

[tables.visits]
source = "visits.parquet"          # relative to this file
person = "patient_id"
max_rows = 5                       # rows of one person that count fully in one question
max_groups = 3                     # for count(distinct person)

[tables.visits.columns.cost]
bounds = [0, 5000]

[tables.visits.columns.ward]
keys = ["north", "south", "east", "west"]

[tables.wards]
source = "wards.csv"
public = true
"""
SCHEMAS = {
    "visits": {
        "patient_id": ValueType.INTEGER,
        "cost": ValueType.NUMBER,
        "ward": ValueType.TEXT,
        "day": ValueType.DATE,
    },
    "wards": {"ward": ValueType.TEXT},
}


@pytest.fixture
def read(tmp_path):
    def write_and_read(text):
        path = tmp_path / "discreet.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_policy(path)

    return write_and_read


@pytest.fixture
def refuse(read):
    def refusal(text):
        with pytest.raises(PolicyError) as caught:
            read(text)
        assert caught.value.__cause__ is None
        return str(caught.value)

    return refusal


def test_the_example(read):
    policy = read(CLINIC)
    dataset, visits = policy.dataset, policy.dataset.tables["visits"]
    assert (dataset.name, dataset.neighbours) == ("clinic", Neighbours.ADD_REMOVE)
    assert (dataset.epsilon, dataset.delta) == (3, Fraction(1, 10**6))
    assert (dataset.analyst_epsilon, dataset.question_epsilon) == (3, 3)
    assert (visits.person, visits.max_rows, visits.max_groups) == (PersonColumn(name="patient_id"), 5, 3)
    assert isinstance(dataset.tables["wards"], PublicTable)
    assert policy.columns["visits"]["cost"].bounds == Bounds(low=0, high=5000)
    assert policy.columns["visits"]["ward"].implied_type is ValueType.TEXT


def test_types_come_from_the_source_and_undeclared_columns_are_usable(read):
    dataset = complete_with_schema(read(CLINIC), SCHEMAS)
    columns = dataset.tables["visits"].columns
    assert {name: column.type for name, column in columns.items()} == SCHEMAS["visits"]
    assert columns["day"].bounds is None
    assert columns["ward"].keys == ("north", "south", "east", "west")


def test_caps_rows_and_units(read):
    text = CLINIC.replace("[tables.visits]", "per_analyst = { epsilon = 0.1 }\n[tables.visits]", 1)
    text += '[tables.survey]\nsource = "s.csv"\nperson = "row"\n'
    text += (
        "[tables.survey.columns.pay]\nbounds = [-0.1, 1e3]\nunit = 0.01\nkeys = [1, 2]\ntype = 'integer'\n"
    )
    policy = read(text)
    assert policy.dataset.analyst_epsilon == Fraction(1, 10)
    assert policy.dataset.tables["survey"].person == EachRow()
    assert policy.dataset.tables["survey"].max_rows == 1
    assert policy.columns["survey"]["pay"].bounds == Bounds(low=Fraction(-1, 10), high=1000)
    assert policy.columns["survey"]["pay"].unit == Fraction(1, 100)


def test_numbers_are_read_to_the_last_digit(read):
    text = CLINIC.replace("3.0", "0.1000000000000000000000000000000001")
    assert read(text).dataset.epsilon == Fraction("0.1000000000000000000000000000000001")


def test_max_groups_is_max_rows_if_not_given(read):
    assert read(CLINIC.replace("max_groups = 3", "")).dataset.tables["visits"].max_groups == 5


def test_unicode_names_and_a_byte_order_mark(read):
    text = CLINIC.replace("tables.visits", 'tables."Besuche – ä"').replace(
        "columns.cost", 'columns."Größe, €"'
    )
    policy = read(b"\xef\xbb\xbf" + text.encode())
    assert "Größe, €" in policy.columns["Besuche – ä"]


@pytest.mark.parametrize(
    ("old", "new", "where", "hint"),
    [
        ("max_rows = 5", "max_row = 5", "line 9: [tables.visits] max_row", "“max_rows”"),
        ("bounds =", "bound =", "line 13: [tables.visits.columns.cost] bound", "“bounds”"),
        ("delta =", "detla =", "line 4: [dataset.budget] detla", "“delta”"),
        ("[tables.wards]", "[table.wards]", "line 18: table", "“tables”"),
        ("add_remove", "add_remvoe", "line 3: [dataset] neighbours", "“add_remove”"),
        ('neighbours = "add_remove"', "", "[dataset]", "neighbours ="),
        (", delta = 1e-6", "", "line 4: [dataset.budget]", "delta = 0"),
        ("budget = { epsilon = 3.0, delta = 1e-6 }", "", "[dataset]", "budget"),
        ("budget = { epsilon = 3.0, delta = 1e-6 }", "budget = 3", "line 4: [dataset] budget", "section"),
        ('name = "clinic"', "name = 5", "line 2: [dataset] name", "quotes"),
        ('name = "clinic"', 'name = " "', "line 2: [dataset] name", "empty"),
        ('name = "clinic"', 'name = "a\\u0000b"', "line 2: [dataset] name", "seen"),
        ("[0, 5000]", "[5000, 0]", "line 13: [tables.visits.columns.cost] bounds", "below"),
        ("[0, 5000]", "[0, 0]", "line 13: [tables.visits.columns.cost] bounds", "below"),
        ("[0, 5000]", "[0]", "line 13: [tables.visits.columns.cost] bounds", "[low, high]"),
        ("[0, 5000]", "5000", "line 13: [tables.visits.columns.cost] bounds", "[low, high]"),
        ("[0, 5000]", "[false, true]", "line 13: [tables.visits.columns.cost] bounds", "number"),
        ("[0, 5000]", "[0, 1e30]", "line 13: [tables.visits.columns.cost] bounds", "range"),
        ("epsilon = 3.0", "epsilon = true", "line 4: [dataset.budget] epsilon", "number"),
        ("epsilon = 3.0", 'epsilon = "3"', "line 4: [dataset.budget] epsilon", "number"),
        ("1e-6", "0.5", "line 4: [dataset.budget] delta", "0.01"),
        ('"west"]', '"west", "north"]', "[tables.visits.columns.ward]", "each once"),
        ('"west"]', "1]", "line 16: [tables.visits.columns.ward] keys", "all text"),
        ('["north", "south", "east", "west"]', "[]", "line 16: [tables.visits.columns.ward] keys", "list"),
        (
            '["north", "south", "east", "west"]',
            "[0.5]",
            "line 16: [tables.visits.columns.ward] keys",
            "whole",
        ),
        (
            '["north", "south", "east", "west"]',
            "[12:00:00]",
            "line 16: [tables.visits.columns.ward]",
            "dates",
        ),
        (
            '["north", "south", "east", "west"]',
            "[2020-01-01T00:00:00Z]",
            "line 16: [tables.visits.columns.ward]",
            "zone",
        ),
        (
            '["north", "south", "east", "west"]',
            f"[{2**63}]",
            "line 16: [tables.visits.columns.ward]",
            "range",
        ),
        ('["north", ', 'type = "integer"\nkeys = ["north", ', "not TOML", "line 16"),
        ("bounds = [", 'type = "text"\nbounds = [', "line 12: [tables.visits.columns.cost]", "no bounds"),
        (
            "bounds = [",
            'type = "float"\nbounds = [',
            "line 13: [tables.visits.columns.cost] type",
            "not a type",
        ),
        ("bounds = [", "unit = 0\nbounds = [", "[tables.visits.columns.cost]", "unit"),
        ('person = "patient_id"', "", "line 6: [tables.visits]", 'person = "row"'),
        ("max_rows = 5", "", "line 6: [tables.visits]", "max_rows = 5"),
        ("max_rows = 5", "max_rows = 5.0", "line 9: [tables.visits] max_rows", "whole"),
        ("max_rows = 5", "max_rows = 0", "line 9: [tables.visits] max_rows", "between 1"),
        ("max_rows = 5", "max_rows = 5\nunique = true", "line 9: [tables.visits] max_rows", "Drop"),
        (
            "max_rows = 5",
            "max_rows = 5\nwell_formed = 1",
            "line 10: [tables.visits] well_formed",
            "true or false",
        ),
        ("public = true", "public = true\nwell_formed = true", "[tables.wards] well_formed", "Drop"),
        ("max_rows = 5", "max_rows = 5\nunique = 1", "line 10: [tables.visits] unique", "true or false"),
        ('"patient_id"', '"row"', "line 9: [tables.visits] max_rows", "Drop"),
        ("public = true", 'public = true\nperson = "x"', "line 21: [tables.wards] person", "no people"),
        ("public = true", 'public = "yes"', "line 20: [tables.wards] public", "true or false"),
        ('source = "wards.csv"', "", "line 18: [tables.wards]", "source"),
        ("[tables.wards]", "[tables.VISITS]", "line 18: [tables] VISITS", "upper and lower"),
        ("[tables.wards]", '[tables."\\u0007"]', "[tables]", "Rename"),
        ("[tables.visits.columns.ward]", "[tables.visits.columns.Cost]", "[tables.visits.columns]", "case"),
    ],
)
def test_mistakes_are_told_with_place_and_remedy(refuse, old, new, where, hint):
    assert old in CLINIC
    text = refuse(CLINIC.replace(old, new, 1))
    assert text.startswith("discreet.toml")
    assert where in text
    assert hint in text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[dataset\n", "line 1"),
        (CLINIC.replace("[0, 5000]", "[0, 5000"), "line 1"),
        (CLINIC + "[dataset]\n", "line 2"),
        (b"[dataset]\nname = '\xff'\n", "line 2"),
        (b"\x00", "line 1"),
        ("a = " + "[" * 5_000, "nested"),
        (f"a = {'9' * 5_000}", "too long"),
        ("", "[dataset]"),
        ("tables = 3", "section"),
        ("dataset = 3\n[tables]", "section"),
        (b" " * (5 * 2**20), "too large"),
    ],
)
def test_what_is_not_a_policy_at_all(refuse, text, hint):
    assert hint in refuse(text) or "[tables]" in refuse(text)


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(PolicyError) as caught:
            read_policy(path)
        assert caught.value.remedy


def test_a_dataset_without_people(refuse):
    text = CLINIC[: CLINIC.index("[tables.visits]")] + CLINIC[CLINIC.index("[tables.wards]") :]
    assert "no table about people" in refuse(text)


def test_a_cap_above_the_budget(refuse):
    text = CLINIC.replace("delta = 1e-6 }", "delta = 1e-6 }\nper_question = { epsilon = 4 }")
    assert "line 5: [dataset.per_question] epsilon" in refuse(text)


def as_toml(value):
    """A bad value as an owner could write it; None if TOML has no way to."""
    match value:
        case bool():
            return str(value).lower()
        case None | bytes() | complex() | Fraction() | tuple():
            return None
        case str():
            return f'"{value}"'
        case Decimal():
            whole = value.is_finite() and value == value.to_integral() and "E" not in str(value)
            return (
                None
                if value.is_snan() or (whole and value > 0)
                else str(value).lower().replace("infinity", "inf").replace("+", "")
            )
        case list() | dict() | int() | float():
            return str(value)
    return None


def writable(values):
    return sorted({text for text in map(as_toml, values) if text is not None})


@pytest.mark.parametrize("value", writable(BAD_QUANTITIES))
def test_a_bad_budget(refuse, value):
    assert "[dataset.budget] epsilon" in refuse(CLINIC.replace("3.0", value))


@pytest.mark.parametrize(
    "value", [*writable([*NOT_NUMBERS, *NOT_FINITE]), "-1", "1e-320", "1e99999999999999999999"]
)
def test_a_bad_delta(refuse, value):
    refuse(CLINIC.replace("1e-6", value))


@pytest.mark.parametrize("value", writable([*NOT_NUMBERS, *NOT_FINITE, 1e300, 10**300, Decimal("1e9999")]))
def test_bad_bounds(refuse, value):
    assert "[tables.visits.columns.cost] bounds" in refuse(CLINIC.replace("[0, 5000]", f"[{value}, 5000]"))
    assert "[tables.visits.columns.cost] bounds" in refuse(CLINIC.replace("[0, 5000]", f"[0, {value}]"))


@pytest.mark.parametrize("value", writable(BAD_COUNTS))
@pytest.mark.parametrize("setting", ["max_rows = 5", "max_groups = 3"])
def test_bad_counts(refuse, setting, value):
    name = setting.split(" ", maxsplit=1)[0]
    assert f"[tables.visits] {name}" in refuse(CLINIC.replace(setting, f"{name} = {value}"))


@given(st.text(max_size=200) | st.lists(st.sampled_from(CLINIC.split("\n")), max_size=20).map("\n".join))
def test_no_text_gives_a_traceback(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("policy") / "discreet.toml"
    path.write_bytes(text.encode(errors="replace"))
    assert problem_of(path) != ""


def problem_of(path):
    """What is wrong with a policy, None if nothing is; any other error than ours goes through."""
    try:
        read_policy(path)
    except DiscreetError as error:
        return error.problem
    return None


VALUES = [
    "true",
    "1",
    "-1.5",
    "nan",
    "[]",
    "{}",
    '""',
    "[1, 'a']",
    "2020-01-01",
    "[[1], [2]]",
    "{ a = { b = 1 } }",
]


@pytest.mark.parametrize("value", VALUES)
def test_no_value_of_any_setting_gives_a_traceback(tmp_path, value):
    path = tmp_path / "discreet.toml"
    lines = CLINIC.split("\n")
    for number, line in enumerate(lines):
        if "=" in line:
            changed = [*lines[:number], f"{line.split('=')[0]} = {value}", *lines[number + 1 :]]
            path.write_text("\n".join(changed))
            problem = problem_of(path)
            told = (f"line {number + 1}:", "missing", "no setting")
            assert problem is None or any(words in problem for words in told)


def test_a_changed_schema_is_told(read):
    policy = read(CLINIC)
    for change, hint in [
        ({"visits": {**SCHEMAS["visits"], "cost": ValueType.TEXT}}, "line 12: [tables.visits.columns.cost]"),
        (
            {"visits": {"patient_id": ValueType.INTEGER, "ward": ValueType.TEXT, "costs": ValueType.NUMBER}},
            "“costs”",
        ),
        ({"visits": {**SCHEMAS["visits"], "ward": ValueType.INTEGER}}, "type, integer"),
        ({"visits": {**SCHEMAS["visits"], "ward": ValueType.NUMBER}}, "fractions"),
        ({"visits": {**SCHEMAS["visits"], "patient_id": ValueType.NUMBER}}, "does not identify"),
        (
            {"visits": {"patientid": ValueType.INTEGER, "cost": ValueType.NUMBER, "ward": ValueType.TEXT}},
            "“patientid”",
        ),
    ]:
        with pytest.raises(PolicyError) as caught:
            complete_with_schema(policy, {**SCHEMAS, **change})
        assert hint in str(caught.value)


def test_one_person_has_one_kind_of_id(read):
    stays = '[tables.stays]\nsource = "stays.csv"\nperson = "pid"\nmax_rows = 2\n'
    policy = read(CLINIC + stays)
    with pytest.raises(PolicyError, match="integer in “visits”, text in “stays”"):
        complete_with_schema(policy, {**SCHEMAS, "stays": {"pid": ValueType.TEXT}})
    complete_with_schema(policy, {**SCHEMAS, "stays": {"pid": ValueType.INTEGER}})


def test_dates_as_keys(read):
    text = CLINIC.replace('["north", "south", "east", "west"]', "[2020-01-01, 2020-01-02]")
    assert read(text).columns["visits"]["ward"].keys[0] == date(2020, 1, 1)
    assert tomllib.loads(text)
