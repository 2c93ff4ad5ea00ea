"""A question imports what it needs; what an analyst says beside it is written once, and shown to them."""

import inspect
import json
import subprocess
import sys

import pytest

from discreet.curator import Curator
from discreet.curator.synthetic_tables import SyntheticTables
from discreet.curator.terms import QuestionTerms, RowTerms, SynthesisTerms, price_of_rows
from discreet.model.request import request_of
from tests.attacks.ask import Clinic

ASKED = """
import json, sys, discreet
with discreet.open({policy!r}, analyst="ann") as curator:
    curator.explain("SELECT count(*) AS n FROM visits", epsilon=1)
    curator.ask("SELECT count(*) AS n FROM visits", epsilon=1)
    {more}
heavy = ("discreet.synth", "discreet.learn", "sklearn", "torch")
print(json.dumps(sorted(name for name in sys.modules if name.startswith(heavy))))
"""
MADE = 'curator.plan_synthesis("SELECT ward, age FROM visits", epsilon=1)'


def imported(clinic, more="pass"):
    code = ASKED.format(policy=str(clinic.policy), more=more)
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(told.stdout)


def test_a_count_imports_no_synthesis_and_no_models(tmp_path):
    clinic = Clinic(tmp_path)
    assert imported(clinic) == []
    assert "discreet.synth.plan.synthesis_plan" in imported(clinic, MADE)


@pytest.mark.parametrize(
    ("methods", "terms", "reader"),
    [
        (["plan", "ask", "explain"], QuestionTerms, request_of),
        (["plan_synthesis", "explain_synthesis", "synthesize"], SynthesisTerms, SyntheticTables.plan),
        (["plan_fit", "explain_fit", "fit", "check_synthetic"], RowTerms, price_of_rows),
    ],
)
def test_the_signature_that_is_shown_is_the_one_that_is_read(methods, terms, reader):
    read = {
        name: each.default
        for name, each in inspect.signature(reader).parameters.items()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert set(read) == set(terms.__annotations__)
    for method in methods:
        shown = inspect.signature(getattr(Curator, method)).parameters
        assert {name: shown[name].default for name in read} == read
        assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in shown.values())


def test_a_keyword_that_is_not_known_is_refused_in_the_name_of_the_method(tmp_path):
    with Clinic(tmp_path).open() as curator:
        with pytest.raises(TypeError, match=r"^Curator\.ask\(\) got .* 'epsilo'"):
            curator.ask("SELECT count(*) AS n FROM visits", epsilo=1)
        with pytest.raises(TypeError, match=r"^Curator\.synthesize\(\) got .* 'bin'"):
            curator.synthesize("SELECT ward, age FROM visits", epsilon=1, bin=3)
