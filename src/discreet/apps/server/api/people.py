"""People: accounts, approvals, and the log of what they did."""

from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

from discreet.apps.server.api.fields import ApiField, FieldKind
from discreet.apps.server.api.route import OVERSEERS, ApiCall, ApiReply, ApiRoute, WorkKind
from discreet.model.exact import positive_epsilon
from discreet.service.accounts import USUAL_DAYS, new_account
from discreet.service.approvals import Approval
from discreet.service.owner_rights import (
    check_datasets,
    check_others,
    check_project,
    managed_account,
    managed_accounts,
    visible_approvals,
    visible_events,
)
from discreet.service.storage.event_log import LogEvent
from discreet.service.user_account import Role, UserAccount

_CAPS = ("most_epsilon", "default_epsilon", "approval_above")
_OWNER = (Role.OWNER,)
_MOST_EVENTS = 1_000
_DAYS = ApiField(name="days", kind=FieldKind.WHOLE, least=1, about="How long it lasts; 365 if not given.")


def me(call: ApiCall) -> ApiReply:
    return ApiReply(content=account_json(call.account))


def accounts(call: ApiCall) -> ApiReply:
    found = managed_accounts(call.service.accounts, call.account)
    return ApiReply(content={"accounts": [account_json(each) for each in found]})


def account(call: ApiCall) -> ApiReply:
    found = managed_account(call.service.accounts, call.account, call.path["name"])
    return ApiReply(content=account_json(found))


def add_account(call: ApiCall) -> ApiReply:
    given = call.body
    chosen = given.get("datasets", list(call.account.datasets))
    check_datasets(call.account, chosen)
    identity = given.get("identity", "")
    account = new_account(given["name"], Role(given["role"]), chosen, identity=identity, **_budgets(call))
    token = call.service.accounts.add(account, by=call.account.name, days=given.get("days", USUAL_DAYS))
    added = managed_account(call.service.accounts, call.account, account.name)
    return ApiReply(content={"account": account_json(added), "token": token}, status=201)


def change_account(call: ApiCall) -> ApiReply:
    """What is not given stays. Nobody takes their own role or datasets away."""
    people, given = call.service.accounts, call.body
    found = managed_account(people, call.account, call.path["name"])
    changed: dict[str, Any] = dict.fromkeys(given.get("remove", ())) | _budgets(call)
    if "role" in given or "datasets" in given:
        check_others(call.account, found.name)
        changed["role"] = Role(given.get("role", found.role))
        changed["datasets"] = tuple(given.get("datasets", found.datasets))
        check_datasets(call.account, changed["datasets"])
    people.change(replace(found, **changed), by=call.account.name)
    return ApiReply(content=account_json(managed_account(people, call.account, found.name)))


def _budgets(call: ApiCall) -> dict[str, Any]:
    """Caps and the project, as far as they are given."""
    given = call.body
    found: dict[str, Any] = {name: positive_epsilon(given[name], name) for name in _CAPS if name in given}
    if "project" in given:
        found["project"] = given["project"]
        check_project(call.service.accounts, call.account, given["project"])
    return found


def revoke(call: ApiCall) -> ApiReply:
    found = managed_account(call.service.accounts, call.account, call.path["name"])
    check_others(call.account, found.name)
    call.service.accounts.revoke(found.name, by=call.account.name)
    return ApiReply(content=account_json(managed_account(call.service.accounts, call.account, found.name)))


def new_token(call: ApiCall) -> ApiReply:
    found = managed_account(call.service.accounts, call.account, call.path["name"])
    token = call.service.accounts.new_token(
        found.name,
        by=call.account.name,
        days=call.body.get("days", USUAL_DAYS),
        keep_others=call.body.get("keep_others", False),
    )
    return ApiReply(content={"account": account_json(found), "token": token}, status=201)


def approvals(call: ApiCall) -> ApiReply:
    found = visible_approvals(call.service, call.account)
    return ApiReply(content={"approvals": [approval_json(each) for each in found]})


def decide(call: ApiCall) -> ApiReply:
    found = call.service.approvals.decide(call.path["id"], approve=call.body["approve"], by=call.account)
    return ApiReply(content=approval_json(found))


def log(call: ApiCall) -> ApiReply:
    most = min(_MOST_EVENTS, call.query.get("most", 100))
    events = visible_events(call.service, call.account, after=call.query.get("after", 0))
    page = list(islice(events, most))
    after = page[-1].number if len(page) == most else None
    return ApiReply(content={"events": [event_json(each) for each in page], "next": after})


def verify_log(call: ApiCall) -> ApiReply:
    return ApiReply(content={"holds": True, "entries": call.service.log.verify()})


def account_json(account: UserAccount) -> dict[str, Any]:
    def number(value: Fraction | None) -> float | None:
        return None if value is None else float(value)

    return {
        "name": account.name,
        "role": account.role.value,
        "datasets": list(account.datasets),
        "project": account.project,
        "identity": account.identity,
        "most_epsilon": number(account.most_epsilon),
        "default_epsilon": number(account.default_epsilon),
        "approval_above": number(account.approval_above),
        "created": account.created.isoformat(),
        "revoked": None if account.revoked is None else account.revoked.isoformat(),
    }


