"""The commands of a service for several people: run it, and manage its accounts and its log."""

from collections.abc import Callable
from pathlib import Path

import click

from discreet.apps.commands.options import policy_option, table_or_json

_FILE = click.Path(path_type=Path)
_ROLES = click.Choice(["analyst", "owner", "auditor"])


def _serve_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            click.option(
                "--policy",
                "policies",
                type=_FILE,
                multiple=True,
                default=["discreet.toml"],
                show_default=True,
                help="The policy of a dataset; give it again for each further one.",
            ),
            click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at."),
            click.option("--port", type=int, default=8080, show_default=True, help="0 takes a free one."),
            click.option("--workers", type=int, default=1, show_default=True, help="How many processes."),
            click.option("--tls-certificate", type=_FILE, metavar="FILE", help="Speak HTTPS, with this …"),
            click.option("--tls-key", type=_FILE, metavar="FILE", help="… and its private key (PEM)."),
            click.option("--insecure", is_flag=True, help="Behind a proxy that speaks HTTPS."),
            click.option("--public-url", metavar="URL", help="Where others find it, behind a proxy."),
            click.option(
                "--answer-times",
                metavar="SECONDS,…",
                help="When answers leave, for policies that do not say it; 1,4,15,60,240 if not given.",
            ),
            click.option(
                "--allowed-host",
                "allowed_hosts",
                multiple=True,
                metavar="NAME",
                help="A name by which it is called, besides those of this machine.",
            ),
            click.option(
                "--keep-questions",
                type=click.IntRange(1, 36_500),
                metavar="DAYS",
                help="Erase what older events of the log say, now and every day.",
            ),
            click.option(
                "--oidc",
                type=_FILE,
                metavar="FILE",
                help="People may sign in at the OpenID provider that this TOML file names, too.",
            ),
            click.option("--public-pages", is_flag=True, help="Tell everybody what is protected and spent."),
            click.option("--no-access-log", is_flag=True, help="Write no line for each request."),
            click.option(
                "--stop-seconds",
                type=click.FloatRange(1, 3_600),
                default=60.0,
                show_default=True,
                help="How long questions under way may go on when it is told to stop.",
            ),
        )
    ):
        command = option(command)
    return command


@click.command()
@_serve_options
def serve(
    policies: tuple[Path, ...],
    host: str,
    port: int,
    workers: int,
    tls_certificate: Path | None,
    tls_key: Path | None,
    insecure: bool,
    public_url: str | None,
    answer_times: str | None,
    allowed_hosts: tuple[str, ...],
    keep_questions: int | None,
    no_access_log: bool,
    stop_seconds: float,
    public_pages: bool,
    oidc: Path | None,
) -> None:
    """Let others ask over HTTP, each with a token of their own, until Ctrl-C.

    Analysts need no access to the data, and no policy. Add accounts with “discreet account add”. Beyond this
    machine it speaks HTTPS only, or stands behind a proxy that does.

    \b
    Examples:
      discreet serve --policy clinic.toml
      discreet serve --policy clinic.toml --policy school.toml --port 8443 --workers 2
      discreet serve --host 0.0.0.0 --tls-certificate clinic.pem --tls-key clinic.key
      discreet serve --policy clinic.toml --public-url https://discreet.clinic.example
      discreet serve --policy clinic.toml --oidc oidc.toml
    """
    from discreet.apps.server.oidc.settings import read_oidc_settings
    from discreet.apps.server.public_address import read_public_url
    from discreet.apps.server.running import ServeRequest, run_service

    request = ServeRequest(
        policies=policies,
        host=host,
        port=port,
        workers=workers,
        certificate=tls_certificate,
        key=tls_key,
        insecure=insecure,
        public_url="" if public_url is None else read_public_url(public_url),
        answer_times=None if answer_times is None else _seconds(answer_times),
        allowed_hosts=allowed_hosts,
        keep_questions=keep_questions,
        access_log=not no_access_log,
        stop_seconds=stop_seconds,
        public_pages=public_pages,
        oidc=None if oidc is None else read_oidc_settings(oidc),
    )
    run_service(request, click.echo)


