"""What is shown beside answers: tables, explanations, balances, curators. Texts of others do nothing."""

import inspect
import re
from html.parser import HTMLParser

import pytest

from discreet.answers.answer import Answer
from discreet.answers.table_facts import ColumnFacts, TableFacts, TableList
from discreet.client.remote_curator import RemoteCurator
from discreet.curator import Curator
from discreet.errors import InvalidInput
from discreet.question.frame import Frame
from tests.curator.test_curator import curator_of, folder  # noqa: F401  a fixture

EVIL = "<script>\x1b[31m"


def tables():
    ward = ColumnFacts(name="ward", type="text", bounds=None, keys=("north", EVIL))
    cost = ColumnFacts(name="cost", type="number", bounds=(0, 500), keys=None, unit=0.5)
    people = {"max_rows": 4, "max_groups": 2}
    return TableList(
        [
            TableFacts(name="visits", public=False, person="patient", columns=(ward, cost), **people),
            TableFacts(name=EVIL, public=True, person="", max_rows=None, max_groups=None, columns=(ward,)),
        ]
    )


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.seen.add(tag)


def check_html(html):
    tags = Tags()
    tags.feed(html)
    assert tags.seen <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "\x1b" not in html


def test_tables_say_what_is_declared():
    lines = repr(tables()).splitlines()
    assert lines[0] == "visits: a person is patient; max_rows = 4, max_groups = 2"
    assert lines[1].split(maxsplit=2)[:2] == ["ward", "text"]
    assert "2 keys: 'north'" in lines[1]
    assert lines[2].split(maxsplit=2) == ["cost", "number", "0 … 500; in steps of 0.5"]
    assert "public" in lines[3]
    assert "\x1b" not in repr(tables())
    check_html(tables()._repr_html_())


def test_a_table_is_found_by_its_name():
    found = tables()
    assert found["Visits"] is found[0]
    assert found() is found
    with pytest.raises(InvalidInput, match="Did you mean “visits”"):
        found["vists"]
    with pytest.raises(InvalidInput, match="There are: visits"):
        found["x"]


def test_a_curator_tells_its_tables_and_what_is_left(folder):  # noqa: F811
    curator = curator_of(folder, epsilon=2)
    assert repr(curator) == "Curator of clinic, with tables visits. ε = 2 left for ann."
    ward = next(column for column in curator.tables["visits"].columns if column.name == "ward")
    assert ward.keys == ("north", "south", "empty")
    check_html(curator._repr_html_())
    curator.close()
    assert repr(curator).startswith("Curator of clinic")


def test_a_balance_tells_who_spent_how_much(folder):  # noqa: F811
    curator = curator_of(folder, epsilon=2)
    curator.ask("SELECT count(*) FROM visits", epsilon=0.5)
    found = curator.budget()
    assert repr(found) == "clinic: ε = 0.5 of ε = 2 spent (25.0%), ε = 1.5 left; by ann 25.0%."
    check_html(found._repr_html_())
    assert "ann" in found._repr_html_()


def test_an_explanation_reads_as_sentences(folder):  # noqa: F811
    found = curator_of(folder, epsilon=2).explain(
        "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward", epsilon=0.5
    )
    lines = repr(found).splitlines()
    price = "Costs ε = 0.5, 25.0% of the budget; 4 such questions are left. Nothing has been spent."
    assert lines[0] == price
    assert re.fullmatch(r"  n     ± [\d,.]+ each, ± [\d,.]+ for all 3 at once", lines[2])
    assert lines[3].count("/ rows") == 2
    assert any(line.startswith("→") for line in lines)
    check_html(found._repr_html_())


PUBLIC = [
    (kind, name)
    for kind in (Answer, Curator, RemoteCurator, Frame)
    for name, value in vars(kind).items()
    if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
]


@pytest.mark.parametrize(("kind", "name"), PUBLIC, ids=lambda each: getattr(each, "__name__", each))
def test_every_public_method_says_what_it_does(kind, name):
    assert inspect.getdoc(getattr(kind, name))


@pytest.mark.parametrize("kind", [Curator, RemoteCurator])
@pytest.mark.parametrize("name", ["ask", "explain", "table", "tables", "budget"])
def test_what_people_call_most_has_an_example(kind, name):
    text = inspect.getdoc(getattr(kind, name))
    assert re.search(rf">>> curator\.{name}\b", text)


@pytest.mark.parametrize("kind", [Curator, RemoteCurator])
def test_ask_says_what_its_parameters_are(kind):
    text = inspect.getdoc(kind.ask)
    given = [name for name in inspect.signature(kind.ask).parameters if name != "self"]
    assert len(given) >= 5
    told = {name for names in re.findall(r"^([\w, ]+): ", text, re.MULTILINE) for name in names.split(", ")}
    assert set(given) - told == set()
