"""Reports of a service without HTTP: one charge, one entry of the history, one approval, one receipt."""

import json
from fractions import Fraction

import pytest

from discreet import BudgetExceeded, InvalidInput, NeedsApproval, NotAllowed, NotThere, QueryRefused
from discreet.service.accounts import new_account
from discreet.service.approvals import Status
from discreet.service.question_kinds import WholeReport
from discreet.service.question_terms import AskedTerms
from discreet.service.service import open_service
from discreet.service.storage.event_log import Action
from discreet.service.user_account import Project, Role
from tests.attacks.ask import Clinic

WARDS = "-- Patients by ward\nSELECT ward, count(*) AS n FROM visits GROUP BY ward"
COSTS = "SELECT avg(cost) AS mean FROM visits"
OLD = "-- The old\nSELECT count(*) AS n FROM visits WHERE age > 65"
REPORT = WholeReport.of([WARDS, COSTS, OLD])
TEXT = "REPORT\n\n-- title: Patients by ward\nSELECT ward"


@pytest.fixture
def clinic(tmp_path):
    return Clinic(tmp_path / "clinic", epsilon=10, dataset="answer_times = []")


@pytest.fixture
def service(clinic):
    service = open_service([clinic.policy])
    yield service
    service.close()


@pytest.fixture
def dataset(service):
    (only,) = service.datasets.values()
    return only


@pytest.fixture
def add(service):
    def add(name, role=Role.ANALYST, **settings):
        found = service.accounts.find(name)
        if found is not None:
            return found
        account = new_account(name, role, ["clinic"], **settings)
        service.accounts.add(account, by="the owner")
        return account

    return add


def answers(told):
    return [each["answer"]["rows"] for each in json.loads(told.text)["questions"]]


def test_a_report_is_one_charge_and_one_entry_of_history_and_log(service, dataset, add):
    ana, olga = add("ana"), add("olga", Role.OWNER)
    told = dataset.ask(ana, REPORT, {"epsilon": 1}, purpose="the yearly report")
    facts = json.loads(told.text)
    assert [each["title"] for each in facts["questions"]] == ["Patients by ward", "Question 2", "The old"]
    assert facts["charged"] == {"epsilon": 1.0}
    (charge,) = [entry for entry in dataset.entries(olga) if entry.analyst == "ana"]
    assert (charge.number, charge.note) == (facts["receipt"]["number"], "the yearly report")
    (asked,) = service.history.of(ana)
    assert (asked.question, asked.receipt) == (REPORT.text, charge.number)
    assert asked.question.startswith(TEXT)
    events = list(service.log.events(who="ana"))
    assert [event.action for event in events] == [Action.ASKED, Action.ANSWERED]
    assert events[0].details["question"] == REPORT.text
    assert events[1].details["receipt"] == charge.number


def test_the_same_report_is_free_in_any_order_and_has_the_same_receipt(dataset, add):
    ana, olga = add("ana"), add("olga", Role.OWNER)
    first = dataset.ask(ana, REPORT, {"epsilon": 1})
    turned = dataset.ask(add("bo"), WholeReport.of([OLD, COSTS, WARDS]), {"epsilon": 1})
    assert answers(turned) == answers(first)[::-1]
    assert json.loads(turned.text)["charged"] == {"epsilon": 0.0}
    assert turned.answer.receipt.number == first.answer.receipt.number
    assert dataset.balance(olga).spent.epsilon == 1
    receipt = first.answer.receipt.number
    assert dataset.fetch(add("bo"), receipt).text == turned.text  # what they asked themselves
    assert dataset.fetch(ana, receipt).text == first.text
    assert dataset.fetch(olga, receipt).text == first.text
    own = dataset.ask(olga, WholeReport.of([COSTS, OLD, WARDS]), {"epsilon": 1})
    assert dataset.fetch(olga, receipt).text == own.text != first.text


def test_receipts_of_others_do_not_exist(dataset, add):
    receipt = dataset.ask(add("ana"), REPORT, {"epsilon": 1}).answer.receipt.number
    with pytest.raises(NotThere):
        dataset.fetch(add("bo"), receipt)
    assert not dataset.may_fetch(add("bo"), receipt)
    assert dataset.fetch(add("audrey", Role.AUDITOR), receipt)


