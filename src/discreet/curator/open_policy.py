"""From a policy file to a curator: the policy is read, its sources opened and locked, its ledger found."""

import getpass
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.curator import Curator
from discreet.curator.ledgers import open_ledger, place_of
from discreet.curator.progress import Bar
from discreet.engines.open_engine import open_engine
from discreet.errors import InvalidInput
from discreet.model.declaration import complete_with_schema
from discreet.policy.reader import read_policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def note(text: str) -> None:
    """Write to standard error, beside what the command writes."""
    click.echo(text, err=True)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)


def open_curator(
    policy: str | Path,
    *,
    analyst: str | None = None,
    purpose: str = "",
    spark: "SparkSession | None" = None,
    progress: bool = False,
    warn: Callable[[str], None] = _warn,
    answer_times: Sequence[float] = (),
    tables: Mapping[str, object] | None = None,
) -> Curator:
    """The curator of a policy, for an analyst (by default the user of this system).

    `purpose` says what its questions are for. `spark` is the session that sources at spark://session are in.
    `progress` shows how much is done. `warn` is called if the files have changed and no new version was
    announced. `answer_times` are for policies that say nothing of them. `tables` are frames of pandas,
    polars or Arrow, instead of the sources of these names.
    """
    path = Path(policy)
    declared = read_policy(path)
    with ExitStack() as opened:
        engine = open_engine(
            declared.sources, path.parent, spark=spark, time_limit=declared.time_limit, frames=tables
        )
        opened.callback(engine.close)
        dataset = complete_with_schema(declared, {name: engine.schema(name) for name in declared.sources})
        ledger = open_ledger(place_of(path, declared.ledger))
        opened.callback(ledger.close)
        curator = Curator(
            dataset,
            engine,
            ledger,
            analyst=analyst or system_user(),
            purpose=purpose,
            answer_times=answer_times if declared.answer_times is None else declared.answer_times,
        )
        curator.watch = Bar() if progress else None
        opened.pop_all()
    if curator.changed_since is not None:
        warn(
            f"The files have changed since {curator.changed_since:%Y-%m-%d %H:%M} UTC, and no new version was"
            " announced: questions that were asked before get the answers of the old data."
            " The owner announces new data by: discreet data refresh"
        )
    return curator


def system_user() -> str:
    """The name of whoever runs this process. In a container that may be a number without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        pass
    if not hasattr(os, "getuid"):
        raise InvalidInput("The system's user has no name.", remedy="Say who asks: --as NAME.")
    return f"uid {os.getuid()}"
