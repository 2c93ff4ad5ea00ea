"""The tables that can be asked about, on the terminal and as JSON."""

from pathlib import Path

import click

from discreet.answers.table_facts import TableList
from discreet.answers.wording import visible_text
from discreet.apps.views.escape import write_json
from discreet.engines.open_engine import open_engine
from discreet.model.declaration import complete_with_schema
from discreet.policy.public_facts import tables_of
from discreet.policy.reader import read_policy


def tables_of_policy(path: Path) -> TableList:
    """From the policy, and the names and types of columns in its sources. No row is read."""
    policy = read_policy(path)
    engine = open_engine(policy.sources, path.parent)
    try:
        return tables_of(
            complete_with_schema(policy, {name: engine.schema(name) for name in policy.dataset.tables})
        )
    finally:
        engine.close()


def show_tables(tables: TableList, output: str) -> None:
    if output == "json":
        write_json({"tables": tables.facts()})
        return
    click.echo("\n".join(visible_text(line) for line in repr(tables).split("\n")))