def test_to_explain_a_report_costs_nothing_is_not_logged_and_tells_nothing_of_others(service, dataset, add):
    bo, audrey = add("bo"), add("audrey", Role.AUDITOR)
    before = dataset.explain_report(bo, REPORT, {"epsilon": 1})
    assert (before.epsilon, before.titles[1]) == (1.0, "Question 2")
    assert dataset.explain_report(audrey, REPORT, {"epsilon": 1}) == before
    assert list(service.log.events(who="bo")) == []
    dataset.ask(add("ana"), REPORT, {"epsilon": 1})
    after = dataset.explain_report(bo, REPORT, {"epsilon": 1})
    assert [(each.epsilon, each.way) for each in after] == [(each.epsilon, each.way) for each in before]


def test_an_auditor_asks_no_report(service, dataset, add):
    with pytest.raises(NotAllowed):
        dataset.ask(add("audrey", Role.AUDITOR), REPORT, {"epsilon": 1})
    assert [event.action for event in service.log.events(who="audrey")] == [Action.REFUSED]


def test_caps_bind_the_price_of_the_whole_report(service, dataset, add):
    service.accounts.set_project(Project(name="sepsis", most_epsilon=Fraction(3, 2)), by="the owner")
    ana = add("ana", most_epsilon=Fraction(1))
    bo, cy = (add(name, project="sepsis") for name in ("bo", "cy"))
    with pytest.raises(BudgetExceeded, match="analyst ana"):
        dataset.ask(ana, REPORT, {"epsilon": 1.1})
    dataset.ask(bo, REPORT, {"epsilon": 1})
    with pytest.raises(BudgetExceeded, match="project sepsis"):
        dataset.ask(cy, WholeReport.of([COSTS, OLD]), {"epsilon": 0.6})
    with pytest.raises(BudgetExceeded):
        dataset.ask(add("dee"), REPORT, {"epsilon": 9.5})
    assert dataset.balance(add("olga", Role.OWNER)).spent.epsilon == 1


def test_an_owner_approves_a_whole_report_at_its_price(service, dataset, add):
    ana, olga = add("ana", approval_above=Fraction(1, 2)), add("olga", Role.OWNER)
    assert dataset.ask(ana, REPORT, {"epsilon": 0.5}).answer.charged.epsilon == Fraction(1, 2)
    with pytest.raises(InvalidInput, match="what it is for"):
        dataset.ask(ana, REPORT, {"epsilon": 0.8})
    for _ in range(2):
        with pytest.raises(NeedsApproval):
            dataset.ask(ana, REPORT, {"epsilon": 0.8}, purpose="a paper")
    (waiting,) = service.approvals.all()
    assert (waiting.question, waiting.epsilon) == (REPORT.text, Fraction(0.8))
    with pytest.raises(NotAllowed):
        service.approvals.decide(waiting.id, approve=True, by=ana)
    service.approvals.decide(waiting.id, approve=True, by=olga)
    for other in (WholeReport.of([WARDS, COSTS]), WholeReport.of([WARDS, COSTS, OLD, OLD + " AND cost > 1"])):
        with pytest.raises(NeedsApproval):  # it is for this report
            dataset.ask(ana, other, {"epsilon": 0.8}, purpose="a paper")
    with pytest.raises(NeedsApproval):  # at this price
        dataset.ask(ana, REPORT, {"epsilon": 0.9}, purpose="a paper")
    assert not dataset.ask(ana, REPORT, {"epsilon": 0.8}).answer.repeated
    assert service.approvals.get(waiting.id).status is Status.USED
    assert dataset.ask(ana, REPORT, {"epsilon": 0.8}).answer.repeated
    assert dataset.balance(olga).spent.epsilon == Fraction("1.3")


def test_a_refused_report_leaves_its_approval(service, dataset, add):
    ana, olga = add("ana", approval_above=Fraction(1, 2)), add("olga", Role.OWNER)
    with pytest.raises(NeedsApproval) as waits:
        dataset.ask(ana, REPORT, {"epsilon": 9}, purpose="a paper")
    service.approvals.decide(waits.value.approval, approve=True, by=olga)
    other = dataset.ask(olga, WholeReport.of([COSTS, WARDS]), {"epsilon": 2})
    assert not other.answer.repeated
    with pytest.raises(BudgetExceeded):
        dataset.ask(ana, REPORT, {"epsilon": 9})
    assert service.approvals.get(waits.value.approval).status is Status.APPROVED


def test_the_default_price_of_an_account_is_that_of_the_report(dataset, add):
    usual = add("usual", default_epsilon=Fraction(1, 4))
    assert dataset.explain_report(usual, REPORT, {}).epsilon == 0.25
    assert json.loads(dataset.ask(usual, REPORT, {}).text)["charged"] == {"epsilon": 0.25}
    with pytest.raises(InvalidInput, match="A report needs one price"):
        dataset.ask(add("bo"), REPORT, {})


