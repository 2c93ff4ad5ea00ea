"""The commands that store, and forget, which service to ask."""

import sys

import click

from discreet.apps.commands.service_choice import TOKEN_VARIABLE


@click.command()
@click.argument("url")
@click.option(
    "--token",
    envvar=TOKEN_VARIABLE,
    show_envvar=True,
    metavar="TOKEN",
    help="Your token; asked for if not given.",
)
@click.option("--dataset", metavar="NAME", help="The dataset to ask about, if you may use several.")
@click.option("--insecure", is_flag=True, help="Send the token without encryption to another machine.")
def login(url: str, token: str | None, dataset: str | None, insecure: bool) -> None:
    """Store a service and your token, so that commands need no --server and no --token.

    Without --token, it is asked for, or read from a pipe. The service is asked whether the token is right.
    Both are stored in a file that only you can read.

    \b
    Examples:
      discreet login https://curator.example
      discreet login https://curator.example --dataset clinic
    """
    from discreet.client.remote_curator import RemoteAccount, account_at, check_service
    from discreet.client.stored_login import StoredLogin, store_login

    address = check_service(url, insecure=insecure)
    token = (_typed_token() if token is None else token).strip()
    account: RemoteAccount = account_at(address, token, insecure=insecure)
    chosen = account.chosen(dataset) if dataset is not None else None
    stored = StoredLogin(url=address, token=token, dataset=chosen, insecure=insecure)
    path = store_login(stored)
    listed = ", ".join(account.datasets) or "no dataset"
    click.echo(f"You are {account.name}, and may use {listed}. Stored in {path}")


def _typed_token() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    return str(click.prompt("Token (not shown while you type)", hide_input=True))


@click.command()
def logout() -> None:
    """Forget the service and the token that were stored. The token itself goes on to work.

    \b
    Examples:
      discreet logout
    """
    from discreet.client.stored_login import forget_login

    click.echo("Forgotten." if forget_login() else "There was nothing to forget.")
