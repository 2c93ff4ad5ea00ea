"""A service without HTTP: who may ask what, caps, approvals, the log, answers by receipt."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet import (
    BudgetExceeded,
    InvalidInput,
    LedgerClosed,
    NeedsApproval,
    NotAllowed,
    NotSignedIn,
    NotThere,
    QueryRefused,
)
from discreet.curator import Curator
from discreet.service.accounts import TokenKind, new_account
from discreet.service.approvals import Status
from discreet.service.service import open_people, open_service
from discreet.service.storage.event_log import Action
from discreet.service.user_account import Project, Role
from tests.attacks.ask import Clinic

COUNT = "SELECT count(*) AS n FROM visits"
OLD = f"{COUNT} WHERE age > 50"


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
def add(service, dataset):
    def add(name, role=Role.ANALYST, **settings):
        account = new_account(name, role, [dataset.name], **settings)
        add.tokens[name] = service.accounts.add(account, by="the owner")
        return account

    add.tokens = {}
    return add


def actions(service, who=None):
    return [event.action for event in service.log.events(who=who)]


def test_an_analyst_asks_and_the_ledger_has_their_name(service, dataset, add):
    told = dataset.ask(add("ana"), COUNT, {"epsilon": 1})
    assert json.loads(told.text)["columns"] == ["n"]
    assert dataset.balance(add("olga", Role.OWNER)).analysts["ana"].epsilon == 1
    assert actions(service, "ana") == [Action.ASKED, Action.ANSWERED]
    assert service.log.verify() == len(actions(service))


def test_tokens_sign_in_until_they_are_revoked(service, add):
    account = add("ana")
    token = add.tokens["ana"]
    assert service.accounts.with_token(token).name == "ana"
    with pytest.raises(NotSignedIn):
        service.accounts.with_token(token, TokenKind.SESSION)
    another = service.accounts.new_token("ana", by="the owner")
    with pytest.raises(NotSignedIn):
        service.accounts.with_token(token)
    session = service.accounts.open_session(account, way="token")
    service.accounts.revoke("ana", by="the owner")
    for secret, kind in ((another, TokenKind.API), (session, TokenKind.SESSION)):
        with pytest.raises(NotSignedIn):
            service.accounts.with_token(secret, kind)


def test_no_token_is_stored(clinic, add):
    add("ana")
    stored = b"".join(path.read_bytes() for path in clinic.folder.glob("*.service*"))
    assert add.tokens["ana"].encode() not in stored


def test_an_auditor_asks_nothing_and_reads_all(service, dataset, add):
    auditor = add("audrey", Role.AUDITOR)
    told = dataset.ask(add("ana"), COUNT, {"epsilon": 1})
    with pytest.raises(NotAllowed):
        dataset.ask(auditor, COUNT, {"epsilon": 1})
    receipt = json.loads(told.text)["receipt"]["number"]
    assert dataset.fetch(auditor, receipt).text == told.text
    assert actions(service, "audrey") == [Action.REFUSED]


def test_answers_of_others_do_not_exist(dataset, add):
    told = dataset.ask(add("ana"), COUNT, {"epsilon": 1})
    receipt = json.loads(told.text)["receipt"]["number"]
    with pytest.raises(InvalidInput, match="no answer with receipt"):
        dataset.fetch(add("bo"), receipt)


def test_a_dataset_of_others_does_not_exist(service, dataset):
    stranger = new_account("zoe", Role.ANALYST, ["another"])
    for name in (dataset.name, "another", "nowhere"):
        with pytest.raises(NotAllowed, match="There is no dataset"):
            service.dataset(name, stranger)


def test_caps_of_an_analyst_and_of_a_project(service, dataset, add):
    service.accounts.set_project(Project(name="sepsis", most_epsilon=Fraction(3, 2)), by="the owner")
    ana, bo = (add(name, project="sepsis", most_epsilon=Fraction(1)) for name in ("ana", "bo"))
    dataset.ask(ana, COUNT, {"epsilon": 0.9})
    with pytest.raises(BudgetExceeded, match="analyst ana"):
        dataset.ask(ana, OLD, {"epsilon": 0.2})
    with pytest.raises(BudgetExceeded, match="project sepsis"):
        dataset.ask(bo, OLD, {"epsilon": 0.7})
    assert dataset.facts(bo)["left"] == {"epsilon": pytest.approx(0.6)}
    assert json.loads(dataset.ask(bo, COUNT, {"epsilon": 0.9}).text)["charged"] == {"epsilon": 0.0}


def test_a_question_above_the_threshold_waits_for_the_owner(service, dataset, add):
    ana, owner = add("ana", approval_above=Fraction(1, 2)), add("olga", Role.OWNER)
    dataset.ask(ana, COUNT, {"epsilon": 0.5})
    with pytest.raises(InvalidInput, match="what it is for"):
        dataset.ask(ana, COUNT, {"epsilon": 0.8})
    for _ in range(2):
        with pytest.raises(NeedsApproval) as waits:
            dataset.ask(ana, COUNT, {"epsilon": 0.8}, purpose="a paper")
    (sent,) = (e.details for e in service.log.events() if e.action is Action.APPROVAL_ASKED)
    assert sent["epsilon"] == 0.8
    (waiting,) = service.approvals.all()
    assert (waiting.id, waiting.purpose, waiting.status) == (waits.value.approval, "a paper", Status.WAITING)
    service.approvals.decide(waiting.id, approve=True, by=owner)
    dataset.ask(ana, COUNT, {"epsilon": 0.8})
    with pytest.raises(InvalidInput, match="decided already"):
        service.approvals.decide(waiting.id, approve=False, by=owner)
    with pytest.raises(NeedsApproval):  # an approval is for one question at one price
        dataset.ask(ana, COUNT, {"epsilon": 0.9}, purpose="more")


def approved(service, dataset, analyst, owner, terms):
    with pytest.raises(NeedsApproval) as waits:
        dataset.ask(analyst, COUNT, terms, purpose="a paper")
    service.approvals.decide(waits.value.approval, approve=True, by=owner)


def test_what_somebody_paid_for_is_free_for_all_above_caps_and_thresholds_too(service, dataset, add):
    """An answer that is there tells nothing new, so it takes no budget and no approval. The log has who."""
    dataset.ask(add("ana"), COUNT, {"epsilon": 1})
    bo = add("bo", approval_above=Fraction(1, 2), most_epsilon=Fraction(3, 4))
    told = dataset.ask(bo, COUNT, {"epsilon": 1})
    assert told.answer is not None
    assert told.answer.repeated
    assert "bo" not in dataset.balance(add("olga", Role.OWNER)).analysts
    assert service.approvals.all() == []
    assert actions(service, "bo") == [Action.ASKED, Action.ANSWERED]
    assert list(service.log.events(who="bo"))[-1].details["repeated"]
    with pytest.raises(NeedsApproval):  # another question is not free
        dataset.ask(bo, f"{COUNT} WHERE age > 50", {"epsilon": 0.7}, purpose="a paper")
    service.accounts.change(replace(bo, approval_above=None), by="the owner")
    with pytest.raises(BudgetExceeded, match="analyst bo"):
        dataset.ask(bo, COUNT, {"epsilon": 1.2})


def test_what_somebody_paid_more_for_is_free_too_and_explain_does_not_tell(service, dataset, add):
    dataset.ask(add("ana"), COUNT, {"epsilon": 1})
    bo = add("bo", approval_above=Fraction(1, 2), most_epsilon=Fraction(3, 4))
    assert dataset.explain(bo, COUNT, {"epsilon": 0.7}).epsilon == 0.7
    told = dataset.ask(bo, COUNT, {"epsilon": 0.7})
    facts = json.loads(told.text)
    assert facts["receipt"]["dearer"]
    assert facts["charged"] == {"epsilon": 0.0}
    assert facts["receipt"]["price"] == {"epsilon": 1.0}
    assert service.approvals.all() == []
    assert "bo" not in dataset.balance(add("olga", Role.OWNER)).analysts
    assert list(service.log.events(who="bo"))[-1].details["repeated"]
    assert dataset.explain(bo, COUNT, {"epsilon": 0.7}).epsilon == 0.7


def test_nobody_but_another_owner_decides(service, dataset, add):
    ana = add("ana", approval_above=Fraction(1, 2))
    owner = add("olga", Role.OWNER, approval_above=Fraction(1, 2))
    for asking in (ana, owner):
        with pytest.raises(NeedsApproval) as waits:
            dataset.ask(asking, COUNT, {"epsilon": 0.8}, purpose="a paper")
        for by in (asking, add(f"auditor of {asking.name}", Role.AUDITOR)):
            with pytest.raises(NotAllowed):
                service.approvals.decide(waits.value.approval, approve=True, by=by)


def test_an_approval_pays_for_one_charge(service, dataset, add):
    """New data, and the same question is another charge, which the owner has not approved."""
    ana, owner = add("ana", approval_above=Fraction(1, 2)), add("olga", Role.OWNER)
    approved(service, dataset, ana, owner, {"epsilon": 2})
    dataset.ask(ana, COUNT, {"epsilon": 2})
    assert json.loads(dataset.ask(ana, COUNT, {"epsilon": 2}).text)["receipt"]["repeated"]
    dataset.curator_of(ana)._ledger.refresh(dataset.name)
    with pytest.raises(NeedsApproval):
        dataset.ask(ana, COUNT, {"epsilon": 2}, purpose="again")
    assert dataset.balance(owner).spent.epsilon == 2


def test_an_approval_is_up_to_its_price(service, dataset, add, monkeypatch):
    """What is asked within an error may cost more than it did: the charge itself is looked at."""
    ana, owner = add("ana", approval_above=Fraction(1, 100)), add("olga", Role.OWNER)
    approved(service, dataset, ana, owner, {"within": 50})
    (found,) = service.approvals.all()
    cheaper = replace(found, epsilon=found.epsilon * Fraction(99, 100))
    monkeypatch.setattr(type(service.approvals), "find", lambda *_: cheaper)
    with pytest.raises(NeedsApproval):
        dataset.ask(ana, COUNT, {"within": 50}, purpose="a paper")
    assert dataset.balance(owner).spent.epsilon == 0


def test_an_approval_survives_a_refusal(service, dataset, add):
    ana = add("ana", approval_above=Fraction(1, 2), most_epsilon=Fraction(3))
    approved(service, dataset, ana, add("olga", Role.OWNER), {"epsilon": 2})
    service.accounts.change(replace(ana, most_epsilon=Fraction(1)), by="the owner")
    with pytest.raises(BudgetExceeded):
        dataset.ask(ana, COUNT, {"epsilon": 2})
    service.accounts.change(replace(ana, most_epsilon=Fraction(3)), by="the owner")
    dataset.ask(ana, COUNT, {"epsilon": 2})


def test_an_approval_is_not_given_back_after_a_charge(service, dataset, add, monkeypatch):
    """Whatever is refused after the charge, the ledger knows of it."""
    ana, owner = add("ana", approval_above=Fraction(1, 2)), add("olga", Role.OWNER)
    approved(service, dataset, ana, owner, {"epsilon": 2})
    ask = Curator.ask

    def refused_too_late(curator, *question, **terms):
        ask(curator, *question, **terms)
        raise InvalidInput("Too many rows.", remedy="Ask for fewer.")

    with monkeypatch.context() as late:
        late.setattr(Curator, "ask", refused_too_late)
        with pytest.raises(InvalidInput):
            dataset.ask(ana, COUNT, {"epsilon": 2})
    dataset.curator_of(ana)._ledger.refresh(dataset.name)
    with pytest.raises(NeedsApproval):
        dataset.ask(ana, COUNT, {"epsilon": 2}, purpose="again")
    assert dataset.balance(owner).spent.epsilon == 2


def test_whoever_was_in_a_project_counts_for_good(service, dataset, add):
    service.accounts.set_project(Project(name="sepsis", most_epsilon=Fraction(1)), by="the owner")
    ana, bo = (add(name, project="sepsis") for name in ("ana", "bo"))
    dataset.ask(ana, COUNT, {"epsilon": 0.9})
    service.accounts.change(replace(ana, project=""), by="the owner")
    with pytest.raises(BudgetExceeded, match="project sepsis"):
        dataset.ask(bo, OLD, {"epsilon": 0.2})


def test_an_account_that_was_revoked_meanwhile_asks_nothing(service, dataset, add):
    ana = add("ana")
    service.accounts.revoke("ana", by="the owner")
    with pytest.raises(NotSignedIn):
        dataset.ask(ana, COUNT, {"epsilon": 1})


@pytest.mark.parametrize("receipt", [0, -1, 10**30, "1", None, True])
def test_what_is_no_receipt_is_not_there(dataset, add, receipt):
    with pytest.raises(NotThere):
        dataset.fetch(add("ana"), receipt)


def test_nobody_is_called_like_the_service(add):
    with pytest.raises(InvalidInput):
        add("the service")


def test_what_was_asked_can_be_erased(service, dataset, add):
    ana = add("ana", approval_above=Fraction(1, 2))
    with pytest.raises(NeedsApproval):
        dataset.ask(ana, COUNT, {"epsilon": 1}, purpose="a paper")
    service.erase_older_than(days=-1)
    (request,) = service.approvals.all()
    assert {request.question, request.purpose, service.history.of(ana)[0].question} == {"(erased)"}


def test_the_default_price_of_an_account(dataset, add):
    told = dataset.ask(add("ana", default_epsilon=Fraction(1, 4)), COUNT, {})
    assert json.loads(told.text)["charged"] == {"epsilon": 0.25}
    with pytest.raises(InvalidInput, match="one price"):
        dataset.ask(add("bo"), COUNT, {})


@pytest.mark.parametrize("terms", [{"epsilon": "1"}, {"epsilon": True}, {"eps": 1}, {"epsilon": [1]}])
def test_terms_of_another_kind_are_refused(dataset, add, terms):
    with pytest.raises(InvalidInput):
        dataset.ask(add("ana"), COUNT, terms)


def test_an_answer_that_was_charged_and_not_sent_is_fetched_by_its_receipt(
    service, dataset, add, monkeypatch
):
    """As if the service had died between the ledger's entry and its own."""
    ana = add("ana")

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(service.history), "answered", die)
    with pytest.raises(KeyboardInterrupt):
        dataset.ask(ana, COUNT, {"epsilon": 1})
    monkeypatch.undo()
    entries = list(dataset.curator_of(ana).entries())
    (receipt,) = [entry.number for entry in entries if entry.kind.value == "charged"]
    found = json.loads(dataset.fetch(ana, receipt).text)
    assert found["receipt"]["repeated"]
    assert dataset.balance(ana).spent.epsilon == 1
    with pytest.raises(InvalidInput):
        dataset.fetch(add("bo"), receipt)


