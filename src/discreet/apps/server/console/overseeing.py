"""For owners, and for auditors who only read: spending, approvals, accounts, the policy, the log."""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response, StreamingResponse

from discreet.answers.wording import charge_text, number_text
from discreet.apps.server.console.log_words import event_words
from discreet.apps.server.console.made_up import limits_text, range_text
from discreet.apps.server.console.rendering import rendered
from discreet.apps.server.console.spending import spending_of
from discreet.apps.server.console.visits import Visit
from discreet.bounds.calibrate import charge_for
from discreet.errors import DiscreetError, InvalidInput
from discreet.model.policy import Dataset
from discreet.profile.findings import PART_OF_BUDGET, lines_of, odd_values, people_found
from discreet.profile.table_profile import TableProfile
from discreet.service.accounts import new_account
from discreet.service.approvals import Status
from discreet.service.owner_rights import (
    check_datasets,
    check_others,
    check_project,
    managed_account,
    visible_approvals,
    visible_events,
    visible_projects,
)
from discreet.service.user_account import Project, Role

_NEWEST = 200
_LOOKED_AT = 2_000
"""Of the last events, those that somebody may see are shown."""


def overview(visit: Visit) -> Response:
    return _overview(visit)


def verify(visit: Visit) -> Response:
    """Check the chains of the ledger and of the log."""
    dataset = visit.service.dataset(visit.path("dataset"), visit.account)
    try:
        dataset.verify_ledger(visit.account)
        events = visit.service.log.verify()
    except DiscreetError as error:
        return _overview(visit, wrong=error)
    return _overview(visit, verified=events)


def _overview(visit: Visit, **facts: Any) -> Response:
    name = visit.path("dataset")
    found = spending_of(visit.service, visit.account, name)
    waiting = [
        each for each in visible_approvals(visit.service, visit.account) if each.status is Status.WAITING
    ]
    return rendered(
        "overview.html",
        visit=visit,
        place="overview",
        dataset=name,
        found=found,
        waiting=len(waiting),
        **({"wrong": None, "verified": None} | facts),
    )


def policy(visit: Visit) -> Response:
    name = visit.path("dataset")
    served = visit.service.dataset(name, visit.account)
    return rendered(
        "policy.html",
        visit=visit,
        place="policy",
        dataset=name,
        policy=served.facts(visit.account),
        profiles=[_profile_shown(found, served.policy) for found in served.profiles(visit.account)],
        limits=limits_text,
        ranges=range_text,
        number=number_text,
    )


def _profile_shown(found: TableProfile, dataset: Dataset) -> dict[str, Any]:
    """What a profile tells whoever decides about limits."""
    people, off = people_found(found)
    limits = {"max_rows": found.rows} | {f"max_groups, by {name}": bins for name, bins in found.keys.items()}
    return {
        "table": found.table,
        "people": f"{number_text(people, off)} ± {number_text(off, off)}",
        "price": charge_text(found.loss),
        "at": charge_text(charge_for(dataset, dataset.epsilon * PART_OF_BUDGET)),
        "limits": {title: lines_of(bins, dataset) for title, bins in limits.items()},
        "odd": [
            f"{share:.0%} ± {reach:.0%} of people have a {name} that is {odd}."
            for name, odd, share, reach in odd_values(found)
        ],
    }


def approvals(visit: Visit) -> Response:
    found = visible_approvals(visit.service, visit.account)
    return rendered(
        "approvals.html",
        visit=visit,
        place="approvals",
        waiting=[each for each in found if each.status is Status.WAITING],
        decided=[each for each in found if each.status is not Status.WAITING][:50],
    )


def decide(visit: Visit) -> Response:
    choice = visit.text("decision")
    if choice not in ("approve", "deny"):
        raise InvalidInput("A request is approved or denied.", remedy="Use one of the two buttons.")
    visit.service.approvals.decide(visit.path("approval"), approve=choice == "approve", by=visit.account)
    return RedirectResponse("/owner/approvals", status_code=303)


def accounts(visit: Visit) -> Response:
    return _accounts(visit)


