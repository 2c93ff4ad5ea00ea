"""The glossary explains words that the documentation really uses."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs/explanation/glossary.md"
OTHERS = [page for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"] if page != GLOSSARY]
TEXT = " ".join(" ".join(page.read_text().split()) for page in OTHERS).lower()
ROWS = re.findall(r"^\| ([^|]+) \|.*\|$", GLOSSARY.read_text(), re.MULTILINE)
TERMS = [term.replace("`", "") for term in ROWS if term not in ("Our word", "Word")]
FIELD = [
    *("privacy unit", "contribution bounding", "partition selection", "top-k", "half-width", "one-hot"),
    *("sensitivity", "neighbours", "post-processing", "composition", "zCDP"),
]


def test_the_glossary_is_read():
    assert len(TERMS) > 40
    assert len(set(TERMS)) == len(TERMS)


@pytest.mark.parametrize("term", TERMS)
def test_each_term_appears_in_the_documentation(term):
    assert re.search(rf"\b{re.escape(term.lower())}s?\b", TEXT)


@pytest.mark.parametrize("word", FIELD)
def test_the_words_of_the_field_are_in_the_glossary_and_in_the_documentation(word):
    assert word in GLOSSARY.read_text()
    assert word.lower() in TEXT


@pytest.mark.parametrize("page", ["docs/index.md", "mkdocs.yml"])
def test_the_glossary_is_linked(page):
    assert "explanation/glossary.md" in (ROOT / page).read_text()
