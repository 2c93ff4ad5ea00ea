"""The client's own code, enumerated: its law is the claimed one, as fractions. No false alarms."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.local.mechanisms.projective import ProjectiveResponse
from tests.local.mechanisms.enumerated import exact_law
from tests.local.mechanisms.instances import ALL, CATEGORICAL

LAWS = {}


def laws_of(name):
    """For each answer, the law of the reports. Enumerated once."""
    if name not in LAWS:
        LAWS[name] = [exact_law(ALL[name], answer) for answer in range(ALL[name].answers)]
    return LAWS[name]


def all_reports(size):
    """Everything that one or two bytes can say."""
    integers = np.arange(256**size, dtype="<u4")
    return integers.view(np.uint8).reshape(-1, 4)[:, :size].copy()


@pytest.mark.parametrize("name", ALL)
def test_the_client_follows_the_claimed_law(name):
    mechanism = ALL[name]
    for answer, law in enumerate(laws_of(name)):
        assert sum(law.values()) == 1
        for report, probability in law.items():
            assert len(report) == mechanism.size
            assert mechanism.probability(report, answer) == probability


@pytest.mark.parametrize("name", ALL)
def test_a_report_is_possible_under_all_answers_or_none(name):
    assert len({frozenset(law) for law in laws_of(name)}) == 1


@pytest.mark.parametrize("name", ALL)
def test_odds_are_the_largest_ratio(name):
    laws = laws_of(name)
    chances = [[law[report] for law in laws] for report in laws[0]]
    ratios = [max(under) / min(under) for under in chances]
    assert ALL[name].odds == max(ratios)


@pytest.mark.parametrize("name", ALL)
def test_what_a_client_can_send_is_valid_and_nothing_else_is(name):
    mechanism = ALL[name]
    reports = all_reports(mechanism.size)
    accepted = {report.tobytes() for report in reports[mechanism.valid(reports)]}
    assert accepted == set(laws_of(name)[0])


def supported_by(mechanism, report):
    """The options that one report supports."""
    row = np.frombuffer(report, dtype=np.uint8)[None]
    return mechanism.support(mechanism.tally(row))


@pytest.mark.parametrize("name", CATEGORICAL)
def test_a_report_supports_the_options_that_make_it_likelier(name):
    """Or less likely, where the threshold is below the even chance."""
    mechanism = CATEGORICAL[name]
    likelier = mechanism.inside > mechanism.outside
    laws = laws_of(name)
    for report in laws[0]:
        chances = [law[report] for law in laws]
        supported = supported_by(mechanism, report)
        assert set(supported) <= {0, 1}
        favoured = max(chances) if likelier else min(chances)
        if len(set(chances)) > 1:
            assert [chance == favoured for chance in chances] == list(supported == 1)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_inside_and_outside_are_what_the_law_says(name):
    mechanism = CATEGORICAL[name]
    laws = laws_of(name)
    supports = {report: supported_by(mechanism, report) for report in laws[0]}
    for answer, law in enumerate(laws):
        for option in range(mechanism.answers):
            chance = sum((law[report] for report in law if supports[report][option]), Fraction(0))
            assert chance == (mechanism.inside if option == answer else mechanism.outside)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_many_reports_support_what_each_of_them_does(name):
    mechanism = CATEGORICAL[name]
    reports = list(laws_of(name)[0])
    chosen = np.random.default_rng().integers(len(reports), size=300)
    rows = np.array([np.frombuffer(reports[which], dtype=np.uint8) for which in chosen])
    tally = mechanism.tally(rows)
    assert tally.shape == (mechanism.cells,)
    assert mechanism.reports_in(tally) == 300
    assert list(mechanism.support(tally)) == list(sum(supported_by(mechanism, reports[i]) for i in chosen))
    assert list(mechanism.tally(rows[:100]) + mechanism.tally(rows[100:])) == list(tally)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_the_variance_is_that_of_the_law(name):
    """One report's estimate of the share of an option, for someone with it and for someone without."""
    mechanism = CATEGORICAL[name]
    law = laws_of(name)[0]
    for option, share in ((0, 1.0), (1, 0.0)):
        chance = float(sum(law[report] for report in law if supported_by(mechanism, report)[option]))
        gap = float(mechanism.inside - mechanism.outside)
        assert mechanism.variance(share) == pytest.approx(chance * (1 - chance) / gap**2, rel=1e-12)


@pytest.mark.parametrize(("prime", "coordinates"), [(2, 8), (3, 5), (11, 3), (53, 2)])
@pytest.mark.parametrize("largest", [3, 10**9])
def test_planes_are_counted_by_transforms_as_one_by_one(prime, coordinates, largest):
    """Also where there are as many reports as people on earth."""
    cells = (prime**coordinates - 1) // (prime - 1)
    mechanism = ProjectiveResponse.for_loss(Fraction(1), cells - 1, prime=prime, coordinates=coordinates)
    on_plane = mechanism.inside / ((prime ** (coordinates - 1) - 1) // (prime - 1))
    tally = np.random.default_rng().integers(largest, size=cells)
    expected = [
        sum(
            int(count)
            for report, count in enumerate(tally)
            if mechanism.probability(report.to_bytes(2, "little"), option) == on_plane
        )
        for option in range(mechanism.answers)
    ]
    assert mechanism.support(tally).tolist() == expected
