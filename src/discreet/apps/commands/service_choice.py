"""Whether a command asks a service or data on this machine.

--server names a service, --policy names data here. Without either, a discreet.toml in this folder counts, as
it always did; and where there is none, the service that `discreet login` stored. What is not plain from the
command is said on standard error: a question is paid from the budget of whoever is asked.

A token goes to the service that it is for. The stored one goes to the stored address only, and that of the
environment only to a --server.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click
from click.core import ParameterSource

from discreet.errors import InvalidInput, NotSignedIn, PolicyError

if TYPE_CHECKING:
    from discreet.client.remote_curator import RemoteCurator
    from discreet.client.stored_login import StoredLogin

Command = TypeVar("Command", bound=Callable[..., object])
TOKEN_VARIABLE = "DISCREET_TOKEN"  # noqa: S105  a name


class ServiceOptions(TypedDict):
    """What `of_service` gives to a command."""

    server: str | None
    token: str | None
    dataset: str | None
    insecure: bool


_OPTIONS = (
    click.option("--server", metavar="URL", help="Ask this service instead of data on this machine."),
    click.option(
        "--token",
        envvar=TOKEN_VARIABLE,
        show_envvar=True,
        metavar="TOKEN",
        help="Who you are, for a service; better stored once with `discreet login`.",
    ),
    click.option("--dataset", metavar="NAME", help="Which dataset of the service, if you may use several."),
    click.option("--insecure", is_flag=True, help="Send the token without encryption to another machine."),
)


def of_service(command: Command) -> Command:
    """Add the options that name a service."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen_service(options: ServiceOptions, *, analyst: str | None = None) -> "RemoteCurator | None":
    """The service that the command has to ask; None if it is to open the policy."""
    context = click.get_current_context()
    policy_given = _given(context, "policy")
    server, login = options["server"], None
    if server is None and (policy_given or Path(context.params["policy"]).exists()):
        _refuse_service_options(context)
        if not policy_given:
            _note_stored_login(context.params["policy"])
        return None
    login = _login()
    if server is None and login is None:
        _refuse_service_options(context)
        raise PolicyError(
            f"There is no policy “{context.params['policy']}” here, and no service is stored.",
            remedy="For a service, run: discreet login URL. For data of your own, run: discreet init DATA."
            " Or give --policy FILE.",
        )
    if policy_given:
        raise click.UsageError("Give --server or --policy, not both.")
    if analyst is not None:
        raise click.UsageError("--as is for --policy: to a service, the token says who asks.")
    return _connected(options, login)


def login_for(server: str | None, token: str | None, *, insecure: bool) -> "StoredLogin":
    """For a command that has no other use than a service."""
    login = _login()
    if server is None and login is None:
        raise NotSignedIn("There is no service to ask.", remedy="Run: discreet login URL. Or give --server.")
    return _chosen(ServiceOptions(server=server, token=token, dataset=None, insecure=insecure), login)


def _connected(options: ServiceOptions, login: "StoredLogin | None") -> "RemoteCurator":
    from discreet.client.remote_curator import connect_to_service

    found = _chosen(options, login)
    return connect_to_service(found.url, found.token, dataset=found.dataset, insecure=found.insecure)


def _chosen(options: ServiceOptions, login: "StoredLogin | None") -> "StoredLogin":
    from discreet.client.address import read_address
    from discreet.client.stored_login import StoredLogin

    if options["server"] is None and login is not None:
        click.echo(f"Asks {login.url}, as stored by discreet login.", err=True)
        token = options["token"] if _given(click.get_current_context(), "token") else None
        return _stored(login, options, token)
    insecure = options["insecure"]
    server = str(read_address(options["server"] or "", insecure=insecure or _is_insecure(login)))
    if login is not None and login.url == server:
        return _stored(login, options, options["token"])
    if options["token"] is None:
        raise NotSignedIn(
            f"There is no token for {server}.",
            remedy=f"Run: discreet login {server}. Or set {TOKEN_VARIABLE}.",
        )
    return StoredLogin(url=server, token=options["token"], dataset=options["dataset"], insecure=insecure)


def _stored(login: "StoredLogin", options: ServiceOptions, token: str | None) -> "StoredLogin":
    return replace(
        login,
        token=token or login.token,
        dataset=options["dataset"] or login.dataset,
        insecure=options["insecure"] or login.insecure,
    )


def _is_insecure(login: "StoredLogin | None") -> bool:
    return login is not None and login.insecure


def _note_stored_login(policy: Path) -> None:
    with suppress(InvalidInput):  # a stored login that cannot be read is no matter here
        if _login() is not None:
            click.echo(f"Uses {policy} of this folder. For a service, give --server URL.", err=True)


def _login() -> "StoredLogin | None":
    from discreet.client.stored_login import stored_login

    return stored_login()


def _refuse_service_options(context: click.Context) -> None:
    for name in ("token", "dataset", "insecure"):
        if _given(context, name):
            raise click.UsageError(f"--{name} is for a service, which is missing: give --server URL.")


def _given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE
