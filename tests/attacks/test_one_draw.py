"""Attack G1: one charge, many draws. Whatever fails or is stopped, noise is not drawn again for nothing.

Who can make a draw fail, or watch how long it takes, learns something of it; if the next draw were free, any
number of them could be had for one price. Processes that are killed: tests/curator/test_ask_durability.py.
"""

import os

import pytest

from discreet import DiscreetError, EngineFailed, LedgerClosed, QueryRefused
from discreet.engines.base.execution import failed
from discreet.ledger.interface import EntryKind
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.release import question_release as path

from .ask import stored_bytes

BY_WARD = "SELECT ward, avg(cost) AS mean, count(*) AS n FROM visits GROUP BY ward HAVING count(*) > 0"
SYNTH = "SELECT ward, age FROM visits"
FAILURES = [MemoryError, KeyboardInterrupt, DiscreetError("The answer is too large.", remedy="Ask for less.")]


@pytest.fixture
def draws(monkeypatch):
    """All that is drawn for questions."""
    found, honest = [], path.draw_noise

    def draw_noise(plan, results):
        found.append(honest(plan, results))
        return found[-1]

    monkeypatch.setattr(path, "draw_noise", draw_noise)
    return found


def spent(clinic):
    return float(clinic.spent().epsilon)


def charges(clinic):
    with clinic.open() as curator:
        return sum(entry.kind is EntryKind.CHARGED for entry in curator._ledger.entries("clinic"))


def raising(failure):
    def fails(*_, **__):
        raise failure

    return fails


@pytest.mark.parametrize("failure", FAILURES, ids=["no memory", "Ctrl-C", "too large"])
def test_g1_what_fails_after_the_draw_is_computed_again_from_the_same_draw(
    clinic, draws, monkeypatch, failure
):
    """HAVING, ORDER BY, outputs, intervals, encoding: all of it comes after the noisy numbers are stored."""
    for _ in range(30):
        with monkeypatch.context() as patched:
            patched.setattr(path, "answer_from", raising(failure))
            with pytest.raises(BaseException) as raised:  # noqa: PT011  also Ctrl-C
                clinic.open().ask(BY_WARD, epsilon=0.1)
            clinic.see_error(raised.value)
    answer = clinic.ask(BY_WARD, epsilon=0.1)
    assert (len(draws), charges(clinic), spent(clinic)) == (1, 1, 0.1)
    assert answer.repeated
    assert clinic.leaks() == []


@pytest.mark.parametrize("failure", FAILURES, ids=["no memory", "Ctrl-C", "too large"])
def test_g1_a_draw_that_was_not_stored_is_paid_for_and_the_next_one_too(clinic, draws, monkeypatch, failure):
    for _ in range(3):
        with monkeypatch.context() as patched:
            patched.setattr(SqliteLedger, "store_answer", raising(failure))
            with pytest.raises(BaseException):  # noqa: B017, PT011  also Ctrl-C
                clinic.open().ask(BY_WARD, epsilon=0.1)
    clinic.ask(BY_WARD, epsilon=0.1)
    assert (len(draws), charges(clinic), spent(clinic)) == (4, 4, 0.4)


