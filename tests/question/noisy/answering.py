"""Questions over noisy answers, from their text to an answer, on rows that are given."""

from fractions import Fraction

from discreet.bounds.bound import bound
from discreet.bounds.leaves import NoisyPlan, calibrate_leaves
from discreet.dialects.duckdb import DUCKDB
from discreet.model.deadline import Deadline
from discreet.model.request import ByEpsilon, Request
from discreet.question.noisy.read_question import read_question
from discreet.question.parse import parse_question
from discreet.release.noisy.noisy_release import NoisyRelease
from tests.question.clinic import fan_out, public_keys

RELATIONS = {"visits": "visits", "labs": "labs", "wards": "wards", "t": "t"}


def read(sql, dataset):
    return read_question(parse_question(sql), dataset, public_keys, fan_out)


def release_of(sql, dataset, epsilon=1):
    request = Request(price=ByEpsilon(epsilon=Fraction(str(epsilon))), confidence=Fraction(95, 100))
    asked = read(sql, dataset)
    leaves = calibrate_leaves([bound(leaf, dataset) for leaf in asked.leaves], request, dataset)
    return NoisyRelease(plan=NoisyPlan(leaves=leaves, asked=asked, request=request), dataset=dataset)


def exact(release, connection):
    return [
        (statement, connection.execute(statement.sql).fetchnumpy())
        for statement in release.statements(RELATIONS, DUCKDB)
    ]


def drawn_answer(release, results):
    """One draw of the noise, and the answer that is computed from it."""
    stored = release.draw_noise(results, Deadline.after(600))
    return release.answer_from(release.identity(), stored, Deadline.after(600))


def answer(sql, dataset, connection, epsilon=1):
    release = release_of(sql, dataset, epsilon)
    return drawn_answer(release, exact(release, connection))
