"""What an owner can ask of analysts: a purpose, and a price for those who name none."""

import pytest

import discreet
from discreet.errors import InvalidInput, PolicyError, QueryRefused
from discreet.ledger.interface import EntryKind
from discreet.model.privacy import PureLoss
from discreet.policy.reader import read_policy
from tests.apps.clinic import run
from tests.curator.test_curator import curator_of, folder  # noqa: F401  a fixture

COUNT = "SELECT count(*) AS n FROM visits"


@pytest.fixture
def ruled(folder):  # noqa: F811
    """A function that opens the clinic with more settings of its dataset."""

    def opened(rules, **options):
        curator_of(folder, epsilon=2).close()
        policy = folder / "clinic.toml"
        text = policy.read_text().split("[dataset]\n", 1)[1]
        policy.write_text(f"[dataset]\n{rules}\n{text}")
        return discreet.open(policy, analyst="ann", **options)

    return opened


def purposes(curator):
    return [entry.note for entry in curator.entries() if entry.kind is EntryKind.CHARGED]


def test_a_purpose_that_is_required_is_asked_for_before_the_charge(ruled):
    curator = ruled('purpose = "required"')
    for words in ({}, {"purpose": ""}, {"purpose": "  "}):
        with pytest.raises(QueryRefused, match="purpose="):
            curator.ask(COUNT, epsilon=0.5, **words)
    assert curator.budget().spent == PureLoss(epsilon=0)
    curator.ask(COUNT, epsilon=0.5, purpose="Table 2 of the report")
    assert purposes(curator) == ["Table 2 of the report"]
    curator.verify_ledger()


def test_what_is_free_needs_no_purpose(ruled):
    curator = ruled('purpose = "required"')
    curator.ask(COUNT, epsilon=0.5, purpose="first")
    assert curator.ask(COUNT, epsilon=0.5).repeated
    assert curator.ask(COUNT, epsilon=0.2).repeated
    assert curator.explain(COUNT, epsilon=0.6).epsilon == pytest.approx(0.6)


def test_a_curator_can_be_opened_for_a_purpose(ruled):
    curator = ruled('purpose = "required"', purpose="the yearly report")
    curator.ask(COUNT, epsilon=0.1)
    curator.ask(COUNT, epsilon=0.2, purpose="something else")
    curator.profile("visits", epsilon=0.1)
    assert purposes(curator) == ["the yearly report", "something else", "the yearly report"]
    bob = curator.for_analyst("bob")
    with pytest.raises(QueryRefused, match="purpose="):
        bob.ask(COUNT, epsilon=0.3)


def test_a_purpose_is_kept_with_a_reading_of_a_cached_table(folder):  # noqa: F811
    """It was not passed on, so that it was asked for, again and again."""
    curator_of(folder, epsilon=2).close()
    policy = folder / "clinic.toml"
    text = policy.read_text().replace("[dataset]", '[dataset]\npurpose = "required"', 1)
    cached = 'answers = "cached"\ncached_columns = ["ward"]'
    policy.write_text(text.replace("[tables.visits]", f"[tables.visits]\n{cached}", 1))
    with discreet.open(policy, analyst="ann") as curator:
        curator.ask("SELECT count(*) AS n FROM visits WHERE ward = 'north'", within=50, purpose="a reading")
        assert purposes(curator) == ["a reading"]


def test_a_purpose_that_is_not_required_is_kept_too(ruled):
    curator = ruled('purpose = "optional"')
    curator.ask(COUNT, epsilon=0.1)
    curator.ask(COUNT, epsilon=0.2, purpose="because")
    assert purposes(curator) == ["", "because"]
    with pytest.raises(InvalidInput, match="purpose"):
        curator.ask(COUNT, epsilon=0.3, purpose="x" * 10_000)


def test_the_command_line_has_it(ruled, folder):  # noqa: F811
    ruled('purpose = "required"').close()
    rest = ("--epsilon", 0.1, "--policy", folder / "clinic.toml")
    refused = run("ask", COUNT, *rest)
    assert refused.exit_code == 2
    assert "--purpose" in refused.output
    assert run("ask", COUNT, *rest, "--purpose", "Table 1").exit_code == 0
    assert "Table 1" in run("ledger", "export", "--policy", folder / "clinic.toml").output
    assert "Table 1" in run("budget", "--policy", folder / "clinic.toml", "--format", "json").output


def test_a_default_price_is_paid_by_those_who_name_none(ruled):
    curator = ruled("default_price = 0.25")
    assert curator.explain(COUNT).epsilon == pytest.approx(0.25)
    assert curator.ask(COUNT).charged == PureLoss(epsilon=0.25)
    assert curator.ask(COUNT, epsilon=0.5).charged == PureLoss(epsilon=0.5)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('purpose = "requird"', "Did you mean “required”"),
        ("purpose = true", "purpose"),
        ("default_price = 3", "default_price is above 2"),
        ("default_price = 0", "default_price"),
        ('default_price = "0.1"', "default_price"),
        ("min_peple = 3", "min_people"),
    ],
)
def test_a_rule_that_is_none_is_refused(ruled, folder, rule, said):  # noqa: F811
    with pytest.raises(PolicyError, match=said):
        ruled(rule)
    with pytest.raises(PolicyError, match=said):
        read_policy(folder / "clinic.toml")
