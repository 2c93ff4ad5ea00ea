"""What is public is documented, and what is documented is true."""

import doctest
import re
from pathlib import Path

import click
import pytest

import discreet
from discreet import errors
from discreet.apps.commands.main import main
from discreet.model.neighbours import Neighbours
from discreet.model.policy import ValueType
from discreet.policy.reader import SETTINGS, read_policy
from discreet.question.frame import Frame

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*DOCS, ROOT / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_run_as_shown(page):
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert result.failed == 0


@pytest.fixture(scope="module")
def clinic():
    """The curator that the page of questions makes."""
    page = ROOT / "docs/reference/questions.md"
    test = doctest.DocTestParser().get_doctest(page.read_text(), {}, "questions", str(page), 0)
    test.examples = test.examples[
        : next(i for i, e in enumerate(test.examples) if "discreet.open" in e.source) + 1
    ]
    doctest.DocTestRunner().run(test, clear_globs=False)
    return test.globs["curator"]


def test_every_question_of_the_page_can_be_asked(clinic):
    page = (ROOT / "docs/reference/questions.md").read_text()
    questions = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    assert len(questions) > 10
    for question in questions:
        assert clinic.explain(question, epsilon=0.1).questions_left > 0


def test_what_the_page_says_is_refused_is_refused_and_the_rest_is_not(clinic):
    page = (ROOT / "docs/reference/questions.md").read_text()
    rows = re.findall(r"^\| `(SELECT .*?)` \| .*? \| `(SELECT .*?)` \|$", page, re.MULTILINE)
    assert len(rows) > 10
    for refused, instead in rows:
        with pytest.raises(errors.QueryRefused):
            clinic.explain(refused, epsilon=0.1)
        assert clinic.explain(instead, epsilon=0.1).questions_left > 0


def test_every_public_name_is_documented():
    reference = (ROOT / "docs/reference/python.md").read_text()
    assert [name for name in discreet.__all__ if f"`{name}`" not in reference] == []


def test_every_public_method_of_a_mechanism_is_documented():
    pages = "".join(page.read_text() for page in (ROOT / "docs/reference").glob("*.md"))
    for name in ("DiscreteLaplace", "RandomizedResponse", "PermuteAndFlip", "ExponentialMechanism"):
        methods = [method for method in vars(getattr(discreet, name)) if not method.startswith("_")]
        assert [method for method in methods if method not in pages] == [], name
    for name in ("StabilityThreshold", "QuantileTree", "NoisyTree", "PureFilter", "ConcentratedFilter"):
        methods = [method for method in vars(getattr(discreet, name)) if not method.startswith("_")]
        assert [method for method in methods if method not in pages] == [], name


def test_every_step_of_a_question_in_python_is_documented():
    page = (ROOT / "docs/reference/questions.md").read_text()
    steps = [name for name, value in vars(Frame).items() if callable(value) or isinstance(value, property)]
    assert len(steps) > 15
    assert [step for step in steps if not step.startswith("_") and f"`{step}" not in page] == []


def commands(group=main, prefix=""):
    """Every command, also those in groups, by the words that call it."""
    for name, command in group.commands.items():
        yield prefix + name, command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")


def test_every_command_and_option_is_documented():
    page = (ROOT / "docs/reference/cli.md").read_text()
    for name, command in commands():
        assert f"discreet {name}" in page
        for parameter in command.params:
            assert all(option in page for option in parameter.opts if option.startswith("--")), parameter


def test_every_command_has_an_example_in_its_help():
    for name, command in commands():
        help_text = command.get_help(click.Context(command))
        assert re.search(rf"Examples?:\n\s+discreet {name}", help_text), name


def test_every_setting_of_a_policy_is_documented():
    page = (ROOT / "docs/reference/policy.md").read_text()
    settings = {setting for section in SETTINGS.values() for setting in section}
    types = {kind.value for kind in ValueType} | {relation.value for relation in Neighbours}
    assert [
        name for name in sorted(settings | types) if f"`{name}" not in page and f"{name}`" not in page
    ] == []


def test_the_policy_in_the_documentation_is_one(tmp_path):
    examples = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/reference/policy.md").read_text(), re.DOTALL)
    assert examples
    for example in examples:
        (tmp_path / "discreet.toml").write_text(example)
        assert read_policy(tmp_path / "discreet.toml").dataset.name == "clinic"


def test_every_error_is_documented_and_in_the_tree():
    page = (ROOT / "docs/reference/errors.md").read_text()
    for name, kind in vars(errors).items():
        if isinstance(kind, type):
            assert f"`{name}`" in page
            assert name in errors.__doc__


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in DOCS:
        assert str(page.relative_to(ROOT / "docs")) in navigation


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_heading_begins_with_a_digit(page):
    """The scripts of the site cannot follow to one, and stop."""
    assert not re.search(r"^#+ [0-9]", page.read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_broken(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_test_and_bench_that_is_named_exists():
    pages = "".join(page.read_text() for page in PAGES)
    files = set(re.findall(r"`((?:tests|bench)/[\w/.]+)", pages))
    functions = set(re.findall(r"`(test_\w+)_…`", pages))
    suite = "".join(file.read_text() for file in (ROOT / "tests").rglob("*.py"))
    assert len(files) > 30
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []
    assert [name for name in sorted(functions) if f"def {name}_" not in suite] == []