def test_a_purpose_may_be_required(clinic, service):
    service.close()
    text = clinic.policy.read_text()
    clinic.policy.write_text(text.replace("answer_times = []", 'answer_times = []\npurpose = "required"'))
    with_purpose = open_service([clinic.policy])
    ana = new_account("ana", Role.ANALYST, ["clinic"])
    with_purpose.accounts.add(ana, by="the owner")
    dataset = with_purpose.datasets["clinic"]
    try:
        with pytest.raises(QueryRefused, match="what each question is for"):
            dataset.ask(ana, REPORT, {"epsilon": 1})
        assert dataset.ask(ana, REPORT, {"epsilon": 1}, purpose="a paper").answer
    finally:
        with_purpose.close()


def test_what_a_report_asked_can_be_erased_and_its_answers_stay(service, dataset, add):
    ana = add("ana", approval_above=Fraction(1, 2))
    told = dataset.ask(ana, REPORT, {"epsilon": 0.5})
    with pytest.raises(NeedsApproval):
        dataset.ask(ana, REPORT, {"epsilon": 1}, purpose="a paper")
    service.erase_older_than(days=-1)
    (request,) = service.approvals.all()
    assert {request.question, *(each.question for each in service.history.of(ana))} == {"(erased)"}
    assert all(event.details is None for event in service.log.events())
    assert dataset.fetch(ana, told.answer.receipt.number).text == told.text


def test_a_report_that_was_charged_and_not_sent_is_fetched_by_its_receipt(service, dataset, add, monkeypatch):
    """As if the service had died between the ledger's entry and its own."""
    ana = add("ana")

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(type(service.history), "answered", die)
        with pytest.raises(KeyboardInterrupt):
            dataset.ask(ana, REPORT, {"epsilon": 1})
    (receipt,) = [each.number for each in dataset.curator_of(ana).entries() if each.kind.value == "charged"]
    found = dataset.fetch(ana, receipt)
    facts = json.loads(found.text)
    assert (facts["receipt"]["number"], facts["receipt"]["repeated"]) == (receipt, True)
    assert [each["title"] for each in facts["questions"]] == ["Patients by ward", "Question 2", "The old"]
    service.history.begin(add("bo"), "clinic", REPORT.text, AskedTerms(epsilon=1.0))
    with pytest.raises(NotThere):
        dataset.fetch(add("bo"), receipt)
    assert answers(dataset.ask(ana, REPORT, {"epsilon": 1})) == answers(found)
    assert dataset.balance(ana).spent.epsilon == 1


def test_a_receipt_of_a_charge_that_drew_nothing_plans_nothing(service, dataset, add, monkeypatch):
    """Else who waits for an answer could have all their tries planned again and again, for free."""
    ana = add("ana")
    monkeypatch.setattr(type(service.history), "unanswered", None)
    curator = dataset.curator_of(ana)
    loss = curator.plan(COSTS, epsilon=1).loss
    receipt = curator._ledger.charge("clinic", analyst="ana", question="lost", key="lost", loss=loss)
    dataset.ask(add("bo"), REPORT, {"epsilon": 1})
    with pytest.raises(NotThere):
        dataset.fetch(ana, receipt.number)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([WARDS, "-- Doctors\nSELECT doctor, count(*) FROM visits GROUP BY 1"], r"Question 2 \(Doctors\): "),
        (["SELECT patient FROM visits"], "patient"),
        ([WARDS, "SELECT 'x"], "Question 2"),
        ([WARDS, f"{COSTS}; {COSTS}"], "Question 2: A question is exactly one SELECT"),
    ],
)
def test_a_refusal_names_its_question_is_logged_and_charges_nothing(service, dataset, add, texts, words):
    ana = add("ana")
    with pytest.raises(QueryRefused, match=words):
        dataset.ask(ana, WholeReport.of(texts), {"epsilon": 1})
    assert [event.action for event in service.log.events(who="ana")] == [Action.ASKED, Action.REFUSED]
    assert dataset.balance(ana).spent.epsilon == 0


def test_what_is_no_report_of_this_size(dataset, add):
    ana = add("ana")
    for texts in ([], [COSTS] * 101, ["x" * 60_000] * 2):
        with pytest.raises(QueryRefused):
            WholeReport.of(texts)
    with pytest.raises(QueryRefused, match="cannot be within= an error"):
        dataset.ask(ana, REPORT, {"within": 5})
    longest = [f"/* {'x' * 49_000} */ SELECT count(*) AS n FROM visits WHERE age < {i}" for i in (3, 4)]
    assert len(dataset.explain_report(ana, WholeReport.of(longest), {"epsilon": 1})) == 2
