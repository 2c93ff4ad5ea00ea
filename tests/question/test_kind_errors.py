"""Mistakes as people make them: the refusal says where, and what is offered instead works."""

import re
from dataclasses import replace

import pytest

from discreet.errors import QueryRefused, for_command_line, for_json, for_page, for_python
from discreet.model.policy import Column, ValueType
from discreet.question.mistakes.instead import _REMEDIES, REWORDED, REWORDED_ROWS
from discreet.question.mistakes.syntax_errors import position
from discreet.question.parse import parse_sql
from discreet.question.report.statements import questions_of, statements_in
from tests.question.clinic import clinic, planned

MISTYPED = {
    "SELCT count(*) FROM visits": ("SELCT", "SELECT"),
    "SELECT count(*) FORM visits": ("FORM", "FROM"),
    "SELECT count(*) FROM visits WERE age > 3": ("WERE", "WHERE"),
    "SELECT ward, count(*) FROM visits GROPU BY ward": ("GROPU", "GROUP"),
    "SELECT ward, count(*) AS n FROM visits GROUP BY ward ODER BY n": ("ODER", "ORDER"),
    "SELECT ward, count(*) AS n FROM visits GROUP BY ward HAVNIG n > 3": ("HAVNIG", "HAVING"),
    "SELECT ward, count(*) FROM visits GROUP BY ward LIMT 3": ("LIMT", "LIMIT"),
    "SELECT count(*) FROM visits JION labs USING (patient)": ("JION", "JOIN"),
    "SELECT count(*) FROM visits WHERE age BETWEN 3 AND 4": ("BETWEN", "BETWEEN"),
    "SELECT count(*) FROM visits WHERE age > 3 AN cost > 1": ("AN", "AND"),
    "SELECT sum(CASE WHN age > 3 THEN 1 ELSE 0 END) FROM visits": ("WHN", "WHEN"),
    "SELECT ward, count(*) FROM visits GROUP BY ward ORDER BY 2 descending": ("descending", "DESC"),
}
UNREADABLE = {
    "SELECT ward, count(*) FROM visits GROUP ward": "Write GROUP BY.",
    "SELECT ward, count(*) FROM visits GROUP BY ward ORDER ward": "Write ORDER BY.",
    "SELECT ward count(*) FROM visits GROUP BY ward": "A comma is missing before “count”.",
    "SELECT ward, count(* FROM visits GROUP BY ward": "A “)” is missing before “FROM”.",
    "SELECT ward, count(*)) FROM visits GROUP BY ward": "Leave the “)” out.",
    "SELECT count(*) FROM visits WHERE age => 3": "Write >= instead of =>.",
    "count(*) FROM visits": "A question begins with SELECT.",
    "SELECT TOP 3 ward FROM visits GROUP BY ward": "Leave TOP out, and write LIMIT 3 at the end.",
    "SELECT sum(CASE WHEN age > 3 THEN 1 ELSE 0) FROM visits": "CASE ends with END: write it after “0”.",
    "SELECT count(*) FROM visits WHERE age > AND cost < 3": "Something is missing between “>” and “AND”.",
    "SELECT count(*) FROM visits WHERE": "Something is missing after “WHERE”.",
    "SELECT count(*) AS FROM visits": "A name is missing after AS; or leave AS out.",
    "SELECT count(*) FROM visits WHERE ward = 'north": "Close the text with a single quote",
    'SELECT count(*) FROM visits WHERE ward = "north': "Close the name with a double quote",
    "SELECT count(*) FROM visits /* all": "Close the comment with */.",
}
TWO = (
    "SELECT count(*) AS n FROM visits {} ward, count(*) AS n FROM visits GROUP BY ward",
    "SELECT count(*) AS n FROM visits\n\n-- By ward\n{} ward, count(*) AS n FROM visits GROUP BY ward",
    "SELECT count(*) AS n FROM visits WHERE patient IN (SELECT patient FROM labs) {} count(*) AS n FROM labs",
)
"""Two questions without a semicolon between them, and with the word at which the second begins."""
TOO_DEEP = (
    "SELECT count(*) FROM visits WHERE " + "NOT " * 3_000 + "age > 3",
    "SELECT " + "DATE(" * 60 + "day" + ")" * 60 + " FROM visits",
)
KEYS = {
    "ward = 'nort'": "'north'",
    "ward = 'North'": "'north'",
    "'nroth' = ward": "'north'",
    "ward <> 'suoth'": "'south'",
    "ward IN ('north', 'soth')": "'south'",
    "ward IS DISTINCT FROM 'nort'": "'north'",
    'ward = "north"': "'north'",
    "ward = north": "'north'",
    "ward = North": "'north'",
    "ward = “north”": "'north'",
    "ward = ‘south’": "'south'",
    "ward = norht": "'north'",
}


