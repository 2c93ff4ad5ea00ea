"""The reference page's examples run, and give what the page says."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "accounting.md"


def test_the_examples_of_the_reference_page_run():
    pytest.importorskip("dp_accounting")
    results = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 20
    assert results.failed == 0
