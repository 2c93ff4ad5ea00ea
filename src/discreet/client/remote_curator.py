"""A curator that is elsewhere: the same questions, the same answers, the same errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.answers.json_reading import read_answer, read_charge, read_explanation
from discreet.answers.report.reading import is_report, read_report, read_report_explanation
from discreet.answers.report.report import Report
from discreet.answers.report.report_explanation import ReportExplanation
from discreet.answers.table_facts import TableList
from discreet.client.address import read_address
from discreet.client.bodies import model_body, question_body, report_body, synthesis_body
from discreet.client.facts import (
    BudgetFacts,
    PastQuestion,
    read_budget,
    read_question,
    read_table,
)
from discreet.client.problems import unexplained
from discreet.client.requests import USUAL_TIMEOUT, Requests
from discreet.errors import InvalidInput, MissingExtra, NotThere, ServiceUnreachable
from discreet.model.exact import Number
from discreet.model.privacy import Spend
from discreet.model.report import Questions

if TYPE_CHECKING:
    from discreet.learn.plan.fitted_model import FittedModel
    from discreet.question.frame import Frame

T = TypeVar("T")


def connect_to_service(
    url: str,
    token: str,
    *,
    dataset: str | None = None,
    insecure: bool = False,
    timeout: float = USUAL_TIMEOUT,
    certificates: str | Path | None = None,
) -> "RemoteCurator":
    """See `discreet.connect`."""
    requests = Requests(
        address=read_address(url, insecure=insecure),
        token=token,
        timeout=timeout,
        certificates=None if certificates is None else Path(certificates),
    )
    account = _account(requests)
    return RemoteCurator(requests, account.chosen(dataset), analyst=account.name)


def check_service(url: str, *, insecure: bool = False) -> str:
    """The address of a service that can be reached, before anybody types a token for it."""
    address = read_address(url, insecure=insecure)
    Requests(address=address, token="none").reach()  # noqa: S106  it is not sent
    return str(address)


def account_at(url: str, token: str, *, insecure: bool = False) -> "RemoteAccount":
    """Whose token this is."""
    return _account(Requests(address=read_address(url, insecure=insecure), token=token))


def _account(requests: Requests) -> "RemoteAccount":
    try:
        found = requests.get("me")
    except NotThere:  # this is always there
        raise unexplained(404, requests.address) from None
    return _read(lambda: RemoteAccount(name=str(found["name"]), datasets=tuple(map(str, found["datasets"]))))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAccount:
    """Who a token belongs to."""

    name: str
    datasets: tuple[str, ...]

    def chosen(self, dataset: str | None) -> str:
        """The dataset of this name, or the only one."""
        listed = ", ".join(self.datasets) or "none"
        if dataset is not None and dataset not in self.datasets:
            raise InvalidInput(
                f"There is no dataset “{dataset}” for this account.", remedy=f"It may use: {listed}."
            )
        if dataset is None and len(self.datasets) != 1:
            raise InvalidInput(
                f"This account may use {len(self.datasets)} datasets.",
                remedy=f"Name one with dataset=… (--dataset): {listed}.",
            )
        return dataset or self.datasets[0]


class RemoteTerms(TypedDict, total=False):
    """One price, or the error that an answer may have; and the confidence, 0.95 by default."""

    epsilon: Number | None
    rho: Number | None
    within: Number | None
    confidence: Number


class RemoteCurator:
    """Answers questions about one dataset of a service, for whoever the token belongs to.

    Several threads may use one. There is nothing to close.
    """

    def __init__(self, requests: Requests, dataset: str, *, analyst: str) -> None:
        self._requests = requests
        self.dataset = dataset
        """Its name."""
        self.analyst = analyst
        """Your name, as the service knows you."""

    @overload
    def ask(self, sql: str, *, purpose: str = ..., **terms: Unpack[RemoteTerms]) -> Answer: ...
    @overload
    def ask(self, sql: Questions, *, purpose: str = ..., **terms: Unpack[RemoteTerms]) -> Report: ...
    def ask(
        self,
        sql: str | Questions,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number = 0.95,
        purpose: str = "",
    ) -> Answer | Report:
        """The private answer. The same question at the same price is charged once.

        sql: one SELECT about the tables of the dataset. Or a list of them, for one price: a `Report`.
        epsilon, rho: the price. Give one of the two, or `within`; or none, if your account has a price.
        within: how far each number may be off. The least price for that is paid.
        confidence: of the stated errors.
        purpose: what it is for. The owner reads it, if the question needs approval.

        If the connection is lost, the question is asked again: the answer that was paid for comes back, free.

        >>> curator.ask("SELECT ward, count(*) AS n FROM visits GROUP BY ward", epsilon=0.1)  # doctest: +SKIP
        """
        terms = RemoteTerms(epsilon=epsilon, rho=rho, within=within, confidence=confidence)
        own = {"purpose": purpose} if purpose else {}
        if isinstance(sql, list | tuple):
            report = self._post("report", body=report_body(sql, **terms) | own)
            return _read(lambda: read_report(report, analyst=self.analyst))
        found = self._post("ask", body=question_body(sql, **terms) | own)
        return _read(lambda: read_answer(found, question=sql, analyst=self.analyst))

    @overload
    def explain(self, sql: str, **terms: Unpack[RemoteTerms]) -> Explanation: ...
    @overload
    def explain(self, sql: Questions, **terms: Unpack[RemoteTerms]) -> ReportExplanation: ...
    def explain(
        self,
        sql: str | Questions,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number = 0.95,
    ) -> Explanation | ReportExplanation:
        """Price and error, from the policy and the text alone. Reads no data and costs nothing.

        It takes what `ask` takes, but for the purpose.

        >>> curator.explain("SELECT count(*) FROM visits", epsilon=0.1).errors[0].each  # doctest: +SKIP
        """
        terms = RemoteTerms(epsilon=epsilon, rho=rho, within=within, confidence=confidence)
        if isinstance(sql, list | tuple):
            report = self._post("report", "explain", body=report_body(sql, **terms))
            return _read(lambda: read_report_explanation(report))
        found = self._post("explain", body=question_body(sql, **terms))
        return _read(lambda: read_explanation(found))

    def synthesize(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bins: int | Mapping[str, int] | None = None,
        workload: Sequence[str] = (),
        rows: int | None = None,
        purpose: str = "",
    ) -> Answer:
        """Rows of nobody, of the columns of a SELECT, as an answer without errors: for `to_pandas`, say.

        The table is charged once, and asking again draws other rows, for free. `rows` says how many: about as
        many as the real table has if None. `bins` and `workload` are those of `Curator.synthesize`.
        """
        body = synthesis_body(sql, bins, workload, epsilon=epsilon, rho=rho)
        found = self._post("synthesize", body=body | {"rows": rows, "purpose": purpose or None})
        return _read(lambda: read_answer(found, question=sql, analyst=self.analyst))

    def explain_synthesis(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bins: int | Mapping[str, int] | None = None,
        workload: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Price and error of a synthetic table, as `SynthesisExplanation.to_dict` has them. Costs nothing."""
        body = synthesis_body(sql, bins, workload, epsilon=epsilon, rho=rho)
        found = self._post("synthesize", "explain", body=body)
        return _read(lambda: dict(found))

    def fit(
        self,
        model: object,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        purpose: str = "",
    ) -> "FittedModel":
        """A model of the last column of a SELECT by those before it. The same fit is charged once.

        It is one of discreet's linear models, such as `discreet.learn.LogisticRegression()`. It is sent and
        comes back as data: its settings, and its coefficients. This needs scikit-learn here too.
        """
        body = model_body(model, sql, epsilon=epsilon, rho=rho)
        from discreet.learn.plan.model_json import read_model

        found = self._post("fit", body=body | {"purpose": purpose or None})
        paid = _read(lambda: read_answer(found, question=sql, analyst=self.analyst))
        return _read(
            lambda: read_model(found["model"], receipt=paid.receipt, left=paid.left, repeated=paid.repeated)
        )

    def explain_fit(
        self, model: object, sql: str, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> dict[str, Any]:
        """Price of a fit and how large its noise will be, as `FitExplanation.to_dict` has them."""
        found = self._post("fit", "explain", body=model_body(model, sql, epsilon=epsilon, rho=rho))
        return _read(lambda: dict(found))

    def fetch(self, receipt: int) -> Answer | Report:
        """An answer or a report that you paid for, by the number of its receipt; free.

        >>> curator.fetch(answer.receipt.number)  # doctest: +SKIP
        """
        found = self._get("receipts", str(int(receipt)))
        return _read(lambda: _paid_for(found, self.analyst))

    def table(self, name: str) -> "Frame[Answer, Explanation]":
        """A table by its name, to ask a question about step by step. It needs sqlglot to write the SQL.

        >>> curator.table("visits").group_by("ward").count().ask(epsilon=0.1)  # doctest: +SKIP
        """
        self.tables[name]
        try:
            from discreet.question.frame import Frame
        except ImportError as missing:
            raise MissingExtra("sqlglot is not installed.", remedy="Run: pip install sqlglot") from missing
        return Frame(name, self.ask, self.explain)

    @property
    def tables(self) -> TableList:
        """What can be asked about: tables, columns, bounds, keys and limits. Public, and free.

        It prints as a list, and shows as tables in a notebook. One table is tables["visits"].

        >>> curator.tables["visits"].columns[0].name  # doctest: +SKIP
        """
        found = self._get()
        return _read(lambda: TableList(read_table(table) for table in found["tables"]))

    def budget(self) -> BudgetFacts:
        """What is spent and left, in all and for you.

        >>> curator.budget().left_for_you  # doctest: +SKIP
        """
        found = self._get("budget")
        return _read(lambda: read_budget(found))

    def left(self) -> Spend:
        """What you may still spend."""
        found = self._get()
        return _read(lambda: read_charge(found["left"]))

    def history(self) -> list[PastQuestion]:
        """Your latest questions about all datasets, newest first."""
        found = self._requests.get("history")
        return _read(lambda: [read_question(each) for each in found["questions"]])

    def close(self) -> None:
        """For those who would close a `Curator`. Nothing is open between questions."""

    def __enter__(self) -> "RemoteCurator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{self.dataset} at {self._requests.address}, for {self.analyst}"

    def _get(self, *path: str) -> Any:
        return self._requests.get("datasets", self.dataset, *path)

    def _post(self, *path: str, body: dict[str, Any]) -> Any:
        return self._requests.post("datasets", self.dataset, *path, body=body)


def _paid_for(found: Mapping[str, Any], analyst: str) -> Answer | Report:
    return read_report(found, analyst=analyst) if is_report(found) else read_answer(found, analyst=analyst)


def _read(reading: Callable[[], T]) -> T:
    """A reply that is not as expected is the service's fault, not the caller's."""
    try:
        return reading()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ServiceUnreachable(
            "The reply of the service cannot be understood.",
            remedy="Use the same version of discreet on both sides.",
        ) from error