def test_g1_a_draw_that_fails_halfway_is_paid_for(clinic, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(path, "draw_noise", raising(MemoryError))
        with pytest.raises(EngineFailed, match="charged anew"):
            clinic.ask(BY_WARD, epsilon=0.1)
    clinic.ask(BY_WARD, epsilon=0.1)
    assert (charges(clinic), spent(clinic)) == (2, 0.2)


def test_g1_the_same_draw_gives_the_same_answer_to_the_last_bit(clinic):
    """Intervals that are simulated, too: by chance, two runs would agree less than once in 10⁶."""
    question = "SELECT ward, avg(cost) AS mean, 2 * count(*) / avg(age) AS odd FROM visits GROUP BY ward"
    first, again = clinic.ask(question, epsilon=0.5), clinic.ask(question, epsilon=0.5)
    assert again.repeated
    assert stored_bytes(first) == stored_bytes(again)


def test_g1_a_synthetic_table_is_made_again_from_the_same_draw(clinic, monkeypatch):
    from discreet.synth.plan import synthesis_plan as plan

    curator = clinic.open()
    table = curator.synthesize(SYNTH, epsilon=1)
    with monkeypatch.context() as patched:
        patched.setattr(plan, "fitted", raising(MemoryError))
        with pytest.raises(MemoryError):
            table.rows(10)
    again = clinic.open().synthesize(SYNTH, epsilon=1)
    assert (again.encoded, again.repeated, charges(clinic)) == (table.encoded, True, 1)


@pytest.mark.parametrize("what", ["synthesize", "fit"])
def test_g1_a_table_or_a_model_that_was_drawn_and_not_stored_is_charged_anew(clinic, monkeypatch, what):
    def make():
        if what == "synthesize":
            return clinic.open().synthesize(SYNTH, epsilon=1)
        from discreet.learn import LinearRegression

        return clinic.open().fit(LinearRegression(), "SELECT age, cost FROM visits", epsilon=1)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteLedger, "store_answer", raising(LedgerClosed("Full.", remedy="Make room.")))
        with pytest.raises(LedgerClosed):
            make()
    make()
    assert (charges(clinic), spent(clinic)) == (2, 2)
    make()
    assert charges(clinic) == 2


def test_g1_what_is_too_large_to_be_stored_is_refused_before_the_charge(clinic, draws, monkeypatch):
    """Its size follows from the question and the policy alone."""
    groups = "SELECT age, ward, count(*) AS n, sum(cost) AS total FROM visits GROUP BY age, ward"
    for sql in (groups, "SELECT ward, median(cost) AS middle FROM visits GROUP BY ward"):
        clinic.open().explain(sql, epsilon=1)
        with monkeypatch.context() as patched:
            patched.setattr("discreet.release.drawn.LARGEST_ANSWER", 2**20 + 2_000)
            for asking in (clinic.open().explain, clinic.open().ask):
                with pytest.raises(QueryRefused, match="too many to be stored"):
                    asking(sql, epsilon=1)
    assert (draws, spent(clinic)) == ([], 0)


def test_g1_a_child_that_is_forked_before_the_draw_draws_nothing(clinic, draws):
    curator, parent, statuses = clinic.open(), os.getpid(), []

    def fork(share):
        if share == 1.0 and os.getpid() == parent:
            child = os.fork()
            if child:
                statuses.append(os.waitpid(child, 0)[1])

    curator.watch = fork
    try:
        curator.ask(BY_WARD, epsilon=0.1)
    except EngineFailed as error:
        if os.getpid() != parent:
            os._exit(0 if "forked" in str(error) and not draws else 1)
        raise
    finally:
        if os.getpid() != parent:
            os._exit(2)
    assert (statuses, len(draws), charges(clinic)) == ([0], 1, 1)


def test_g1_a_child_whose_database_fails_gives_no_charge_back(clinic, draws, monkeypatch):
    """Forked between two statements, by a handler of signals. Its parent draws for the charge."""
    curator, parent, statuses = clinic.open(), os.getpid(), []
    honest = type(curator._engine).run_each

    def run_each(*given, **terms):
        child = os.fork()
        if child == 0:
            raise failed()
        statuses.append(os.waitpid(child, 0)[1])
        return honest(*given, **terms)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(type(curator._engine), "run_each", run_each)
            patched.setattr(SqliteLedger, "store_answer", raising(LedgerClosed("Full.", remedy="Make room.")))
            with pytest.raises(LedgerClosed):
                curator.ask("SELECT count(*) AS n FROM visits", epsilon=0.1)
    except EngineFailed as error:
        os._exit(0 if os.getpid() != parent and "forked" in str(error) else 1)
    finally:
        if os.getpid() != parent:
            os._exit(2)
    curator.ask("SELECT count(*) AS n FROM visits", epsilon=0.1)
    assert (statuses, len(draws), charges(clinic)) == ([0], 2, 2)