OF_TWO = ("rlike", "regexp", "glob", "nth_value", "has")


def refusal(sql):
    with pytest.raises(QueryRefused) as refused:
        planned(sql, clinic(), epsilon=1)
    return refused.value


def marked(problem):
    """What stands above the mark."""
    *_, line, mark = problem.split("\n")
    return line[len(mark) - 1 :]


@pytest.mark.parametrize("sql", MISTYPED)
def test_a_mistyped_keyword_is_marked_and_the_right_one_works(sql):
    wrong, right = MISTYPED[sql]
    found = refusal(sql)
    assert marked(found.problem).startswith(wrong)
    assert found.remedy == f"Did you mean {right} instead of “{wrong}”?"
    planned(sql.replace(wrong, right), clinic(), epsilon=1)


@pytest.mark.parametrize("sql", UNREADABLE)
def test_what_cannot_be_read_says_what_is_missing(sql):
    found = refusal(sql)
    assert UNREADABLE[sql] in found.remedy
    assert "\n" in found.problem
    assert re.search(r"line 1, column \d+:", found.problem)


def test_of_two_mistakes_the_first_is_named():
    found = refusal("SELCT count(*) FROM visits WERE age > 3")
    assert "SELECT instead of “SELCT”" in found.remedy


def test_the_place_is_in_its_own_line():
    found = refusal("SELECT ward,\n  count(*)\nFORM visits\nGROUP BY ward")
    assert "line 3, column 1:\n  FORM visits\n  ^" in found.problem


def test_a_long_line_is_cut_around_the_place():
    text = "SELECT " + "age + " * 100 + "count(*) FORM visits"
    shown = position(text, text.index("FORM")).split("\n")
    assert max(map(len, shown)) < 120
    assert shown[1][len(shown[2]) - 1 :].startswith("FORM")


def test_the_parser_never_speaks_itself():
    for sql in (
        *MISTYPED,
        *UNREADABLE,
        "SELECT count(*) \x1b[31m FORM visits",
        "SELECT (((",
        "SELECT 'a" * 51,
    ):
        with pytest.raises(QueryRefused) as refused:
            parse_sql(sql)
        assert not re.search("sqlglot|Expecting|Invalid expression|Required keyword", str(refused.value))
        assert "\x1b" not in str(refused.value)


def test_a_long_question_is_not_read_again_and_again(monkeypatch):
    tries = []
    monkeypatch.setattr(
        "discreet.question.parse._TriedTexts.reached", lambda _, text: tries.append(text) or 0
    )
    refusal("SELECT count(*) FORM visits")
    assert 0 < len(tries) <= 24
    tries.clear()
    refusal(f"SELECT count(*) {'/* */' * 2000} FORM visits")
    assert tries == []


@pytest.mark.parametrize("condition", KEYS)
def test_a_value_that_is_no_key_is_refused_with_the_nearest(condition):
    assert KEYS[condition] in refusal(f"SELECT count(*) FROM visits WHERE {condition}").remedy


@pytest.mark.parametrize(
    "measure",
    ["count(*) FILTER (WHERE ward = 'nort')", "sum(CASE WHEN ward = 'nort' THEN 1 ELSE 0 END)"],
)
def test_so_it_is_wherever_rows_are_looked_at(measure):
    assert "'north'" in refusal(f"SELECT {measure} FROM visits").remedy


