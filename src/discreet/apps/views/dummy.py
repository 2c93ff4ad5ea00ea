"""Writes made-up tables for a policy, and says how to ask about them."""

from pathlib import Path

import click

from discreet.engines.open_engine import open_engine
from discreet.model.declaration import complete_with_schema
from discreet.policy.dummy import write_dummy
from discreet.policy.reader import read_policy


def make_dummy(folder: Path, *, policy: Path, people: int) -> None:
    """The types of columns come from the sources. No row is read."""
    declared = read_policy(policy)
    engine = open_engine(declared.sources, policy.parent)
    try:
        dataset = complete_with_schema(declared, {name: engine.schema(name) for name in declared.sources})
    finally:
        engine.close()
    made = write_dummy(dataset, folder, people=people)
    click.echo(f"Made up {people:,} people in {folder}. Nothing there is about anybody.")
    click.echo(f"Check what can be asked: discreet check --policy {made}")
