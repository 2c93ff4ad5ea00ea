"""One dataset of a service: what an account may ask of it, within its role, its caps and approvals.

Everything that an account does here is in the log, refusals too. The charge itself is the ledger's.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.answers.explanation import Explanation
from discreet.answers.json_text import charge_json
from discreet.bounds.calibrate import charge_for
from discreet.curator import Curator
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineFailed,
    InvalidInput,
    LedgerClosed,
    MissingExtra,
    NeedsApproval,
    NotSignedIn,
    NotThere,
    QueryRefused,
)
from discreet.ledger.interface import Balance, Cap, Entry
from discreet.model.exact import LARGEST_COUNT
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend
from discreet.service.accounts import THE_SERVICE, Accounts
from discreet.service.approvals import Approvals, Status
from discreet.service.dataset_facts import dataset_facts, flat_facts
from discreet.service.history import AskedQuestion, History
from discreet.service.question_kinds import (
    LONGEST_QUESTION,
    ModelQuestion,
    PaidQuestion,
    SqlQuestion,
    SynthesisQuestion,
    Told,
    check_text,
    read_kind,
    sql_in_ledger,
)
from discreet.service.question_terms import AskedTerms
from discreet.service.storage.event_log import Action, EventLog
from discreet.service.user_account import Project, Role, UserAccount

if TYPE_CHECKING:
    from discreet.learn.plan.explain import FitExplanation
    from discreet.profile.table_profile import TableProfile
    from discreet.synth.plan.explain import SynthesisExplanation

T = TypeVar("T")


class ServedDataset:
    """A curator that asks who is asking."""

    def __init__(
        self, curator: Curator, accounts: Accounts, approvals: Approvals, history: History, log: EventLog
    ) -> None:
        self._curator = curator
        self._accounts = accounts
        self._approvals = approvals
        self._history = history
        self._log = log

    @property
    def name(self) -> str:
        return self._curator.dataset.name

    def facts(self, account: UserAccount) -> dict[str, Any]:
        """The policy, and what this account has left."""
        account.check_dataset(self.name)
        curator = self.curator_of(account)
        return {**dataset_facts(curator.dataset), "left": charge_json(curator.left())}

    def profiles(self, account: UserAccount) -> "list[TableProfile]":
        """What profiles found, for owners and auditors."""
        account.check_dataset(self.name)
        account.check_role(Role.OWNER, Role.AUDITOR)
        return self._curator.known_profiles()

    def curator_of(
        self, account: UserAccount, *, most_epsilon: Fraction | None = None, purpose: str = ""
    ) -> Curator:
        """The curator that charges this account, within its caps. What costs more needs approval."""
        account.check_dataset(self.name)
        caps = self._caps(account)
        return self._curator.for_analyst(account.name, caps=caps, most_epsilon=most_epsilon, purpose=purpose)

    def explain(self, account: UserAccount, sql: str, terms: Mapping[str, Any]) -> Explanation:
        """Price and error. Costs nothing, and is not logged: it is asked at every key that is pressed."""
        given = AskedTerms.read(terms, account.default_epsilon).given()
        check_text(SqlQuestion(sql=sql))
        return self.curator_of(account).explain(sql, **given)

    def explain_synthesis(
        self, account: UserAccount, question: SynthesisQuestion, terms: Mapping[str, Any]
    ) -> "SynthesisExplanation":
        """Price and error of a synthetic table. Costs nothing, and is not logged."""
        check_text(question)
        asked = AskedTerms.read(terms, account.default_epsilon)
        return question.explain(self.curator_of(account), asked)

    def explain_fit(
        self, account: UserAccount, question: ModelQuestion, terms: Mapping[str, Any]
    ) -> "FitExplanation":
        """Price of a fit, and how large its noise will be. Costs nothing, and is not logged."""
        check_text(question)
        asked = AskedTerms.read(terms, account.default_epsilon)
        return question.explain(self.curator_of(account), asked)

    def ask(
        self,
        account: UserAccount,
        question: PaidQuestion | str,
        terms: Mapping[str, Any],
        *,
        purpose: str = "",
    ) -> Told:
        """The answer, charged to this account; written down before, and kept.

        A synthetic table is charged once, and more rows of it are free.
        """
        kind = SqlQuestion(sql=question) if isinstance(question, str) else question
        return self._logged(account, kind.text, lambda: self._ask(account, kind, terms, purpose))

    def fetch(self, account: UserAccount, receipt: int) -> Told:
        """An answer that this account got, by its receipt; free. Owners and auditors may fetch all."""
        account.check_dataset(self.name)
        if type(receipt) is not int or not 0 < receipt < LARGEST_COUNT:
            raise NotThere("There is no such receipt.", remedy="See the history.")
        sees_all = account.role in (Role.OWNER, Role.AUDITOR)
        for kept in self._history.with_receipt(self.name, receipt):
            if (sees_all or kept.account == account.name) and kept.answer is not None:
                return Told(answer=None, text=kept.answer)
        found = None if account.role is Role.AUDITOR else self._from_ledger(account, receipt)
        if found is None:
            raise NotThere(
                f"There is no answer with receipt {receipt} for this account.", remedy="See the history."
            )
        return found

    def may_fetch(self, account: UserAccount, receipt: int) -> bool:
        """Whether this account got the answer with this receipt, or may see those of all."""
        try:
            self.fetch(account, receipt)
        except NotThere:
            return False
        return True

    def balance(self, account: UserAccount) -> Balance:
        """What is spent: in all, and by this account; by everybody, for owners and auditors."""
        account.check_dataset(self.name)
        found = self._curator.budget()
        if account.role is Role.ANALYST:
            own = {name: spent for name, spent in found.analysts.items() if name == account.name}
            return Balance(account=found.account, version=found.version, spent=found.spent, analysts=own)
        return found

    def entries(self, account: UserAccount) -> list[Entry]:
        """What the ledger says, oldest first: for owners and auditors."""
        account.check_dataset(self.name)
        account.check_role(Role.OWNER, Role.AUDITOR)
        return list(self._curator.entries())

    def public_standing(self) -> tuple[dict[str, Any], Balance]:
        """The policy, and what is spent in all: nothing of what anybody asked. For everybody."""
        found = self._curator.budget()
        spent = Balance(account=found.account, version=found.version, spent=found.spent, analysts={})
        return dataset_facts(self._curator.dataset), spent

    @property
    def policy(self) -> Dataset:
        """What the owner declared. All of it is public."""
        return self._curator.dataset

    def verify_ledger(self, account: UserAccount) -> int:
        """Replay the whole ledger; LedgerClosed if anything is not as it was. The number of our entries."""
        account.check_dataset(self.name)
        account.check_role(Role.OWNER, Role.AUDITOR)
        self._curator.verify_ledger()
        return sum(1 for _ in self._curator.entries())

    def check_ledger(self) -> None:
        """LedgerClosed if the ledger cannot be read."""
        self._curator.budget()

    def note_policy(self) -> None:
        """Record how the policy differs from what it was when the service last read it."""
        facts = flat_facts(dataset_facts(self._curator.dataset))
        before: dict[str, Any] | None = None
        for event in self._log.events():
            if event.action is Action.POLICY_READ and event.dataset == self.name and event.details:
                before = dict(event.details["policy"])
        if before == facts:
            return
        old = before or {}
        changed = {name: [old.get(name), facts.get(name)] for name in sorted({*old, *facts})}
        changed = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
        details = {"policy": facts, "changed": {} if before is None else changed}
        self._log.record(Action.POLICY_READ, who=THE_SERVICE, dataset=self.name, details=details)

    def close(self) -> None:
        self._curator.close()

    def _ask(
        self, account: UserAccount, question: PaidQuestion, terms: Mapping[str, Any], purpose: str
    ) -> Told:
        account = self._present(account)
        asked = AskedTerms.read(terms, account.default_epsilon)
        check_text(question)
        return self._paid(account, question, asked, purpose)

    def _present(self, account: UserAccount) -> UserAccount:
        """The account as it is now: it may have been changed or revoked since somebody signed in."""
        now = self._accounts.find(account.name)
        if now is None or now.revoked is not None:
            raise NotSignedIn(
                f"The account “{account.name}” is revoked.", remedy="Ask the owner of the data."
            )
        now.check_role(Role.ANALYST, Role.OWNER)
        now.check_dataset(self.name)
        return now

    def _paid(self, account: UserAccount, question: PaidQuestion, terms: AskedTerms, purpose: str) -> Told:
        """Ask for an account, up to the price that it may spend unasked or that was approved.

        An approval is used up before the charge. It is given back if the question was refused after all, and
        the ledger knows of no charge to this account in the meantime.
        """
        text = question.text
        most, approved = account.approval_above, None
        if most is not None:
            found = self._approvals.find(account, self.name, text, terms)
            approved = found if found is not None and self._approvals.use_up(found.id) else None
            most = most if approved is None else max(most, approved.epsilon)
        before = None if approved is None else self._standing(account)
        number = self._history.begin(account, self.name, text, terms)
        try:
            told = question.ask(self.curator_of(account, most_epsilon=most, purpose=purpose), terms)
        except NeedsApproval as dear:
            if approved is not None and self._standing(account) == before:
                self._approvals.give_back(approved.id)
            raise self._request(account, text, terms, Fraction(dear.price), purpose) from None
        except (QueryRefused, BudgetExceeded, InvalidInput, MissingExtra):
            if approved is not None and self._standing(account) == before:
                self._approvals.give_back(approved.id)
            raise
        self._keep(number, account, told)
        return told

    def _standing(self, account: UserAccount) -> tuple[int, Spend | None]:
        """The version of the data, and what this account has spent on it."""
        found = self._curator.budget()
        return found.version, found.analysts.get(account.name)

    def _keep(self, number: str, account: UserAccount, told: Told) -> None:
        """Keep an answer."""
        answer = told.answer
        if answer is None:
            return
        facts = {
            "receipt": answer.receipt.number,
            "charged": charge_json(answer.charged, free=answer.repeated or answer.cached),
            "repeated": answer.repeated or answer.cached,
        }
        self._history.answered(number, account, self.name, facts, told.text)

    def _request(
        self, account: UserAccount, question: str, terms: AskedTerms, epsilon: Fraction, purpose: str
    ) -> NeedsApproval:
        """Ask the owner, unless they have denied just this and nothing new is said."""
        found = self._approvals.find(account, self.name, question, terms)
        if found is not None and found.status is Status.DENIED and not purpose:
            return NeedsApproval(
                "The owner of the data has denied this question.",
                remedy="Ask with another purpose, or at a lower price.",
                approval=found.id,
            )
        waiting = self._approvals.request(
            account, self.name, question, terms, epsilon=epsilon, purpose=purpose
        )
        return NeedsApproval(
            f"This costs ε = {float(epsilon):.4g}. Above {float(account.approval_above or 0):.4g} the owner"
            " of the data decides. Nothing was spent.",
            remedy="The request is sent. Ask the same again when it is approved.",
            approval=waiting.id,
            price=float(epsilon),
        )

    def _caps(self, account: UserAccount) -> Sequence[Cap]:
        caps = []
        if account.most_epsilon is not None:
            caps.append(self._cap(f"analyst {account.name}", [account.name], account.most_epsilon))
        project = self._project(account)
        if project is not None:
            members = self._accounts.members(project.name)
            caps.append(self._cap(f"project {project.name}", members, project.most_epsilon))
        return caps

    def _project(self, account: UserAccount) -> Project | None:
        if not account.project:
            return None
        return next(each for each in self._accounts.projects() if each.name == account.project)

    def most_epsilon(self, account: UserAccount) -> Fraction:
        """The most that this account may ever spend, whatever others spend."""
        project = self._project(account)
        caps = (account.most_epsilon, None if project is None else project.most_epsilon)
        policy = self._curator.dataset
        return min(policy.epsilon, policy.analyst_epsilon, *(cap for cap in caps if cap is not None))

    def _cap(self, name: str, analysts: Sequence[str], epsilon: Fraction) -> Cap:
        dataset = self._curator.dataset
        most = charge_for(dataset, min(epsilon, dataset.epsilon))
        return Cap(name=name, analysts=frozenset(analysts), most=most)

    def _from_ledger(self, account: UserAccount, receipt: int) -> Told | None:
        """For a question whose service died after the charge: the ledger has what was drawn."""
        paid = next(self._curator.entries(after=receipt - 1), None)  # one page, not all that came later
        if paid is None or paid.number != receipt or paid.analyst != account.name:
            return None
        for tried in self._history.unanswered(account, self.name, sql_in_ledger(paid.question)):
            told = self._recalled(account, tried)
            if told is not None and told.answer is not None and told.answer.receipt.number == receipt:
                return told
        return None

    def _recalled(self, account: UserAccount, tried: AskedQuestion) -> Told | None:
        try:
            return read_kind(tried.question).recall(self.curator_of(account), tried.terms)
        except DiscreetError:
            return None

    def _logged(self, account: UserAccount, sql: str, action: Callable[[], T]) -> T:
        """Run an action; if it is refused or fails, the log says so."""
        try:
            return action()
        except DiscreetError as error:
            kind = Action.FAILED if isinstance(error, EngineFailed | LedgerClosed) else Action.REFUSED
            if not isinstance(error, LedgerClosed):
                details = {"question": str(sql)[:LONGEST_QUESTION], "problem": error.problem}
                self._history.not_answered(account, self.name, kind, details)
            raise