def test_a_value_that_is_not_listed_can_be_asked_for():
    found = refusal("SELECT count(*) FROM visits WHERE ward = 'attic'")
    assert "'north', 'south'" in found.remedy
    instead = re.search("write (ward LIKE 'attic')", found.remedy)[1]
    planned(f"SELECT count(*) FROM visits WHERE {instead}", clinic(), epsilon=1)


@pytest.mark.parametrize(
    "condition",
    [
        "ward = 'north'",
        "ward IN ('north', 'south')",
        "ward LIKE 'x'",
        "ward IS NULL",
        "note = 'x'",
        "lower(ward) = 'x'",
        "coalesce(ward, 'none') = 'none'",
        "ward = NULL",
    ],
)
def test_other_conditions_stay(condition):
    planned(f"SELECT count(*) FROM visits WHERE {condition}", clinic(), epsilon=1)


def test_many_constants_are_looked_up_and_not_searched_for():
    values = ", ".join(f"'north{i}'" for i in range(200))
    assert "'north0'" in refusal(f"SELECT count(*) FROM visits WHERE ward IN ('south', {values})").problem


@pytest.mark.parametrize("name", [*REWORDED, *REWORDED_ROWS])
def test_another_name_of_a_function_is_refused_with_ours_which_works(name):
    of_rows = name in REWORDED_ROWS
    column = "note" if of_rows else "cost"
    ask = "SELECT count({}) FROM visits" if of_rows else "SELECT {} FROM visits"
    found = refusal(ask.format(f"{name}({column}, 'a')" if name in OF_TWO else f"{name}({column})"))
    assert found.problem.startswith(name)
    instead = re.fullmatch(r"Write (.*)\.", found.remedy)[1]
    assert column in instead or instead.startswith("count(*)")
    planned(ask.format(instead), clinic(), epsilon=1)


@pytest.mark.parametrize("name", _REMEDIES)
def test_what_has_no_private_version_is_named_as_it_was_typed(name):
    call = (
        name
        if name.startswith(("current_", "localtime"))
        else f"{name}(note{', 2' if name in OF_TWO else ''})"
    )
    found = refusal(f"SELECT {call} AS x FROM visits")
    assert found.problem.startswith(name)
    assert found.remedy == _REMEDIES[name].replace("x", "note") or "x" not in found.remedy.split()


def test_what_is_offered_for_them_works():
    for sql in (
        "SELECT ward, count(*) FROM visits GROUP BY ward",
        "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) DESC LIMIT 1",
        "SELECT count(*) FROM visits WHERE born > DATE '2026-01-31'",
        "SELECT count(*) FROM visits WHERE cost IS NULL",
    ):
        planned(sql, clinic(), epsilon=1)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("cuont(*)", "count(*)"), ("averge(cost)", "avg(cost)"), ("greatst(age, 2)", "greatest(age, y, …)")],
)
def test_a_mistyped_function_is_refused_with_the_nearest(typed, meant):
    found = refusal(f"SELECT {typed} FROM visits")
    assert found.problem.startswith(typed.partition("(")[0])
    assert found.remedy == f"Did you mean {meant}?"


def test_names_of_sqlglot_never_appear(caplog, capfd):
    calls = ("cost & 1", "[1, 2][1]", "{'a': 1}", "md5(note)", "random(1)", "note -> 'a'", "to_number(note)")
    for call in calls:
        found = refusal(f"SELECT count({call}) FROM visits")
        assert not re.search("BITWISE|REGEXPLIKE|BRACKET|STRUCT|RAND |JSONEXTRACT", found.problem)
        refusal(f"SELECT {call} AS x, {call} FROM visits")
    assert caplog.text == capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "typed", ["today()", "current_date", "now()", "get_current_timestamp()", "strftime(1)"]
)
def test_a_function_is_named_as_it_was_typed(typed):
    assert typed.partition("(")[0] in refusal(f"SELECT count({typed}) FROM visits").problem


def test_a_mistyped_keyword_that_reads_as_a_name_is_found_too():
    assert "Did you mean DISTINCT?" in refusal("SELECT DISTNCT ward FROM visits").remedy


