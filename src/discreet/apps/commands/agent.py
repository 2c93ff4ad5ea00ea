"""The command that an agent starts, to ask a service."""

import sys
from functools import partial

import click

from discreet.apps.commands.service_choice import TOKEN_VARIABLE, login_for


@click.command("mcp")
@click.option(
    "--server", metavar="URL", help="The service; the one that `discreet login` stored if not given."
)
@click.option(
    "--token",
    envvar=TOKEN_VARIABLE,
    show_envvar=True,
    metavar="TOKEN",
    help="Who asks; better stored once with `discreet login`.",
)
@click.option("--insecure", is_flag=True, help="Send the token without encryption to another machine.")
def mcp(server: str | None, token: str | None, insecure: bool) -> None:
    """Tools of a service for an agent that starts this program, and speaks to it over standard input.

    It needs neither the data nor the package mcp.

    \b
    Examples:
      discreet mcp
      discreet mcp --server https://curator.example
    """
    from discreet.client.address import read_address
    from discreet.client.agent_bridge import AgentBridge
    from discreet.client.requests import Requests

    login = login_for(server, token, insecure=insecure)
    address = read_address(login.url, insecure=login.insecure)
    bridge = AgentBridge(Requests(address=address, token=login.token), partial(click.echo, nl=False))
    bridge.run(sys.stdin.buffer)