def add_account(visit: Visit) -> Response:
    """A new account. Its token is on this one page, and nowhere else."""
    role = visit.text("role")
    if role not in list(Role):
        raise InvalidInput("There is no such role.", remedy=f"Choose: {', '.join(Role)}.")
    names = [name for name in visit.service.visible(visit.account) if visit.sent.get(f"dataset:{name}")]
    if not names:
        raise InvalidInput("An account needs a dataset.", remedy="Choose at least one.")
    check_datasets(visit.account, names)
    account = new_account(visit.text("name").strip(), Role(role), names, **_caps(visit))
    token = visit.service.accounts.add(account, by=visit.account.name)
    return _accounts(visit, token=token, whose=account.name)


def change_account(visit: Visit) -> Response:
    """Revoke, a new token, or other caps."""
    people, name = visit.service.accounts, visit.path("name")
    account = managed_account(people, visit.account, name)
    match visit.text("change"):
        case "revoke":
            check_others(visit.account, name)
            people.revoke(name, by=visit.account.name)
        case "token":
            token = people.new_token(name, by=visit.account.name)
            return _accounts(visit, token=token, whose=name)
        case "caps":
            people.change(replace(account, **_caps(visit)), by=visit.account.name)
        case _:
            raise InvalidInput("There is no such change.", remedy="Use one of the buttons.")
    return RedirectResponse(f"/owner/accounts#{quote(name)}", status_code=303)


def set_project(visit: Visit) -> Response:
    """A project that several analysts share a budget in."""
    most = _number(visit.text("most_epsilon"), "The budget of a project")
    if most is None:
        raise InvalidInput("A project needs a budget.", remedy="Give its ε, such as 1.")
    name = visit.text("name").strip()
    check_project(visit.service.accounts, visit.account, name)
    visit.service.accounts.set_project(Project(name=name, most_epsilon=most), by=visit.account.name)
    return RedirectResponse("/owner/accounts", status_code=303)


def log(visit: Visit) -> Response:
    last = visit.service.log.newest(1)
    after = max(0, last[0].number - _LOOKED_AT) if last else 0
    events = deque(visible_events(visit.service, visit.account, after=after), maxlen=_NEWEST)
    return rendered(
        "log.html",
        visit=visit,
        place="log",
        events=[(each, event_words(each)) for each in reversed(events)],
    )


def log_export(visit: Visit) -> Response:
    """All events, oldest first, one JSON object a line."""
    lines = _lines(visit)
    name = 'attachment; filename="discreet-log.jsonl"'
    return StreamingResponse(lines, media_type="application/jsonl", headers={"Content-Disposition": name})


def _lines(visit: Visit) -> Iterator[str]:
    for event in visible_events(visit.service, visit.account):
        facts = {
            "number": event.number,
            "at": event.at.isoformat(),
            "who": event.who,
            "action": event.action.value,
            "dataset": event.dataset,
            "details": event.details,
            "digest": event.digest,
        }
        yield json.dumps(facts) + "\n"


def _accounts(visit: Visit, *, token: str = "", whose: str = "") -> Response:
    visible = set(visit.service.visible(visit.account))
    found = [each for each in visit.service.accounts.all() if visible & set(each.datasets)]
    managed = {each.name for each in found if set(each.datasets) <= set(visit.account.datasets)}
    return rendered(
        "accounts.html",
        visit=visit,
        place="accounts",
        accounts=[each for each in found if each.revoked is None],
        revoked=[each for each in found if each.revoked is not None],
        projects=list(visible_projects(visit.service.accounts, visit.account)),
        datasets=visit.service.visible(visit.account),
        managed=managed if visit.account.role is Role.OWNER else set(),
        token=token,
        whose=whose,
        oidc=visit.request.app.state.settings.oidc,
    )


def _caps(visit: Visit) -> dict[str, Any]:
    names = {
        "most_epsilon": "The most that they may spend",
        "default_epsilon": "The usual price",
        "approval_above": "The price above which you decide",
    }
    caps: dict[str, Any] = {name: _number(visit.text(name), title) for name, title in names.items()}
    chosen = {name: visit.text(name).strip() for name in ("project", "identity") if name in visit.sent}
    if "project" in chosen:
        check_project(visit.service.accounts, visit.account, chosen["project"])
    return caps | chosen


def _number(text: str, title: str) -> Fraction | None:
    if not text.strip():
        return None
    try:
        rough = float(text)  # before a fraction is made of it: 1e999999999 would have a billion digits
    except ValueError:
        rough = -1.0
    if not 1e-9 < rough < 1e6 or len(text) > 50:
        raise InvalidInput(f"{title} must be an ε above 0.", remedy="Write a number such as 0.5")
    return Fraction(text.strip())