def _seconds(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or list(found) != sorted(set(found)) or not 0 < found[0] <= found[-1] <= 86_400:
        raise click.UsageError("--answer-times are seconds in ascending order, such as 1,5,30.")
    return found


@click.group()
def account() -> None:
    """Who may use a service, and as what.

    \b
    Examples:
      discreet account add ana --role analyst --policy clinic.toml
      discreet account list
      discreet account revoke ana
    """


def _account_options(command: Callable[..., None]) -> Callable[..., None]:
    """What `add` and `change` share."""
    for option in reversed(
        (
            policy_option,
            click.option("--epsilon", "most_epsilon", type=float, help="The most that they may ever spend."),
            click.option("--default-epsilon", type=float, help="The price of a question that names none."),
            click.option("--approval-above", type=float, help="Dearer questions wait for an owner."),
            click.option("--project", help="The project whose budget they share."),
            click.option(
                "--identity",
                metavar="ISSUER#sub=ID",
                help="Who they are to the provider of “serve --oidc”; none for nobody.",
            ),
            click.option(
                "--dataset",
                "datasets",
                multiple=True,
                metavar="NAME",
                help="What they may use; that of the policy if not given.",
            ),
        )
    ):
        command = option(command)
    return command


_days_option = click.option(
    "--days", type=int, default=365, show_default=True, help="How long the token lasts."
)


@account.command()
@click.argument("name")
@click.option("--role", type=_ROLES, required=True, help="What they may do.")
@_account_options
@_days_option
def add(
    name: str, role: str, policy: Path, datasets: tuple[str, ...], days: int, **settings: float | str | None
) -> None:
    """Add an account. Its token is the last line of the output, and is shown this once.

    Analysts ask. Owners also manage accounts and approvals. Auditors read the ledger and the log, and ask
    nothing.

    \b
    Examples:
      discreet account add ana --role analyst --policy clinic.toml
      discreet account add bo --role analyst --epsilon 1 --approval-above 0.2 --project sepsis
      discreet account add olga --role owner --days 30
      discreet account add cleo --role analyst --identity https://login.clinic.example#sub=24400320
    """
    from discreet.apps.views.people import add_account

    add_account(policy, name, role, datasets=datasets, days=days, settings=settings)


@account.command()
@click.argument("name")
@click.option("--role", type=_ROLES, help="What they may do.")
@_account_options
def change(
    name: str, role: str | None, policy: Path, datasets: tuple[str, ...], **settings: float | str | None
) -> None:
    """Change what an account may do. What is not given stays as it is.

    \b
    Examples:
      discreet account change ana --epsilon 2
      discreet account change ana --role auditor --policy clinic.toml
      discreet account change ana --identity none
    """
    from discreet.apps.views.people import change_account

    change_account(policy, name, role=role, datasets=datasets, settings=settings)


@account.command(name="list")
@policy_option
@table_or_json
def list_(policy: Path, output: str) -> None:
    """List all accounts and projects.

    \b
    Examples:
      discreet account list
      discreet account list --policy clinic.toml --format json
    """
    from discreet.apps.views.people import list_accounts

    list_accounts(policy, output)


@account.command()
@click.argument("name")
@policy_option
def revoke(name: str, policy: Path) -> None:
    """End all tokens and sessions of an account, for good.

    \b
    Examples:
      discreet account revoke ana
    """
    from discreet.apps.views.people import revoke_account

    revoke_account(policy, name)


@account.command()
@click.argument("name")
@policy_option
@_days_option
@click.option("--keep-others", is_flag=True, help="Earlier tokens stay valid.")
def token(name: str, policy: Path, days: int, keep_others: bool) -> None:
    """Make a new token for an account: the last line of the output. Earlier ones end.

    \b
    Examples:
      discreet account token ana
      discreet account token ana --days 7 --keep-others
    """
    from discreet.apps.views.people import new_token

    new_token(policy, name, days=days, keep_others=keep_others)


@account.command()
@click.argument("name")
@policy_option
@click.option("--epsilon", type=float, required=True, help="The most that all of them may ever spend.")
def project(name: str, policy: Path, epsilon: float) -> None:
    """Add a project that several analysts share a budget in, or change its budget.

    \b
    Examples:
      discreet account project sepsis --epsilon 3
    """
    from discreet.apps.views.people import set_project

    set_project(policy, name, epsilon)


@click.group()
def log() -> None:
    """Check the log of a service, or write it out.

    \b
    Examples:
      discreet log verify
      discreet log export --out log.jsonl
    """


@log.command()
@policy_option
def verify(policy: Path) -> None:
    """Check that each event follows from those before it. Exits with 1 if not.

    \b
    Examples:
      discreet log verify --policy clinic.toml
    """
    from discreet.apps.views.people import verify_log

    verify_log(policy)


@log.command()
@policy_option
@click.option("--out", type=_FILE, help="A new file; the terminal if not given.")
def export(policy: Path, out: Path | None) -> None:
    """Write all events as lines of JSON, oldest first.

    \b
    Examples:
      discreet log export --out log.jsonl
    """
    from discreet.apps.views.people import export_log

    export_log(policy, out)
