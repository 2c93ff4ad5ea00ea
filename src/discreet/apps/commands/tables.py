"""What can be asked about, and help at the prompt of a shell."""

from pathlib import Path
from typing import Unpack

import click

from discreet.apps.commands.options import policy_option, table_or_json
from discreet.apps.commands.service_choice import ServiceOptions, chosen_service, of_service

_VARIABLE = "_DISCREET_COMPLETE"


@click.command()
@policy_option
@of_service
@table_or_json
def tables(policy: Path, output: str, **service: Unpack[ServiceOptions]) -> None:
    """Show what can be asked about: tables, columns, types, bounds, keys and limits.

    All of it is public. No row is read and nothing is spent.

    \b
    Examples:
      discreet tables
      discreet tables --policy clinic.toml --format json
      discreet tables --server https://curator.example
    """
    from discreet.apps.views.tables import show_tables, tables_of_policy

    remote = chosen_service(service)
    show_tables(tables_of_policy(policy) if remote is None else remote.tables, output)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands and options in your shell when you press Tab.

    \b
    Examples:
      discreet completion bash >> ~/.bashrc
      discreet completion zsh >> ~/.zshrc
      discreet completion fish > ~/.config/fish/completions/discreet.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    click.echo(kind(ctx.find_root().command, {}, "discreet", _VARIABLE).source_template % _script_words())


def _script_words() -> dict[str, str]:
    """What the scripts of click call us by."""
    return {
        "complete_func": "_discreet_completion",
        "complete_var": _VARIABLE,
        "prog_name": "discreet",
    }