def test_a_receipt_of_another_dataset_is_not_looked_for_in_all_that_came_later(dataset, add, monkeypatch):
    """Datasets share a ledger, and its numbers."""
    ana, read, honest = add("ana"), [], Curator.entries
    dataset.ask(ana, COUNT, {"epsilon": 1})
    dataset.ask(ana, OLD, {"epsilon": 1})
    another = next(each.number for each in honest(dataset.curator_of(ana)) if each.kind.value == "charged")

    def entries(self, *, after=0):
        for each in honest(self, after=after):
            if each.number != another:
                read.append(each.number)
                yield each

    monkeypatch.setattr(Curator, "entries", entries)
    with pytest.raises(InvalidInput, match="no answer with receipt"):
        dataset.fetch(add("bo"), another)
    assert read == [another + 1]


def test_answers_of_older_data_are_fetched_too(dataset, add):
    ana = add("ana")
    told = dataset.ask(ana, COUNT, {"epsilon": 1})
    dataset.curator_of(ana)._ledger.refresh(dataset.name)
    assert dataset.fetch(ana, json.loads(told.text)["receipt"]["number"]).text == told.text


def test_a_log_that_was_changed_is_noticed(service, dataset, add):
    with pytest.raises(QueryRefused):
        dataset.ask(add("ana"), "SELECT patient FROM visits", {"epsilon": 1})
    with service._database.transaction() as changes:
        changes.change("UPDATE events SET who = 'bo' WHERE who = 'ana'")
    with pytest.raises(LedgerClosed, match="was changed"):
        service.log.verify()


