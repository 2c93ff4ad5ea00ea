"""A sign of life while the database works: time goes by, and nothing about rows is told."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.engines.running import Watch


@contextmanager
def waiting(what: str) -> Iterator[Watch | None]:
    """Show what is waited for and for how long, and how much is done where the engine can tell.

    Only where somebody watches; on standard error.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda share: progress.update(task, total=None if share is None else 1, completed=share or 0)
