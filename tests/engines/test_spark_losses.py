"""Executors of Spark that are killed amid a question: the right answer, or a clear error and the charge.

Spark starts them as processes of their own (`local-cluster`), in a process of the test's own.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.losing_executors import EPSILON, WARDS

pytestmark = pytest.mark.xdist_group("spark")

PATIENCE_SECONDS = 600
WORDS_OF_SPARK = (
    "xecutor",
    "SparkException",
    "org.apache",
    "py4j",
    "Py4J",
    "stage",
    "task",
    "SIGKILL",
    "137",
)


@pytest.fixture(scope="module")
def report(spark_programs, tmp_path_factory):  # noqa: ARG001
    folder = tmp_path_factory.mktemp("losses")
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engines.losing_executors", folder],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, errors
    return json.loads(output) | {"said": errors}


def counts(report, first):
    return {ward: sum(w == ward and p >= first for p, w in report["rows"]) for ward in WARDS}


def is_right(asked, report, first):
    """Whether it rounds to the true counts. The noise of a group has the scale 4/200, and is ½ or more with
    a probability of e⁻²⁵: all six of the three answers are right, or this fails, but for 10⁻¹⁰.
    """
    return {ward: round(n) for ward, n in asked["answer"].items()} == counts(report, first)


def test_one_executor_lost_changes_nothing(report):
    one = report["one"]
    assert report["executors"] == 2
    assert one["killed"] == 1
    assert one["lost"] >= 1  # a task of the question died with it
    assert one["error"] is None
    assert is_right(one, report, 1)


def test_all_executors_lost_is_told_in_our_words_and_stays_charged(report):
    failed = report["all"]
    assert failed["killed"] >= 2
    assert failed["answer"] is None
    kind, words = failed["error"]
    assert kind == "EngineFailed"
    assert "What was charged stays charged." in words
    assert not [word for word in WORDS_OF_SPARK if word in words]
    assert failed["left"] == [report["one"]["left"][1], report["one"]["left"][1] - EPSILON]


def test_nothing_of_spark_is_found_on_the_error_or_printed(report):
    for word in ("ExecutorLost", "SparkException", "Job aborted", "Lost task"):
        assert word not in report["all"]["everything"]
        assert word not in report["said"]


def test_asked_again_it_is_answered_without_another_charge(report):
    again = report["again"]
    assert is_right(again, report, 2)
    assert again["left"] == [report["all"]["left"][1]] * 2
    assert report["entries"].count("charged") == 3


def test_the_next_question_works(report):
    assert is_right(report["next"], report, 3)
    assert report["next"]["left"][1] == report["all"]["left"][1] - EPSILON


def test_a_spark_that_is_gone_is_told_before_the_charge(report):
    stopped = report["stopped"]
    assert stopped["error"] is not None
    assert stopped["left"][0] == stopped["left"][1]
    assert not [word for word in WORDS_OF_SPARK if word in stopped["error"][1]]
