"""Why there is no connection, in our words."""

import pytest

from discreet.postgres.refusals import NO_DATABASE, why_unreachable


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", SSL off', "from here"),
        ('connection to server at "tls.example", port 5432 failed: Connection refused', "does not answer"),
        ("SSL error: certificate verify failed", "no encrypted connection"),
        ('FATAL:  permission denied for database "password"', "does not let this role in"),
        ("FATAL:  sorry, too many clients already", "no connection left"),
        ("FATAL:  the database system is starting up", "starts or stops"),
        ("connection timeout expired", "in time"),
        ("FATAL:  Passwort-Authentifizierung fehlgeschlagen", "cannot be reached"),
    ],
)
def test_refusals_that_the_tests_cannot_bring_about(words, hint):
    assert hint in why_unreachable(words).problem


def test_what_is_in_a_database_says_so():
    assert NO_DATABASE.problem_inside == "is in a database that is not there."
    assert why_unreachable("Connection refused").problem_inside == "is on a server that does not answer."


@pytest.mark.parametrize(
    ("words", "may_pass"),
    [
        ("Connection refused", True),
        ("FATAL:  sorry, too many clients already", True),
        ("FATAL:  the database system is starting up", True),
        ("words that nobody knows", True),
        ('FATAL:  database "d" does not exist', False),
        ("FATAL:  password authentication failed", False),
    ],
)
def test_what_may_be_over_soon(words, may_pass):
    assert why_unreachable(words).may_pass is may_pass