def test_what_events_say_can_be_erased_and_the_chain_holds(service, dataset, add):
    dataset.ask(add("ana"), COUNT, {"epsilon": 1})
    assert service.erase_older_than(days=-1) > 0
    assert all(event.details is None for event in service.log.events())
    service.log.verify()


def test_what_changed_in_a_policy_is_recorded(clinic, service):
    service.close()
    text = clinic.policy.read_text()
    assert "bounds = [0, 100]" in text
    clinic.policy.write_text(text.replace("bounds = [0, 100]", "bounds = [0, 90]", 1))
    again = open_service([clinic.policy])
    events = [event for event in again.log.events() if event.action is Action.POLICY_READ]
    again.close()
    assert len(events) == 2
    ((place, (old, new)),) = events[1].details["changed"].items()
    assert (place.rpartition(".")[2], old, new) == ("bounds", [0.0, 100.0], [0.0, 90.0])


def test_accounts_are_managed_without_the_data(clinic, service, add):
    add("ana")
    people = open_people(clinic.policy)
    assert [account.name for account in people.accounts.all()] == ["ana"]
    people.accounts.change(replace(people.accounts.find("ana"), most_epsilon=Fraction(2)), by="olga")
    assert service.accounts.find("ana").most_epsilon == 2
    people.close()


def test_a_purpose_goes_with_the_charge(dataset, add):
    dataset.ask(add("pia"), COUNT, {"epsilon": 0.125}, purpose="the yearly report")
    (charge,) = [entry for entry in dataset._curator.entries() if entry.analyst == "pia"]
    assert charge.note == "the yearly report"
    assert dataset.facts(add("pit"))["purpose_required"] is False