def approval_json(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "account": approval.account,
        "dataset": approval.dataset,
        "sql": approval.question,
        "terms": {name: value for name, value in approval.terms.given().items() if value is not None},
        "purpose": approval.purpose,
        "epsilon": float(approval.epsilon),
        "status": approval.status.value,
        "asked": approval.asked.isoformat(),
        "decided": None if approval.decided is None else approval.decided.isoformat(),
        "decided_by": approval.decided_by,
    }


def event_json(event: LogEvent) -> dict[str, Any]:
    return {
        "number": event.number,
        "at": event.at.isoformat(),
        "who": event.who,
        "action": event.action.value,
        "dataset": event.dataset,
        "details": event.details,
        "digest": event.digest,
    }


_BUDGETS = (
    ApiField(name="project", kind=FieldKind.TEXT, about='The project whose budget they share; "" for none.'),
    ApiField(name="most_epsilon", kind=FieldKind.NUMBER, about="The most that they may ever spend."),
    ApiField(name="default_epsilon", kind=FieldKind.NUMBER, about="The price of a question that names none."),
    ApiField(
        name="approval_above", kind=FieldKind.NUMBER, about="Questions that cost more wait for an owner."
    ),
)
_NEW_ACCOUNT = (
    ApiField(name="name", kind=FieldKind.TEXT, required=True, longest=64, about="The name of the account."),
    ApiField(
        name="role",
        kind=FieldKind.TEXT,
        required=True,
        choices=tuple(role.value for role in Role),
        about="What they may do.",
    ),
    ApiField(name="datasets", kind=FieldKind.TEXTS, about="Which they may use; yours if not given."),
    ApiField(
        name="identity",
        kind=FieldKind.TEXT,
        longest=1_000,
        about="Who they are to the service's identity provider: ISSUER#sub=ID.",
    ),
    *_BUDGETS,
    _DAYS,
)
_CHANGES = (
    ApiField(
        name="role",
        kind=FieldKind.TEXT,
        choices=tuple(role.value for role in Role),
        about="What they may do.",
    ),
    ApiField(name="datasets", kind=FieldKind.TEXTS, about="Which they may use."),
    *_BUDGETS,
    ApiField(name="remove", kind=FieldKind.TEXTS, choices=_CAPS, about="Which of these limits to remove."),
)
ROUTES = (
    ApiRoute(method="GET", path="/me", action=me, summary="Whose token this is", answer="Account"),
    ApiRoute(
        method="GET",
        path="/accounts",
        action=accounts,
        summary="The accounts of your datasets",
        answer="Accounts",
        roles=_OWNER,
    ),
    ApiRoute(
        method="POST",
        path="/accounts",
        action=add_account,
        summary="Add an account. Its token is shown this once",
        answer="NewToken",
        roles=_OWNER,
        fields=_NEW_ACCOUNT,
        status=201,
        problems=(404,),
    ),
    ApiRoute(
        method="GET",
        path="/accounts/{name}",
        action=account,
        summary="An account of your datasets",
        answer="Account",
        roles=_OWNER,
        problems=(404,),
    ),
    ApiRoute(
        method="POST",
        path="/accounts/{name}",
        action=change_account,
        summary="Change the role, the datasets, the project or the caps of an account",
        answer="Account",
        roles=_OWNER,
        fields=_CHANGES,
        problems=(404,),
    ),
    ApiRoute(
        method="POST",
        path="/accounts/{name}/revoke",
        action=revoke,
        summary="End all tokens and sessions of an account, for good",
        answer="Account",
        roles=_OWNER,
        problems=(404,),
    ),
    ApiRoute(
        method="POST",
        path="/accounts/{name}/token",
        action=new_token,
        summary="A new token for an account. It is shown this once, and those before it end",
        answer="NewToken",
        roles=_OWNER,
        fields=(
            _DAYS,
            ApiField(name="keep_others", kind=FieldKind.FLAG, about="Whether earlier tokens stay valid."),
        ),
        status=201,
        problems=(404,),
    ),
    ApiRoute(
        method="GET",
        path="/approvals",
        action=approvals,
        summary="Questions that wait or were decided: yours, or for owners and auditors all",
        answer="Approvals",
    ),
    ApiRoute(
        method="POST",
        path="/approvals/{id}",
        action=decide,
        summary="Approve or deny a question that waits",
        answer="Approval",
        roles=_OWNER,
        fields=(
            ApiField(name="approve", kind=FieldKind.FLAG, required=True, about="Whether it may be asked."),
        ),
        problems=(404,),
    ),
    ApiRoute(
        method="GET",
        path="/log",
        action=log,
        summary="What happened, oldest first: your own events, or for owners and auditors all",
        answer="Log",
        query=(
            ApiField(name="after", kind=FieldKind.WHOLE, about="Only events with a higher number."),
            ApiField(name="most", kind=FieldKind.WHOLE, least=1, about="How many at most; 100 if not given."),
        ),
        work=WorkKind.LONG,
    ),
    ApiRoute(
        method="GET",
        path="/log/verify",
        action=verify_log,
        summary="Whether each event of the log follows from those before it",
        answer="Verified",
        roles=OVERSEERS,
        work=WorkKind.LONG,
    ),
)
