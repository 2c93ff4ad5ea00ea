"""Many questions for one price: one charge, one draw, and what several need is paid once."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from discreet import BudgetExceeded, ConcentratedLoss, InvalidInput, PureLoss, QueryRefused
from discreet.ledger.interface import EntryKind
from discreet.release import leaves_release, outputs, question_release
from discreet.release.noisy import intervals
from discreet.release.report import report_release
from tests.attacks.ask import Clinic, stored_bytes

WARDS = "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward ORDER BY n DESC"
PEOPLE = "SELECT ward, count(DISTINCT patient) AS people, count(*) AS n FROM visits GROUP BY ward"
SHARE = "SELECT ward, 100 * count(*) / sum(count(*)) OVER () AS share FROM visits GROUP BY ward"
OLD = "SELECT ward, count(*) AS n FROM visits WHERE age >= 65 GROUP BY ward HAVING count(*) > 0"
TOTAL = "SELECT count(*) AS n, sum(cost) AS costs FROM visits"
REPORT = [WARDS, PEOPLE, SHARE, OLD, TOTAL]


@pytest.fixture
def clinic(tmp_path):
    return Clinic(tmp_path)


@pytest.fixture
def curator(clinic):
    with clinic.open() as found:
        yield found


def spent(curator):
    return curator.budget().spent.epsilon


def charges(curator):
    return [entry for entry in curator.entries() if entry.kind is EntryKind.CHARGED]


def planned(curator, questions, **price):
    from discreet.curator.terms import request_for_report
    from discreet.question.report.statements import questions_of

    request = request_for_report(price, curator.dataset, curator.left)
    return curator._planning().plan_report(questions_of(questions), request)


def release(curator, questions, **price):
    plan = planned(curator, questions, **price)
    return report_release.ReportRelease(plan=plan, dataset=curator.dataset)


# One price


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(333_333_333_333_333, 10**15)])
def test_a_report_is_one_charge_of_what_was_said(curator, epsilon):
    report = curator.ask(REPORT, epsilon=epsilon)
    assert report.charged == PureLoss(epsilon=epsilon)
    assert (spent(curator), len(charges(curator))) == (epsilon, 1)
    assert [list(answer.columns) for answer in report] == [
        ["ward", "n", "mean"],
        ["ward", "people", "n"],
        ["ward", "share"],
        ["ward", "n"],
        ["n", "costs"],
    ]
    assert {answer.receipt.number for answer in report} == {report.receipt.number}
    assert all(sql in charges(curator)[0].question for sql in REPORT)


def test_the_price_is_that_of_all_that_is_drawn(curator):
    """What the leaves lose together is what is charged: none is forgotten."""
    plan = planned(curator, REPORT, epsilon=1)
    assert len(plan.leaves) == 3
    assert plan.loss.epsilon == sum(leaf.loss.epsilon for leaf in plan.leaves) == 1
    drawn = {statement.leaf for statement in curator._data.emit(release(curator, REPORT, epsilon=1))}
    assert drawn == {0, 1, 2}
    for leaf in plan.leaves:
        parts = [
            mechanism.loss(part.sensitivity(leaf.bounded.neighbours)).epsilon
            for mechanism, part in zip(leaf.mechanisms, leaf.bounded.parts, strict=True)
        ]
        together = [max(parts[i] for i in block) for block in leaf.bounded.blocks]
        assert sum(together) == leaf.loss.epsilon


def test_what_several_questions_need_is_paid_once(curator):
    """The counts by ward of three questions have the error of one question that asks for all of it."""
    together = "SELECT ward, count(*) AS n, avg(cost), count(DISTINCT patient) FROM visits GROUP BY ward"
    found = curator.explain([WARDS, PEOPLE, SHARE], epsilon=1)
    alone = curator.explain(together, epsilon=1)
    assert found.loss == alone.loss
    assert [error.each for error in found[0].errors] == [error.each for error in alone.errors[:2]]
    assert found[1].errors[1].each == found[2].errors[0].each == alone.errors[0].each
    third = curator.explain(WARDS, epsilon=Fraction(1, 3)).errors[0].each
    assert found[0].errors[0].each < 0.8 * third


def test_the_same_report_is_free_and_the_same(curator):
    first, again = curator.ask(REPORT, epsilon=1), curator.ask(REPORT, epsilon=1)
    assert (first.repeated, again.repeated) == (False, True)
    assert [*map(stored_bytes, first)] == [*map(stored_bytes, again)]
    assert (spent(curator), len(charges(curator))) == (1, 1)
    assert not curator.ask(REPORT, epsilon=2).repeated


def test_order_aliases_and_sorting_do_not_make_another_report(curator):
    wanted = release(curator, REPORT, epsilon=Fraction(1, 3)).identity()
    for order in [*permutations(REPORT)][::7]:
        assert release(curator, order, epsilon=Fraction(1, 3)).identity() == wanted
    other = [
        "SELECT avg(cost) AS m, ward AS w, count(*) AS k FROM visits GROUP BY ward ORDER BY w LIMIT 2",
        *REPORT[:0:-1],
        WARDS,
    ]
    assert release(curator, other, epsilon=Fraction(1, 3)).identity() == wanted
    assert release(curator, REPORT[1:], epsilon=Fraction(1, 3)).identity() != wanted
    curator.ask(REPORT, epsilon=1)
    turned = curator.ask(REPORT[::-1], epsilon=1)
    assert turned.repeated
    assert list(turned[0].columns) == ["n", "costs"]


def test_a_report_of_one_question_is_that_question(curator):
    alone = curator.ask(WARDS, epsilon=1)
    report = curator.ask([WARDS], epsilon=1)
    assert (len(report), report.repeated, spent(curator)) == (1, True, 1)
    assert stored_bytes(report[0]) == stored_bytes(alone)
    assert report[0].released.notes == alone.released.notes
    assert release(curator, [WARDS], epsilon=1).identity() == alone.receipt.key
    assert curator.explain([WARDS], epsilon=1)[0] == curator.explain(WARDS, epsilon=1)


def test_a_report_over_the_same_groups_is_the_question_that_asks_for_all(curator):
    curator.ask(
        "SELECT ward, count(*), avg(cost), count(DISTINCT patient) FROM visits GROUP BY ward", epsilon=1
    )
    assert curator.ask([WARDS, PEOPLE, SHARE], epsilon=1).repeated


def test_a_report_of_two_questions_serves_what_is_computed_from_both(curator):
    curator.ask([WARDS.replace(", avg(cost) AS mean", ""), OLD], epsilon=1)
    ratio = (
        "SELECT ward, o.n / w.n AS share"
        " FROM (SELECT ward, count(*) AS n FROM visits WHERE age >= 65 GROUP BY ward) AS o"
        " JOIN (SELECT ward, count(*) AS n FROM visits GROUP BY ward) AS w USING (ward)"
    )
    assert curator.ask(ratio, epsilon=1).repeated


# Answers are those of the plain path


def test_answers_are_what_the_leaf_says_of_it(curator):
    """A question of a report, and the question that asks for all of its leaf: the same numbers and errors."""
    report = curator.ask([WARDS, PEOPLE], epsilon=1)
    whole = curator.ask(
        "SELECT ward, count(*) AS n, avg(cost) AS mean, count(DISTINCT patient) AS people FROM visits"
        " GROUP BY ward ORDER BY n DESC",
        epsilon=1,
    )
    assert whole.repeated
    for part in ("values", "raw", "low", "high", "noise_low", "noise_high"):
        ours, theirs = getattr(report[0].released, part), getattr(whole.released, part)
        for name, column in ours.items():
            if name != "mean":  # its interval is simulated
                assert column.tolist() == theirs[name].tolist()
    assert report[1]["people"].tolist() == [
        whole["people"][whole["ward"].tolist().index(ward)] for ward in report[1]["ward"]
    ]


def test_notes_are_about_the_question_that_they_stand_with(curator):
    report = curator.ask([WARDS, PEOPLE, TOTAL], epsilon=1)
    of_people = "A person in more than 2 groups counts less in each of them."
    assert of_people in report[1].released.notes
    assert of_people not in report[0].released.notes
    assert any(note.startswith("avg: values") for note in report[0].released.notes)
    assert not any(note.startswith("avg: values") for note in report[1].released.notes)


def test_without_noise_a_report_says_what_is_there(tmp_path):
    with Clinic(tmp_path, epsilon=900, dataset="left_out_share = 0").open() as curator:
        report = curator.ask(
            [PEOPLE, SHARE, TOTAL, "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) LIMIT 1"],
            epsilon=800,
        )
    assert report[0]["n"].tolist() == [500, 500, 1]
    assert report[0]["people"].tolist() == [200, 200, 1]
    assert report[1]["share"].tolist() == pytest.approx([49.95, 49.95, 0.1], abs=0.05)
    assert report[2]["n"].tolist() == [1001]
    assert report[3]["ward"].tolist() == ["attic"]


def test_small_cells_are_hidden_in_each_answer(tmp_path):
    with Clinic(tmp_path, dataset="min_people = 20").open() as curator:
        report = curator.ask([WARDS, SHARE, TOTAL], epsilon=50)
    attic = report[0]["ward"].tolist().index("attic")
    assert np.ma.getmaskarray(report[0]["n"])[attic] or np.isnan(report[0]["mean"][attic])
    assert any("fewer than 20 people" in note for note in report[0].released.notes)
    assert report[2]["n"].tolist() == [pytest.approx(1001, abs=20)]


def test_private_keys_are_paid_and_their_deltas_add_up(tmp_path):
    diagnoses = "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis"
    notes = "SELECT diagnosis, ward, count(DISTINCT patient) AS n FROM visits GROUP BY diagnosis, ward"
    with Clinic(tmp_path, epsilon=100, delta=1e-6).open() as curator:
        plan = planned(curator, [diagnoses, notes, TOTAL], epsilon=20)
        deltas = [leaf.loss.delta for leaf in plan.leaves]
        assert all(delta > 0 for delta in deltas[:2])
        assert deltas[2] == 0
        whole = ConcentratedLoss(rho=sum(leaf.loss.rho for leaf in plan.leaves), delta=sum(deltas))
        assert plan.loss == whole
        report = curator.ask([diagnoses, notes, TOTAL], epsilon=20)
        assert report.charged.delta >= whole.delta
        assert report.charged.rho == pytest.approx(float(whole.rho))
        assert sorted(report[0]["diagnosis"].tolist()) == ["cold", "flu"]
        assert "attic" not in report[1]["ward"].tolist()


def test_profiles_choose_limits_for_reports_too(clinic):
    with clinic.open() as curator:
        curator.profile("visits", epsilon=20)
        alone = curator.plan(WARDS, epsilon=1)
        plan = planned(curator, [WARDS, TOTAL], epsilon=2)
        limits = {leaf.bounded.query.source.max_rows for leaf in plan.leaves}
        assert alone.bounded.query.source.max_rows in limits
        report = curator.ask([WARDS, TOTAL], epsilon=40)  # noise beyond 100 has a probability below 10⁻⁶
        assert report[1]["n"].tolist() == [pytest.approx(1001, abs=100)]


# What is refused, and what fails


def test_a_bad_question_is_named_and_spends_nothing(curator):
    for bad, words in [
        ("SELCT 1", r"^Question 2: "),
        (
            "-- Wards, all\nSELECT wrd, count(*) FROM visits GROUP BY wrd",
            r"^Question 2 \(Wards, all\): ",
        ),
        ("SELECT count(*) FROM visits; SELECT 1", "^Question 2: A question is exactly one SELECT"),
        ("SELECT diagnosis, count(*) FROM visits GROUP BY 1", "^Question 2: The values of diagnosis"),
    ]:
        for asking in (curator.ask, curator.explain):
            with pytest.raises(QueryRefused, match=words):
                asking([WARDS, bad, TOTAL], epsilon=1)
    assert (spent(curator), charges(curator)) == (0, [])


def test_a_report_above_the_budget_is_refused_before_anything_is_read(clinic, monkeypatch):
    with clinic.open() as curator:
        curator.ask(TOTAL, epsilon=899)
        monkeypatch.setattr(curator._engine, "run_each", None)
        with pytest.raises(BudgetExceeded):
            curator.ask(REPORT, epsilon=2)
        assert spent(curator) == 899


def test_an_error_cannot_be_asked_for(curator):
    with pytest.raises(QueryRefused, match="one price") as refused:
        curator.ask([WARDS, TOTAL], within=10)
    assert "epsilon=" in refused.value.remedy
    assert curator.explain([TOTAL], within=1000).loss.epsilon > 0
    with pytest.raises(InvalidInput, match=r"A report needs one price\. Give a price: epsilon=90 takes"):
        curator.ask([WARDS, TOTAL])


def test_too_much_together_is_refused_although_each_may_be_asked(curator):
    ages = [f"SELECT age, count(*) AS n FROM visits WHERE cost < {i} GROUP BY age" for i in range(1, 66)]
    assert len(curator.explain(ages[:60], epsilon=1)) == 60
    with pytest.raises(QueryRefused, match="The report aggregates people in more than 64 ways"):
        curator.explain(ages, epsilon=1)
    values = ", ".join(f"count(DISTINCT age + {i})" for i in range(50))
    several = [f"SELECT {values} FROM visits WHERE cost < {i}" for i in range(1, 6)]
    assert len(curator.explain(several[:3], epsilon=1)) == 3
    with pytest.raises(QueryRefused, match="too much together"):
        curator.explain(several, epsilon=1)
    assert spent(curator) == 0


def test_answers_that_are_too_large_together_are_refused(curator, monkeypatch):
    ages = "SELECT age, ward, count(*) AS n FROM visits GROUP BY age, ward"
    monkeypatch.setattr("discreet.question.answer_size.MOST_CELLS", 2_000)
    assert len(curator.explain(ages, epsilon=1).errors) == 1
    with pytest.raises(QueryRefused, match="more than 2,000 numbers"):
        curator.explain([ages, ages.replace("count(*) AS n", "count(*) AS m")], epsilon=1)


def test_what_takes_too_long_to_plan_is_refused(curator, monkeypatch):
    from discreet.model.deadline import Deadline

    monkeypatch.setattr(type(curator._data), "deadline", lambda _: Deadline.after(0))
    with pytest.raises(QueryRefused, match="nothing was spent"):
        curator.ask([WARDS, TOTAL], epsilon=1)


def failing(*_, **__):
    raise MemoryError


def test_what_fails_after_the_draw_is_computed_from_the_same_draw(clinic, monkeypatch):
    draws, honest = [], question_release.draw_noise

    def draw_noise(plan, results):
        draws.append(honest(plan, results))
        return draws[-1]

    monkeypatch.setattr(question_release, "draw_noise", draw_noise)
    for name in ("answer_from", "noisy_answer_from"):
        with monkeypatch.context() as patched:
            patched.setattr(report_release, name, failing)
            with clinic.open() as curator, pytest.raises(MemoryError):
                curator.ask(REPORT, epsilon=1)
    with clinic.open() as curator:
        assert curator.ask(REPORT, epsilon=1).repeated
        assert (spent(curator), len(charges(curator)), len(draws)) == (1, 1, 3)


def test_a_draw_that_fails_halfway_stays_charged_and_shows_nothing(clinic, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(leaves_release, "encode_columns", failing)
        with clinic.open() as curator, pytest.raises(Exception, match="charged anew"):
            curator.ask(REPORT, epsilon=1)
    with clinic.open() as curator:
        assert not curator.ask(REPORT, epsilon=1).repeated
        assert (spent(curator), len(charges(curator))) == (2, 2)


def running(width):
    sums = f"sum(n) OVER (ORDER BY age ROWS {width} PRECEDING)"
    return f"SELECT age, {sums} AS s FROM (SELECT age, count(*) AS n FROM visits GROUP BY age)"


@pytest.mark.parametrize("call", ["ask", "explain"])
def test_g4_all_questions_of_a_report_share_what_intervals_may_take(clinic, monkeypatch, call):
    """As many numbers are drawn at most as for one question."""
    allowed, honest = [], intervals._draws

    def draws(rows, side, most_rows):
        allowed.append(most_rows)
        return honest(rows, side, most_rows)

    monkeypatch.setattr(intervals, "_draws", draws)
    with clinic.open() as curator:
        getattr(curator, call)(running(1), epsilon=1)
        alone = sum(allowed)
        allowed.clear()
        getattr(curator, call)([running(width) for width in range(2, 10)], epsilon=1)
        assert len(allowed) >= 8
        assert sum(allowed) <= alone


def test_g4_so_do_questions_without_steps(clinic, monkeypatch):
    given, honest = [], outputs.OutputIntervals

    def noted(plan, noisy, *others):
        given.append(noisy.questions)
        return honest(plan, noisy, *others)

    monkeypatch.setattr(outputs, "OutputIntervals", noted)
    with clinic.open() as curator:
        curator.ask([WARDS, TOTAL], epsilon=1)
    assert given == [2, 2]


def test_a_report_is_recalled_as_it_was_answered_and_never_charged(curator):
    assert curator.recall(REPORT, epsilon=1) is None
    assert curator.recall([WARDS], epsilon=1) is None
    assert charges(curator) == []
    asked = curator.ask(REPORT, epsilon=1)
    for terms in ({"epsilon": 1}, {"epsilon": 0.5}):
        found = curator.recall(REPORT, **terms)
        assert found.repeated
        assert found.receipt == asked.receipt
        assert [*map(stored_bytes, found)] == [*map(stored_bytes, asked)]
    assert curator.recall(REPORT, epsilon=2) is None
    assert curator.recall(REPORT[1:], epsilon=1) is None
    assert len(charges(curator)) == 1


def test_the_ledger_keeps_titles_and_reads_as_the_same_report(curator):
    from discreet.question.report.statements import questions_of, statements_in

    report = curator.ask([f"/* Wards */ {WARDS}", TOTAL], epsilon=1)
    (charge,) = charges(curator)
    assert tuple(questions_of(statements_in(charge.question, "it"))) == report.questions
