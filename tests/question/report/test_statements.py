"""Where the questions of a text end, and what they are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import QueryRefused
from discreet.model.report import text_of_report
from discreet.question.report.statements import questions_of, statements_in


def read(text):
    return [(each.title, each.sql) for each in questions_of(statements_in(text, "it"))]


def titles(text):
    return [title for title, _ in read(text)]


def test_semicolons_end_statements_and_nothing_else_does():
    text = """SELECT ';' AS "a;b" FROM t /* ; */ WHERE x = $$;$$;; SELECT 2 -- ; not here
    FROM t;"""
    assert read(text) == [
        ("", """SELECT ';' AS "a;b" FROM t /* ; */ WHERE x = $$;$$"""),
        ("", "SELECT 2 -- ; not here\n    FROM t"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-- Wards\nSELECT 1", ["Wards"]),
        ("--Wards\r\nSELECT 1", ["Wards"]),
        ("/* Wards */ SELECT 1", ["Wards"]),
        ("/*\n * Wards\n * of all years\n */\nSELECT 1", ["Wards of all years"]),
        ("-- Wards,\n-- of all years\nSELECT 1", ["Wards, of all years"]),
        ("-- title: Wards\n-- those that are open\nSELECT 1", ["Wards"]),
        ("-- TITLE:   Wards; and more\n\n\nSELECT 1", ["Wards; and more"]),
        ("-- The report of Ann.\n\n-- Wards\nSELECT 1", ["Wards"]),
        ("-- The report of Ann.\n\nSELECT 1", [""]),
        ("SELECT 1; -- of the first\nSELECT 2", ["", ""]),
        ("SELECT 1; -- of the first\n-- Second\nSELECT 2", ["", "Second"]),
        ("-- One\nSELECT 1; /* Two */ SELECT 2", ["One", ""]),
        ("-- One\nSELECT 1\n;\n-- Two\nSELECT 2;\n-- the end\n", ["One", "Two"]),
        (f"-- {'long ' * 100}\nSELECT 1", [("long " * 100)[:119]]),
        ("/* Wards\r of all years */ SELECT 1", ["Wards of all years"]),
        ("-- Half */\r\nSELECT 1; -- of this\n-- Whole */\nSELECT 2", ["Half */", "Whole */"]),
        ("-- Wards\0\ud800\nSELECT 1", ["Wards"]),
    ],
)
def test_the_title_is_the_comment_right_before(text, found):
    assert titles(text) == found


def test_questions_of_a_list_have_titles_too():
    first, second = questions_of(["-- Wards\nSELECT 1;", "SELECT 2"])
    assert (first.title, first.sql) == ("Wards", "SELECT 1")
    assert (second.title, second.named(2)) == ("", "Question 2")
    assert first.named(1) == "Question 1 (Wards)"


PIECES = ["-", "--", "/*", "*/", "*", "title:", " ", "\t", "\n", "\r", "\x0b", "\u2028", "x" * 70, "'", ";"]


@given(st.lists(st.lists(st.sampled_from(PIECES)).map("".join), min_size=1, max_size=4))
def test_the_text_of_a_report_reads_as_the_same_report(comments):
    """Whatever the comments are, titles and SELECTs come back from what is written of them."""
    texts = [f"/* {words.replace('*/', '')} */\nSELECT {i} -- {words}" for i, words in enumerate(comments)]
    texts += [f"-- {words}\nSELECT {i} AS b" for i, words in enumerate(comments)]
    questions = []
    for text in texts:
        try:
            statements = statements_in(text, "it")
        except QueryRefused:  # the comment was none after all
            continue
        questions += questions_of(statements)
    for start in range(len(questions)):
        assert questions_of(statements_in(text_of_report(questions[start:]), "it")) == questions[start:]


def test_two_statements_in_one_text_of_a_list_stay_together_and_are_refused_later():
    assert questions_of(["SELECT 1; SELECT 2"])[0].sql == "SELECT 1; SELECT 2"


@pytest.mark.parametrize("text", ["", " \n", ";;", "-- nothing\n"])
def test_a_text_without_a_question_is_refused(text):
    with pytest.raises(QueryRefused, match=r"no question in wards\.sql"):
        statements_in(text, "wards.sql")


def test_a_text_that_does_not_end_is_refused():
    with pytest.raises(QueryRefused):
        statements_in("SELECT 1; SELECT 'x FROM t", "it")


@pytest.mark.parametrize("texts", [[], [1], ["SELECT 1", None], ["SELECT 1"] * 101, ["x" * 60_000] * 2])
def test_a_list_that_is_no_report_is_refused(texts):
    with pytest.raises(QueryRefused):
        questions_of(texts)


def test_a_file_with_too_many_questions_is_refused():
    with pytest.raises(QueryRefused, match="at most 100 questions"):
        statements_in("SELECT 1;" * 101, "it")
