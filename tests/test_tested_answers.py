"""Guesses that are tested, end to end: real files, a real engine, a real ledger."""

import os
import threading
from contextlib import nullcontext
from fractions import Fraction
from math import log, sqrt

import duckdb
import numpy as np
import pytest

from discreet.apps.session import open_curator
from discreet.audit.own import audit_mechanism
from discreet.audit.sparse_claims import transcript_law
from discreet.errors import BudgetExceeded, EngineFailed, LedgerClosed
from discreet.ledger.ledger import Kind
from discreet.synth.online.cache import _Known
from discreet.synth.online.histogram import Histogram
from discreet.synth.online.online import Online
from discreet.synth.online.tested import TryGuess

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = {epsilon}, delta = {delta} }}
least_price = 1e-9
{more}
[tables.visits]
source = "visits.parquet"
person = "patient"
{rows}
answers = "cached"
cached_columns = ["ward", "age"]

[tables.visits.columns.age]
bounds = [0, 9]

[tables.visits.columns.ward]
keys = ["north", "south", "west"]
"""
ROWS = (
    "SELECT range % 4000 AS patient, ['north', 'south', 'west'][1 + (range % 7)::INT % 3] AS ward,"
    " range % 10 AS age FROM range({rows})"
)
OLD = "SELECT count(*) AS old FROM visits WHERE age > 4"
YOUNG = "SELECT count(*) AS young FROM visits WHERE age < 3"
WITHIN = 60
BOTH = pytest.mark.parametrize("delta", ["0", "1e-6"])


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path)


def made(folder, *, epsilon=1000.0, delta="0", rows=6000, unique=False, more=""):
    folder.mkdir(exist_ok=True)
    duckdb.sql(f"COPY ({ROWS.format(rows=rows)}) TO '{folder}/visits.parquet'")
    bounded = "unique = true" if unique else "max_rows = 2"
    (folder / "clinic.toml").write_text(POLICY.format(epsilon=epsilon, delta=delta, rows=bounded, more=more))
    return folder


def curator_of(folder, analyst="ann"):
    return open_curator(folder / "clinic.toml", analyst=analyst)


def guesses_of(curator):
    curator.explain(OLD, within=WITHIN)  # looks at the ledger
    return curator._cached.caches["visits"]._known.tester


def ready(curator):
    """A process that paid much for questions whose guess was right; it may start a run."""
    may_start(guesses_of(curator))
    return curator


def may_start(tester):
    own = tester._own
    own.paid = own.passable = Fraction(10**6)
    own.record.extend([(50.0, 0.1, 0.1)] * 64)
    return own


@pytest.fixture(autouse=True)
def guesses(monkeypatch):
    """What is guessed, by attributes; the exact count unless a test says otherwise."""
    found = {"off": 0.0}
    monkeypatch.setattr(Online, "people", lambda self: 6000.0)
    monkeypatch.setattr(Histogram, "guess", lambda self, question, people: found["guess"] + found["off"])
    found["guess"] = 3000.0
    return found


FAR = 10**5  # farther off than any noise: e⁻⁵⁰⁰⁰


def amount(loss):
    return loss.epsilon if hasattr(loss, "epsilon") else loss.rho


def spent(curator):
    return amount(curator.budget().spent)


def keys(curator, kind=Kind.CHARGED):
    return [entry.key for entry in curator._ledger.entries("clinic") if entry.kind is kind]


def runs(curator):
    """Those that were claimed."""
    return sum(":run:" in key for key in keys(curator, Kind.ANSWERED))


@BOTH
def test_a_guess_that_passes_costs_its_run_and_the_next_costs_nothing(tmp_path, delta):
    """The threshold is 4 scales above nothing: made certain by its secret, in the test alone."""
    curator = ready(curator_of(made(tmp_path, delta=delta)))
    told = curator.explain(OLD, within=WITHIN)
    assert "tested" in told.way
    assert spent(curator) == 0
    answer = always(curator, OLD)
    assert answer.scalar() == 3000
    assert not answer.cached
    assert answer.interval("old")[0][0] == 3000 - WITHIN
    assert answer.interval("old")[1][0] == 3000 + WITHIN
    assert amount(answer.charged) == spent(curator) > 0
    assert amount(told.loss) > amount(answer.charged)
    assert runs(curator) == 1
    before = spent(curator)
    told = curator.explain(YOUNG, within=WITHIN)
    assert "paid for already" in told.way
    answer = always(curator, YOUNG)
    assert answer.cached
    assert "free" in answer.price()
    assert spent(curator) == before
    curator._ledger.verify()


def always(curator, sql, *, passes=True, within=WITHIN, **more):
    """Ask with a test whose outcome is certain: what is compared is moved far below, or above."""
    tester = curator._cached.caches["visits"]._known.tester
    honest, seen = tester.passes, []

    def sure(test, exact):
        seen.append(exact)
        return honest(test, test.guess + (0 if passes else FAR * 2**20))

    starts = tester.begin

    def low(test):
        starts(test)
        tester._own.run._noisy_threshold = int(50 * test.mechanism.answer_scale)

    tester.passes, tester.begin = sure, low
    try:
        return curator.ask(sql, within=within, **more)
    finally:
        tester.passes, tester.begin = honest, starts


@BOTH
def test_a_guess_that_fails_is_paid_and_the_run_is_over(tmp_path, delta):
    curator = ready(curator_of(made(tmp_path, delta=delta)))
    told = curator.explain(OLD, within=WITHIN)
    answer = always(curator, OLD, passes=False)
    assert not answer.cached
    assert float(amount(answer.charged)) == pytest.approx(float(amount(told.loss)), rel=1e-6)
    assert spent(curator) == amount(answer.charged)
    assert runs(curator) == 1
    (low,), (high,) = answer.interval("old")
    assert high - low == pytest.approx(2 * WITHIN, rel=1e-3)  # at 97.5 %: the test may have missed too
    assert answer.released.confidence == 0.95
    assert guesses_of(curator)._own.run is None
    assert "test" not in curator.explain(YOUNG, within=WITHIN).way
    again = curator.ask(OLD, within=WITHIN)
    assert again.cached
    assert again.scalar() == answer.scalar()


def test_the_exact_count_is_what_is_compared(folder):
    """6,000 rows, each in full: 3,000 of them old, 1,800 young."""
    for sql, count in ((OLD, 3000), (YOUNG, 1800)):
        curator = ready(curator_of(folder))
        tester, seen = guesses_of(curator), []
        honest = tester.passes
        tester.passes = lambda test, exact, seen=seen, honest=honest: (
            seen.append(exact) or honest(test, exact)
        )
        curator.ask(sql, within=WITHIN)
        unit = curator._cached.caches["visits"]._known.online.pricing.unit
        assert seen == [count * unit]


def test_the_same_question_is_the_same_answer_for_everybody_and_after_a_restart(folder, guesses):
    curator = ready(curator_of(folder))
    first = always(curator, OLD)
    guesses["off"] = 7.0  # what would be guessed later
    for other in (curator, curator_of(folder), curator_of(folder, analyst="bob")):
        before = spent(other)
        assert "free" in other.explain(OLD, within=WITHIN).way
        again = other.ask(OLD, within=WITHIN)
        assert again.cached
        assert (again.scalar(), again.interval("old")) == (first.scalar(), first.interval("old"))
        assert other.ask(OLD, within=WITHIN + 5, confidence=0.9).scalar() == first.scalar()
        assert spent(other) == before
    for closer in ({"within": WITHIN - 1}, {"within": WITHIN, "confidence": 0.99}):
        assert "follows from" not in curator_of(folder).explain(OLD, **closer).way


def test_the_same_question_within_less_is_tested_and_kept_by_itself(folder, guesses):
    curator = ready(curator_of(folder))
    always(curator, OLD)
    guesses["off"] = 7.0
    closer = always(curator, OLD, within=WITHIN - 10)
    assert closer.scalar() == 3007
    assert closer.interval("old")[1][0] - closer.interval("old")[0][0] == 2 * (WITHIN - 10)
    assert curator.ask(OLD, within=WITHIN).scalar() == 3000
    assert curator.ask(OLD, within=WITHIN - 10).scalar() == 3007


def test_the_run_is_charged_before_data_is_read_and_what_passed_is_stored_before_it_is_shown(folder):
    curator = ready(curator_of(folder))
    calls = []
    for honest, names in ((curator._engine, ("run_each",)), (curator._ledger, ("charge", "store_answer"))):
        for name in names:
            plain = getattr(honest, name)
            setattr(
                honest,
                name,
                lambda *args, name=name, plain=plain, **named: calls.append(name) or plain(*args, **named),
            )
    cache = curator._cached.caches["visits"]
    cache._ledger = curator._ledger
    always(curator, OLD)
    assert calls == ["charge", "store_answer", "run_each", "charge", "store_answer"]
    calls.clear()
    always(curator, YOUNG, passes=False)
    assert calls == ["run_each", "charge", "run_each", "store_answer"]


def test_explaining_charges_nothing_reads_nothing_and_starts_nothing(folder, monkeypatch):
    curator = ready(curator_of(folder))
    monkeypatch.setattr(curator._engine, "run_each", lambda *_, **__: pytest.fail("data was read"))
    for _ in range(3):
        assert "tested" in curator.explain(OLD, within=WITHIN).way
    assert keys(curator) == []
    assert guesses_of(curator)._own.run is None


def test_a_new_process_has_no_run_and_is_owed_none(folder):
    always(ready(curator_of(folder)), OLD)
    other = curator_of(folder)
    assert "paid by itself" in other.explain(YOUNG, within=WITHIN).way
    assert not other.ask(YOUNG, within=WITHIN).cached
    assert runs(other) == 1


def test_two_processes_have_a_run_each_and_each_is_charged(folder):
    ann, bob = ready(curator_of(folder)), ready(curator_of(folder, analyst="bob"))
    one = always(ann, OLD).charged
    two = always(bob, YOUNG).charged
    assert one == two
    assert runs(ann) == 2
    assert spent(ann) == amount(one) + amount(two)
    assert ann.budget().analysts["bob"] == two


def test_two_processes_that_start_at_once_do_not_share_a_charge(folder):
    """As on two machines: both charge under one key; the one that claims it second charges another."""
    ann, bob = ready(curator_of(folder)), ready(curator_of(folder, analyst="bob"))
    for curator in (ann, bob):
        curator._ledger.asking = lambda *_: nullcontext()
    ledger = ann._cached.caches["visits"]._ledger
    plain, met = ledger.charge, []

    def in_between(*args, **named):
        receipt = plain(*args, **named)
        if not met:
            met.append(receipt)
            always(bob, YOUNG)
        return receipt

    ledger.charge = in_between
    always(ann, OLD)
    assert runs(ann) == 2
    claims = {ledger.stored_answer("clinic", key)[1] for key in keys(ann) if ":run:" in key}
    assert len(claims) == 2


def test_g1_a_run_that_was_charged_and_not_claimed_is_charged_anew(folder):
    curator = ready(curator_of(folder))
    ledger = curator._cached.caches["visits"]._ledger

    def dies(*_, **__):
        raise LedgerClosed("The disk is full.", remedy="Make room.")

    plain, ledger.store_answer = ledger.store_answer, dies
    with pytest.raises(LedgerClosed):
        curator.ask(OLD, within=WITHIN)
    ledger.store_answer = plain
    before = spent(curator)
    assert before > 0
    answer = always(ready(curator_of(folder)), OLD)
    assert answer.scalar() == 3000
    assert spent(curator) == 2 * before
    assert runs(curator) == 1


@pytest.mark.parametrize(
    "failure", [EngineFailed("The database stopped.", remedy="Again."), KeyboardInterrupt()]
)
def test_g1_a_test_that_failed_or_was_stopped_ends_its_run(folder, monkeypatch, failure):
    """Else one paid run would buy any number of looks at questions that are stopped."""
    curator = ready(curator_of(folder))

    def fails(*_, **__):
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(curator._engine, "run_each", fails)
        with pytest.raises(type(failure)):
            curator.ask(OLD, within=WITHIN)
    assert spent(curator) > 0
    assert guesses_of(curator)._own.run is None
    assert "paid for already" not in curator.explain(OLD, within=WITHIN).way


def test_a_failed_test_whose_payment_is_refused_loses_only_the_run(folder):
    curator = ready(curator_of(folder))
    tester = guesses_of(curator)
    honest = tester.passes

    def and_then_nothing_is_left(test, _):
        found = honest(test, test.guess + FAR * 2**20)
        left = curator.budget().left
        curator._ledger.charge("clinic", analyst="eve", question="all", key="all", loss=left)
        return found

    tester.passes = and_then_nothing_is_left
    with pytest.raises(BudgetExceeded):
        curator.ask(OLD, within=WITHIN)
    assert tester._own.run is None
    assert [key for key in keys(curator) if key != "all"] == [key for key in keys(curator) if ":run:" in key]
    curator._ledger.verify()


def test_what_may_not_cost_the_worst_case_is_not_tested(tmp_path):
    alone = curator_of(made(tmp_path / "free")).explain(OLD, within=WITHIN).loss.epsilon
    capped = f"[dataset.per_question]\nepsilon = {float(alone) * 1.2}\n"
    curator = ready(curator_of(made(tmp_path / "capped", more=capped)))
    assert "paid by itself" in curator.explain(OLD, within=WITHIN).way
    curator.ask(OLD, within=WITHIN)
    assert runs(curator) == 0
    poor = ready(curator_of(made(tmp_path / "poor", epsilon=float(alone) * 1.2)))
    poor.ask(OLD, within=WITHIN)
    assert runs(poor) == 0


def test_a_forked_process_drops_the_run(folder, monkeypatch):
    curator = ready(curator_of(folder))
    always(curator, OLD)
    assert "paid for already" in curator.explain(YOUNG, within=WITHIN).way
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert "paid by itself" in curator.explain(YOUNG, within=WITHIN).way


def test_new_data_begins_without_a_run_and_without_what_passed(folder):
    curator = ready(curator_of(folder))
    always(curator, OLD)
    curator._ledger.refresh("clinic")
    assert "paid by itself" in curator.explain(OLD, within=WITHIN).way
    assert guesses_of(curator)._own.run is None


def test_threads_share_one_run(folder):
    """Eight at once; what fails ends the run, and no other is owed."""
    curator = ready(curator_of(folder))
    answers, errors = [], []

    def ask(age):
        try:
            answers.append(curator.ask(f"SELECT count(*) FROM visits WHERE age <> {age}", within=WITHIN))
        except Exception as error:  # none is expected
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(age,)) for age in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(answers) == 8
    assert runs(curator) == 1
    paid = [amount(answer.charged) for answer in answers if not answer.cached]
    assert spent(curator) <= sum(paid)  # two that want the same at once share its charge
    curator._ledger.verify()


# The law of the whole path.


def outcomes(curator, questions, guess, guesses, within):
    """Of one run through `curator.ask`, on a version of its own: which of the questions failed."""
    version = curator._ledger.refresh("clinic")
    cache = curator._cached.caches["visits"]
    last = max(e.number for e in curator._ledger.entries("clinic", after=cache._known.seen))
    cache._known = _Known(cache.table, version=version)
    cache._known.seen = last  # so that not all is read again, every time
    own = may_start(cache._known.tester)
    guesses["guess"] = guess
    found = 0
    for sql in questions:
        if found == 0:
            curator.ask(sql, within=within)
            found = 2 * found + (own.run is None)
        else:
            found *= 2
    return found


def small(folder, rows):
    """Each person has one row; within ± 40 a run has an ε of 1.2, which is easy to see."""
    return made(folder, rows=rows, unique=True)


def test_the_law_of_what_is_answered_is_that_of_sparse_vector(tmp_path, guesses):
    """Two questions of 50 people each that are guessed as 16: 120 runs, against the exact law (10⁻⁶)."""
    curator = ready(curator_of(small(tmp_path, 500)))
    questions = [f"SELECT count(*) FROM visits WHERE age = {age}" for age in (1, 2)]
    ready(curator)
    guesses["guess"] = 16.0
    test = curator._cached.asked(curator.plan(questions[0], within=40))[1].step
    assert isinstance(test, TryGuess)
    law = transcript_law(test.mechanism, [34 - test.threshold] * 2)
    drawn = [outcomes(curator, questions, 16.0, guesses, 40) for _ in range(120)]
    found = np.bincount(drawn, minlength=4) / 120
    allowed = sqrt(log(2 * 4 / 1e-6) / (2 * 120))
    assert np.abs(found - law).max() <= allowed


def test_neighbours_are_not_told_apart_by_more_than_is_charged(tmp_path, guesses):
    """One person more or less in what is asked about: tests that pass and that fail, at 10⁻⁶."""
    sides = [ready(curator_of(small(tmp_path / str(rows), rows))) for rows in (501, 502)]
    question = ["SELECT count(*) FROM visits WHERE age = 1"]
    step = sides[0]._cached.asked(sides[0].plan(question[0], within=40))[1].step
    found = audit_mechanism(
        lambda side: outcomes(sides[side], question, 18.0, guesses, 40),
        0,
        1,
        epsilon=step.run.epsilon,
        runs=200,
    )
    assert found.holds, found