REMEDY = "Ask with epsilon=0.25 or below, or within= an error. Not rho=1e-06."


def test_a_remedy_names_options_as_they_are_written_where_it_is_read():
    assert (
        for_command_line(REMEDY) == "Ask with --epsilon 0.25 or below, or --within an error. Not --rho 1e-06."
    )
    assert for_json(REMEDY) == 'Ask with "epsilon": 0.25 or below, or "within" an error. Not "rho": 1e-06.'
    assert for_page(REMEDY) == "Ask with ε = 0.25 or below, or the error an error. Not ρ = 1e-06."
    assert for_python(for_json(REMEDY)) == REMEDY


def test_a_place_stands_apart_from_what_to_do():
    assert str(refusal("SELECT count(*) FORM visits")).endswith("^\nDid you mean FROM instead of “FORM”?")


@pytest.mark.parametrize("text", TWO)
def test_a_question_that_begins_within_another_needs_a_semicolon(text):
    with pytest.raises(QueryRefused, match="Another question begins at “SELECT”, line") as refused:
        parse_sql(text.format("SELECT"))
    assert "write a semicolon before it" in refused.value.remedy
    assert len(statements_in(text.format("; SELECT"), "it")) == 2
    for one in questions_of(statements_in(text.format("; SELECT"), "it")):
        parse_sql(one.sql)


def test_a_select_that_is_out_of_place_within_a_question_is_no_other_question():
    for text in ("SELECT count(*) FROM (visits SELECT 3)", "SELECT count(*) FROM visits WHERE SELECT"):
        with pytest.raises(QueryRefused) as refused:
            parse_sql(text)
        assert "semicolon" not in refused.value.remedy


@pytest.mark.parametrize("text", TOO_DEEP)
def test_what_is_nested_beyond_what_can_be_read_is_said_to_be_nested(text):
    with pytest.raises(QueryRefused, match="nested too deeply"):
        parse_sql(text)


@pytest.mark.parametrize(("column", "typed"), [("level", "level"), ("how high", '"how high"')])
def test_a_column_without_bounds_can_be_clamped_as_is_said(column, typed):
    dataset = clinic()
    visits = dataset.tables["visits"]
    columns = {**visits.columns, column: Column(name=column, type=ValueType.INTEGER)}
    dataset = replace(dataset, tables={"visits": replace(visits, columns=columns)})
    with pytest.raises(QueryRefused, match="has no bounds") as refused:
        planned(f"SELECT avg({typed}) FROM visits", dataset)
    offered = re.search(r"least\(.*, 100\)", refused.value.remedy).group()
    assert offered == f"least(greatest({typed}, 0), 100)"
    planned(f"SELECT avg({offered}) FROM visits", dataset)


@pytest.mark.parametrize(
    ("key", "one", "listed"),
    [
        ("note AS n", "'x'", "WHERE note IN (…)"),
        ("visits.note", "'x'", "WHERE visits.note IN (…)"),
        ("to_char(born, 'YYYY') AS y", "'2001'", "WHERE … IN (…), with what y stands for"),
        ("left(note, 2) AS l", "'ab'", "WHERE … IN (…), with what l stands for"),
    ],
)
@pytest.mark.parametrize("groups", ["1", "ROLLUP (1)"])
def test_private_keys_can_be_listed_as_is_said(key, one, listed, groups):
    sql = f"SELECT {key}, count(*) FROM visits {{}} GROUP BY {groups}"
    with pytest.raises(QueryRefused, match="not public") as refused:
        planned(sql.format(""), clinic())
    assert listed in refused.value.remedy
    planned(sql.format(f"WHERE {key.partition(' AS ')[0]} IN ({one})"), clinic())


def test_a_date_can_have_bounds_as_is_said():
    with pytest.raises(QueryRefused) as refused:
        planned("SELECT date_trunc('month', born) AS m, count(*) FROM visits GROUP BY m", clinic())
    assert "bounds of born, such as [2024-01-01, 2025-12-31]" in refused.value.remedy
