"""A progress bar while the database works. It says nothing about rows."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Any

from discreet.engines.base.execution import Watch


class Bar:
    """How much of a question is done, and for how long it has run. It disappears at the end.

    It is shown under the cell of a notebook, or on standard error if that is a terminal.
    """

    def __init__(self) -> None:
        self._shown = ExitStack()
        self._show: Watch | None = None

    def __call__(self, share: float | None) -> None:
        if share == 1:
            self._shown.close()
            self._show = None
            return
        if self._show is None:
            bar = _under_the_cell if _in_notebook() else _on_the_terminal
            self._show = self._shown.enter_context(bar("Asking"))
        self._show(share)


@contextmanager
def _on_the_terminal(what: str) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda share: progress.update(task, total=None if share is None else 1, completed=share or 0)


@contextmanager
def _under_the_cell(what: str) -> Iterator[Watch]:
    from IPython.display import HTML, display

    begun = monotonic()

    def html(share: float | None) -> HTML:
        value = "" if share is None else f' value="{share:.3f}"'
        seconds = int(monotonic() - begun)
        return HTML(f"{what} <progress{value}></progress> {seconds // 60}:{seconds % 60:02}")

    handle: Any = display(html(None), display_id=True)
    try:
        yield lambda share: handle.update(html(share))
    finally:
        handle.update(HTML(""))


def _in_notebook() -> bool:
    """Whether there is a kernel that shows what a cell displays; IPython in a terminal has none."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None
