"""Answers that serve for others, end to end: real files, a real engine, a real ledger."""

from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest

from discreet.apps.views.explain import show_explanation
from discreet.curator.open_policy import open_curator
from discreet.errors import BudgetExceeded, EngineFailed, PolicyError, QueryRefused
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.synth.cached import cache
from discreet.synth.cached.cache import Cache, decode_readings, encode_readings
from discreet.synth.cached.strategy import Online

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = {epsilon}, delta = {delta} }}
least_price = 1e-9

[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 2
answers = "cached"
cached_columns = {columns}

[tables.visits.columns.age]
bounds = [0, 9]

[tables.visits.columns.cost]
bounds = [0, 100]

[tables.visits.columns.ward]
keys = ["north", "south", "west"]
"""
ROWS = (
    "SELECT range % 4000 AS patient, ['north', 'south', 'elsewhere', NULL][1 + (range % 7)::INT % 4] AS ward,"
    " (range % 50)::DOUBLE AS cost, range % 10 AS age FROM range(6000)"
)
OLD = "SELECT count(*) AS old FROM visits WHERE age > 4"
WITHIN = 60


@pytest.fixture
def folder(tmp_path):
    duckdb.sql(f"COPY ({ROWS}) TO '{tmp_path}/visits.parquet'")
    return tmp_path


def curator_of(folder, *, epsilon=100.0, delta="1e-6", analyst="ann", columns='["ward", "age"]'):
    policy = folder / "clinic.toml"
    if not policy.exists():
        policy.write_text(POLICY.format(epsilon=epsilon, delta=delta, columns=columns))
    return open_curator(policy, analyst=analyst)


def exact(folder, sql):
    ((count,),) = duckdb.sql(sql.replace("visits", f"'{folder}/visits.parquet'")).fetchall()
    return count


def questions():
    """All ranges of ages, in all wards or in one."""
    for low in range(8):
        for high in range(low, 8):
            for ward in ("", " AND ward IN ('north', 'south')"):
                yield f"SELECT count(*) FROM visits WHERE age BETWEEN {low} AND {high}{ward}"


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_many_questions_cost_less_than_each_of_them_and_are_as_right_as_they_say(folder, delta):
    """72 questions, each within ± 60 at 1 − 10⁻⁹: none is off by more, but once in a million times."""
    curator = curator_of(folder, delta=delta, epsilon=1000)
    paid, each = Fraction(0), Fraction(0)
    free, told = 0, {"within": WITHIN, "confidence": 1 - 1e-9}
    alone = curator.plan(OLD, **told).loss
    price = alone.epsilon if delta == "0" else alone.rho
    for sql in questions():
        found = curator.explain(sql, **told)
        answer = curator.ask(sql, **told)
        amount = found.loss.epsilon if delta == "0" else found.loss.rho
        assert answer.cached == (amount == 0)
        free += answer.cached
        paid += amount
        each += price
        (low,), (high,) = answer.interval(answer.columns[0])
        assert high - low <= 2 * WITHIN + 1e-6
        assert low - 1e-6 <= exact(folder, sql) <= high + 1e-6
    spent = curator.budget().spent
    total = spent.epsilon if delta == "0" else spent.rho
    assert float(paid) == pytest.approx(float(total), rel=1e-6)
    assert free > 20
    assert total < each * 2 / 3


def test_what_was_paid_for_is_known_to_everybody_and_after_a_restart(folder):
    first = curator_of(folder)
    answer = first.ask(OLD, within=WITHIN)
    assert not answer.cached
    assert answer.columns == ("old",)
    for curator in (first, curator_of(folder, analyst="bob")):
        again = curator.ask(OLD, within=WITHIN)
        assert again.cached
        assert again.scalar() == answer.scalar()
        assert curator.budget().spent == first.budget().spent
        assert "free" in again.price()
    closer = first.ask(OLD, within=WITHIN / 2)
    assert not closer.cached  # only what is missing is paid
    alone = float(first.plan(OLD, within=WITHIN / 2).loss.rho) * 0.9  # without what limits leave out
    assert float(closer.charged.rho) == pytest.approx(alone * 3 / 4, rel=0.02)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("place", ["from_text", "learn"])
def test_what_was_paid_for_is_learnt_also_after_it_was_stopped(place, stop, folder, monkeypatch):
    """It was skipped then for as long as the process ran: the question failed, and others were paid again."""
    curator = curator_of(folder)
    curator.ask(OLD, within=2 * WITHIN)

    def stopped(*_):
        raise stop

    with monkeypatch.context() as patched:
        where, name = (cache, "from_text") if place == "from_text" else (Online, "_learn_single")
        patched.setattr(where, name, stopped)
        with pytest.raises(stop):
            curator.ask(OLD, within=WITHIN)
    paid = curator.budget().spent
    again, elsewhere = curator.ask(OLD, within=WITHIN), curator_of(folder).ask(OLD, within=WITHIN)
    assert curator.budget().spent == paid
    assert again.cached
    assert again.scalar() == elsewhere.scalar()
    assert again.interval("old") == elsewhere.interval("old")


def test_an_answer_from_the_cache_says_that_a_chosen_question_needs_noise_of_its_own(folder):
    curator = curator_of(folder)
    curator.ask(OLD, within=WITHIN)
    for notes in (curator.explain(OLD, within=WITHIN).notes, curator.ask(OLD, within=WITHIN).released.notes):
        assert sum("asked with an epsilon instead" in note for note in notes) == 1
    fresh = curator.ask(OLD, epsilon=1)
    assert not fresh.cached
    assert not any("earlier answers" in note for note in fresh.released.notes)


def test_new_data_begins_with_nothing(folder):
    curator = curator_of(folder)
    curator.ask(OLD, within=WITHIN)
    curator._ledger.refresh("clinic")
    assert not curator.ask(OLD, within=WITHIN).cached
    assert curator.ask(OLD, within=WITHIN).cached


@pytest.mark.parametrize(
    ("sql", "price"),
    [
        (OLD, {"epsilon": 1}),
        ("SELECT count(*) FROM visits WHERE cost > 10", {"within": WITHIN}),
        ("SELECT count(*) FROM visits WHERE age > 4 AND cost > 10", {"within": WITHIN}),
        ("SELECT sum(cost) FROM visits WHERE age > 4", {"within": 600}),
        ("SELECT count(DISTINCT patient) FROM visits WHERE age > 4", {"within": WITHIN}),
        ("SELECT count(*) / 2 FROM visits WHERE age > 4", {"within": WITHIN}),
        ("SELECT ward, count(*) FROM visits GROUP BY ward", {"within": WITHIN}),
        ("SELECT count(age) FROM visits", {"within": WITHIN}),
        ("SELECT count(*) FROM visits WHERE age > 20", {"within": WITHIN}),
    ],
)
def test_other_questions_are_asked_as_ever(folder, sql, price):
    curator = curator_of(folder)
    assert not curator.explain(sql, **price).way
    answer = curator.ask(sql, **price)
    assert not answer.cached
    alone = curator.plan(sql, **price).loss.rho
    assert float(curator.budget().spent.rho) == pytest.approx(float(alone), rel=1e-6)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM visits",
        "SELECT count(*) FILTER (WHERE age > 4) AS old FROM visits WHERE ward = 'north'",
        "SELECT count(*) FROM visits AS v WHERE NOT (v.age > 4) AND (v.ward = 'north' OR v.age = 2)",
        "SELECT count(*) FROM visits WHERE floor(age / 5) = 1",
    ],
)
def test_counting_questions_in_any_words_are_for_the_cache(folder, capsys, sql):
    curator = curator_of(folder)
    assert "paid by itself" in curator.explain(sql, within=WITHIN).way
    curator.ask(sql, within=WITHIN)
    free = curator.explain(sql, within=WITHIN)
    assert "free" in free.way
    show_explanation(free, "table")
    assert "0.0% of the budget (ρ = 0). Nothing has been spent." in capsys.readouterr().out
    assert curator.ask(sql, within=WITHIN).cached


@pytest.mark.parametrize(
    "condition",
    [
        "ward <> 'north'",
        "ward IS NULL",
        "ward NOT IN ('north', 'west')",
        "NOT (ward = 'north')",
        "ward LIKE 'e%'",
        "coalesce(ward, 'none') = 'none'",
        "ward LIKE 'elsewhere' OR age > 4",
        "CASE WHEN ward = 'north' THEN age > 3 ELSE age < 3 END",
        "ward = 'north' OR age > 4",
        "ward IN ('north', 'west') AND NOT (age > 4)",
    ],
)
def test_a_question_counts_values_that_were_not_declared_as_it_does_without_a_cache(folder, condition):
    """Within ± 60 at 1 − 10⁻⁹: off by more less than once in a million times. Wards are a quarter each."""
    sql = f"SELECT count(*) FROM visits WHERE {condition}"
    answer = curator_of(folder).ask(sql, within=WITHIN, confidence=1 - 1e-9)
    (low,), (high,) = answer.interval(answer.columns[0])
    assert low <= exact(folder, sql) <= high


OTHER = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 100, delta = 1e-6 }

[tables.visits]
source = "visits.parquet"
person = "patient"
unique = true
answers = "cached"
cached_columns = ["code", "old", "day"]

[tables.visits.columns.code]
bounds = [0, 20]
keys = [1, 2, 3]

[tables.visits.columns.old]
keys = [true]

[tables.visits.columns.day]
keys = [2020-01-01, 2020-01-02]
"""


@pytest.mark.parametrize(
    "condition",
    [
        "1 = 1",
        "code IN (1, 2)",
        "code IS NULL",
        "old",
        "NOT old",
        "day = '2020-01-01'",
        "day IN ('2020-01-01', '2020-01-02') OR code = 3",
        "day > DATE '2020-01-01'",
    ],
)
def test_rows_with_values_beside_the_keys_are_rows_too(tmp_path, condition):
    """Within ± 60 at 1 − 10⁻⁹, of 5,000 rows."""
    rows = (
        "SELECT range AS patient, range % 10 AS code, range % 2 = 0 AS old,"
        " DATE '2020-01-01' + (range % 3)::INT AS day FROM range(5000)"
    )
    duckdb.sql(f"COPY ({rows}) TO '{tmp_path}/visits.parquet'")
    (tmp_path / "clinic.toml").write_text(OTHER)
    curator = open_curator(tmp_path / "clinic.toml", analyst="ann")
    sql = f"SELECT count(*) FROM visits WHERE {condition}"
    answer = curator.ask(sql, within=WITHIN, confidence=1 - 1e-9)
    (low,), (high,) = answer.interval(answer.columns[0])
    assert low <= exact(tmp_path, sql) <= high


def test_a_charge_that_was_never_used_is_used_again(folder, monkeypatch):
    curator = curator_of(folder)

    def fails(*_, **__):
        raise EngineFailed("The database stopped.", remedy="Ask again.")

    with monkeypatch.context() as patched:
        patched.setattr(curator._engine, "run_each", fails)
        with pytest.raises(EngineFailed):
            curator.ask(OLD, within=WITHIN)
    spent = curator.budget().spent
    assert spent.rho > 0
    assert not curator.ask(OLD, within=WITHIN).cached
    assert curator.budget().spent == spent


def test_two_who_want_the_same_at_once_pay_once_and_hear_the_same(folder, monkeypatch):
    """Both decide before either has stored anything."""
    ann, bob = curator_of(folder), curator_of(folder, analyst="bob")
    asked = []
    plain = Cache.ask

    def in_between(self, count, request, **others):
        found = plain(self, count, request, **others)
        if not asked:
            asked.append(found)
            asked.append(bob.ask(OLD, within=WITHIN))
        return found

    monkeypatch.setattr(Cache, "ask", in_between)
    answer = ann.ask(OLD, within=WITHIN)
    assert answer.scalar() == asked[1].scalar()
    assert ann.budget().spent.rho == asked[1].charged.rho


def test_the_same_measurement_after_others_is_another_charge(folder):
    """Under the key of the first it would be charged once, and read once, for two."""
    curator = curator_of(folder)
    curator.ask(OLD, within=WITHIN)
    cache = curator._cached.caches["visits"]
    _, asked = curator._cached.asked(curator.plan(OLD, within=WITHIN / 2))
    assert cache._key(asked.step) == asked.key
    curator.ask("SELECT count(*) FROM visits WHERE age > 5", within=WITHIN)
    cache._catch_up()
    assert cache._key(asked.step) != asked.key


def test_the_budget_holds(folder):
    curator = curator_of(folder, epsilon=0.5, delta=0)
    curator.ask(OLD, within=20)
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT count(*) FROM visits WHERE age > 5", within=20)
    assert curator.ask(OLD, within=20).cached  # what is known is free also at the end
    assert curator.budget().spent.epsilon <= Fraction(1, 2)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
@pytest.mark.parametrize("within", [1, 2, 5, 20, 60])
def test_no_question_is_much_dearer_than_without_a_cache(tmp_path, delta, within):
    """Also where each person has one row, and an error of a person or two uses that counts are whole."""
    rows = "SELECT range AS patient, range % 10 AS age FROM range(1000)"
    duckdb.sql(f"COPY ({rows}) TO '{tmp_path}/visits.parquet'")
    policy = POLICY.format(epsilon=100, delta=delta, columns='["age"]').partition(
        "[tables.visits.columns.cost]"
    )
    (tmp_path / "clinic.toml").write_text(policy[0].replace("max_rows = 2", "unique = true"))
    curator = curator_of(tmp_path)
    alone, found = curator.plan(OLD, within=within).loss, curator.explain(OLD, within=within).loss
    amounts = [loss.epsilon if delta == "0" else loss.rho for loss in (found, alone)]
    assert amounts[0] <= amounts[1] * Fraction(5, 4)
    charged = curator.ask(OLD, within=within).charged
    paid = charged.epsilon if delta == "0" else charged.rho
    assert float(paid) == pytest.approx(float(amounts[0]), rel=1e-6)


def test_what_is_within_the_cap_without_a_cache_is_so_with_one(tmp_path):
    """ε = 0.2843 by itself, 0.3153 with what is put by for later questions."""
    rows = "SELECT range AS patient, range % 10 AS age FROM range(1000)"
    duckdb.sql(f"COPY ({rows}) TO '{tmp_path}/visits.parquet'")
    policy, _, _ = POLICY.format(epsilon=9, delta=0, columns='["age"]').partition("[tables.visits.columns.c")
    capped = "[dataset.per_question]\nepsilon = 0.3\n\n[tables.visits]"
    policy = policy.replace("max_rows = 2", "unique = true").replace("[tables.visits]", capped, 1)
    (tmp_path / "clinic.toml").write_text(policy)
    assert curator_of(tmp_path).ask(OLD, within=10).charged.epsilon < 0.3


def test_a_step_of_the_cache_above_the_cap_is_refused_before_it_is_charged(folder):
    """The cache chooses none; whatever it chose, the cap would hold."""
    policy = POLICY.format(epsilon=100, delta=0, columns='["ward", "age"]')
    capped = "[dataset.per_question]\nepsilon = 0.12\n\n[tables.visits]"
    (folder / "clinic.toml").write_text(policy.replace("[tables.visits]", capped, 1))
    curator = curator_of(folder)
    cache, asked = curator._cached.asked(curator.plan(OLD, within=WITHIN))
    dearer = replace(asked.step, loss=PureLoss(epsilon=0.13))
    with pytest.raises(QueryRefused, match="at most"):
        curator._cached._charge_reading(OLD, cache, asked, dearer)
    assert curator.budget().spent == PureLoss(epsilon=0)


@pytest.mark.parametrize("cap", ["per_question", "per_analyst"])
def test_who_may_not_buy_a_table_pays_for_the_question_alone(folder, cap):
    """Each question by itself costs 0.1 at most, also where a table would be worth more."""
    policy = POLICY.format(epsilon=100, delta=0, columns='["ward", "age"]')
    capped = f"[dataset.{cap}]\nepsilon = 0.12\n\n[tables.visits]"
    (folder / "clinic.toml").write_text(policy.replace("[tables.visits]", capped, 1))
    for age in range(8):
        for ward in ("north", "south"):
            curator = curator_of(folder, analyst=f"{ward} {age}")
            sql = f"SELECT count(*) FROM visits WHERE age <= {age} AND ward = '{ward}'"
            assert "bought" not in curator.explain(sql, within=WITHIN).way
            curator.ask(sql, within=WITHIN)


def test_readings_are_stored_as_they_are(folder):
    curator = curator_of(folder)
    curator.ask(OLD, within=WITHIN)
    entry = [entry for entry in curator._ledger.entries("clinic") if entry.key.startswith("cached-1:")][-1]
    _, stored = curator._ledger.stored_answer("clinic", entry.key)
    domain = curator._cached.caches["visits"].table.domain
    assert encode_readings(decode_readings(stored, domain)) == stored


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_tests_of_guesses_that_older_versions_charged_are_no_readings(folder, delta):
    """Runs of tests, and guesses that passed: under the keys of today, and under those before."""
    curator = curator_of(folder, delta=delta)
    first = curator.ask(OLD, within=WITHIN)
    ledger, cache = curator._ledger, curator._cached.caches["visits"]
    _, asked = curator._cached.asked(curator.plan(OLD, within=WITHIN / 2))
    run = first.charged
    free = replace(run, **{"rho" if delta != "0" else "epsilon": Fraction(0)})
    stored = {"run:": (run, b"0f" * 16), "passed:": (free, b'["ab",2990,60,"19/20"]')}
    for prefix in cache._readings:
        for kind, (loss, answer) in stored.items():
            key = f"{prefix}{kind}{'ab' * 32}"
            charged = ledger.charge("clinic", analyst="ann", question=OLD, key=key, loss=loss)
            assert ledger.store_answer(charged, answer) == answer
    assert len(cache._readings) == 3
    for again in (curator, curator_of(folder, delta=delta)):
        spent = again.budget().spent
        assert again.ask(OLD, within=WITHIN).scalar() == first.scalar()
        assert again.ask(OLD, within=WITHIN).cached
        assert again.budget().spent == spent
        _, now = again._cached.asked(again.plan(OLD, within=WITHIN / 2))
        assert now.key == asked.key  # what is known is the same
        again._ledger.verify()


@pytest.mark.parametrize(
    "columns", ['["cost"]', '["wrad"]', '["patient"]', '["age", "age"]', "[]", '"age"', "[1]"]
)
def test_columns_that_cannot_be_cached_are_refused(folder, columns):
    with pytest.raises(PolicyError) as refused:
        curator_of(folder, columns=columns)
    assert "cached_columns" in refused.value.problem


def test_a_loss_is_in_the_datasets_currency(folder):
    assert isinstance(curator_of(folder).explain(OLD, within=WITHIN).loss, ConcentratedLoss)
    other = folder / "pure"
    other.mkdir()
    (other / "visits.parquet").write_bytes((folder / "visits.parquet").read_bytes())
    assert isinstance(curator_of(other, delta=0).explain(OLD, within=WITHIN).loss, PureLoss)


def test_what_was_paid_for_by_itself_stays_free_when_a_table_becomes_cached(folder):
    """The cache would measure it anew, and charge for it."""
    cached = POLICY.format(epsilon=100, delta="1e-6", columns='["ward", "age"]')
    direct = cached.replace('answers = "cached"\n', "").replace('cached_columns = ["ward", "age"]\n', "")
    (folder / "clinic.toml").write_text(direct)
    with curator_of(folder) as curator:
        first, spent = curator.ask(OLD, within=WITHIN), curator.budget().spent
    (folder / "clinic.toml").write_text(cached)
    with curator_of(folder, analyst="bob") as curator:
        again = curator.ask(OLD, within=WITHIN)
        assert curator.budget().spent == spent
    assert again.repeated
    assert again.scalar() == first.scalar()
