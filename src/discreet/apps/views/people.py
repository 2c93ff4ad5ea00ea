"""What the owner of a service sees of its people on the terminal: accounts, tokens, projects, the log."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.answers.json_text import escaped_json
from discreet.apps.server.api.people import account_json, event_json
from discreet.apps.views.escape import shown, write_json
from discreet.curator.open_policy import system_user
from discreet.errors import InvalidInput
from discreet.model.exact import positive_epsilon
from discreet.policy.reader import read_policy
from discreet.service.accounts import new_account
from discreet.service.service import CuratorService, open_people
from discreet.service.user_account import Project, Role, UserAccount

_CAPS = ("most_epsilon", "default_epsilon", "approval_above")


def add_account(
    policy: Path, name: str, role: str, *, datasets: Sequence[str], days: int, settings: Mapping[str, Any]
) -> None:
    """The token is all that stands on the last line of the output."""
    with _people(policy) as people:
        own = read_policy(policy).dataset.name
        chosen = datasets or [own]
        account = new_account(name, Role(role), chosen, **_exact(settings))
        token = people.accounts.add(account, by=system_user(), days=days)
    for other in (each for each in chosen if each != own):
        told = f"{policy.name} is about “{own}”. “{other}” has to be served with it."
        _console(stderr=True).print(shown(told))
    _tell_token(account.name, token, days)


def change_account(
    policy: Path, name: str, *, role: str | None, datasets: Sequence[str], settings: Mapping[str, Any]
) -> None:
    """What is not given stays."""
    with _people(policy) as people:
        account = _known(people, name)
        changes: dict[str, Any] = _exact(settings)
        if role is not None:
            changes["role"] = Role(role)
        if datasets:
            changes["datasets"] = tuple(datasets)
        people.accounts.change(replace(account, **changes), by=system_user())
    _console().print(f"Changed {shown(name)}.")


def revoke_account(policy: Path, name: str) -> None:
    with _people(policy) as people:
        people.accounts.revoke(name, by=system_user())
    _console().print(f"No token of {shown(name)} works any more. What they spent stays spent.")


def new_token(policy: Path, name: str, *, days: int, keep_others: bool) -> None:
    with _people(policy) as people:
        token = people.accounts.new_token(name, by=system_user(), days=days, keep_others=keep_others)
    _tell_token(name, token, days)


def set_project(policy: Path, name: str, epsilon: float) -> None:
    project = Project(name=name, most_epsilon=positive_epsilon(epsilon))
    with _people(policy) as people:
        people.accounts.set_project(project, by=system_user())
    _console().print(f"All in {shown(name)} together may spend ε = {epsilon:g} of each dataset.")


def list_accounts(policy: Path, output: str) -> None:
    with _people(policy) as people:
        accounts, projects = people.accounts.all(), people.accounts.projects()
    if output == "json":
        budgets = {project.name: float(project.most_epsilon) for project in projects}
        write_json({"accounts": [account_json(each) for each in accounts], "projects": budgets})
        return
    table = Table(box=SIMPLE_HEAD)
    for heading in ("name", "role", "datasets", "project", "most ε", "default ε", "approval above"):
        table.add_column(heading)
    for each in accounts:
        name = shown(each.name) + (" [red](revoked)[/]" if each.revoked else "")
        caps = (_number(getattr(each, cap)) for cap in _CAPS)
        table.add_row(name, each.role.value, shown(", ".join(each.datasets)), shown(each.project), *caps)
    _console().print(table)
    for each in accounts:
        if each.identity and not each.revoked:
            _console().print(f"{shown(each.name)} signs in as {shown(each.identity)}")
    for project in projects:
        _console().print(
            f"Project {shown(project.name)}: ε = {_number(project.most_epsilon)} of each dataset"
        )


def verify_log(policy: Path) -> None:
    with _people(policy) as people:
        count = people.log.verify()
    _console().print(f"[green]✓[/] {count:,} events: each follows from those before it.")


def export_log(policy: Path, out: Path | None) -> None:
    """All events as lines of JSON. An existing file is kept."""
    with _people(policy) as people:
        lines = (
            escaped_json(json.dumps(event_json(each), ensure_ascii=False)) for each in people.log.events()
        )
        if out is None:
            sys.stdout.writelines(line + "\n" for line in lines)
            return
        try:
            with out.open("x", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in lines)
        except FileExistsError:
            raise InvalidInput(
                f"“{out}” exists already.", remedy="Move it away, or give another name with --out."
            ) from None
        except OSError:
            raise InvalidInput(f"“{out}” cannot be written.", remedy="Check the folder of --out.") from None
    _console().print(f"Wrote {shown(str(out))}.")


@contextmanager
def _people(policy: Path) -> Iterator[CuratorService]:
    people = open_people(policy)
    try:
        yield people
    finally:
        people.close()


def _known(people: CuratorService, name: str) -> UserAccount:
    found = people.accounts.find(name)
    if found is None:
        raise InvalidInput(f"There is no account “{name}”.", remedy="See: discreet account list")
    return found


def _exact(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those that were given, with ε as exact numbers."""
    given = {name: value for name, value in settings.items() if value is not None}
    if given.get("identity") == "none":
        given["identity"] = ""
    return {name: positive_epsilon(value, name) if name in _CAPS else value for name, value in given.items()}


def _number(value: Fraction | None) -> str:
    return "–" if value is None else f"{float(value):g}"


def _tell_token(name: str, token: str, days: int) -> None:
    _console(stderr=True).print(
        f"The token of {shown(name)}, for {days} days. It is not shown again: only its digest is kept."
    )
    sys.stdout.write(f"{token}\n")


def _console(*, stderr: bool = False) -> Console:
    return Console(highlight=False, soft_wrap=True, stderr=stderr)
