"""Every registered claim holds, in every layer.

False alarms: the layers sensitivity, sampler and law have none. Each fit has at most 2·10⁻⁹ (two sides) and
each black box at most 10⁻⁶; with fewer than eighty of these this file fails by chance once in 12,000 runs.
"""

import pytest

from discreet.audit.report import planned_checks

CHECKS = planned_checks()


@pytest.mark.parametrize("check", CHECKS, ids=[check.name for check in CHECKS])
def test_the_claim_holds(check):
    for finding in check.run():
        assert finding.holds, finding


def test_every_mechanism_is_checked_in_all_five_layers():
    names = {check.name.split(":")[0] for check in CHECKS}
    assert names >= {"Sensitivity", "Selection range"}
    assert names >= {"Laplace sampler", "Gaussian sampler", "Threshold"}
    assert names >= {"Laplace", "Gaussian", "Randomized response", "Permute-and-flip"}
    assert names >= {"Exponential mechanism", "Sparse vector", "Laplace threshold", "Gaussian threshold"}
    assert names >= {"Subset selection", "Projective geometry", "Hadamard response", "Number", "Device"}
    assert names >= {"Laplace quantile tree", "Gaussian quantile tree", "Composition", "Filter"}
    assert names >= {"Learning", "Canary", "Profile", "Left out"}


def test_no_two_checks_share_a_name():
    assert len({check.name for check in CHECKS}) == len(CHECKS)
