"""A progress bar with the time left: on a terminal, in a notebook, and where it is asked for."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_BETWEEN = 0.2
"""Seconds between two drawings of the bar in a notebook, at least."""
LINES = 10
"""Lines that a bar takes where nothing can be drawn over, as in a file."""


@contextmanager
def progress_bar(
    what: str, total: int, *, shown: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """Show how far `total` steps have come; yield the function that moves it on.

    `shown` None is yes on a terminal and in a notebook, no elsewhere. Where it is shown and
    stderr is no terminal, it is lines of text.
    """
    notebook = notebook_display()
    terminal = sys.stderr.isatty()
    if not (terminal or notebook is not None if shown is None else shown):
        yield lambda _: None
    elif notebook is not None:
        with _in_notebook(notebook, what, total) as advance:
            yield advance
    elif terminal:
        with _on_terminal(what, total) as advance:
            yield advance
    else:
        with _as_lines(what, total) as advance:
            yield advance


def notebook_display() -> Any:
    """Return IPython's module `display` where this code runs in a notebook, else None.

    Nothing is imported to find out: in a notebook IPython is there already.
    """
    ipython = sys.modules.get("IPython")
    shell = getattr(ipython, "get_ipython", lambda: None)()
    if all(kind.__name__ != "ZMQInteractiveShell" for kind in type(shell).__mro__):
        return None
    return import_module("IPython.display")


@contextmanager
def _on_terminal(what: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def _in_notebook(display: Any, what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar below the cell; nothing is left of it at the end."""
    begun = time.monotonic()
    done, shown_at = 0, begun

    def page() -> Any:
        words = escape(f"{what}: {_state(done, total, time.monotonic() - begun)}")
        return display.HTML(f'<progress max="{total}" value="{done}"></progress> {words}')

    handle = display.display(page(), display_id=True)

    def advance(steps: int) -> None:
        nonlocal done, shown_at
        done += steps
        if time.monotonic() - shown_at >= SECONDS_BETWEEN:
            shown_at = time.monotonic()
            handle.update(page())

    try:
        yield advance
    finally:
        handle.update({"text/html": "", "text/plain": ""}, raw=True)


@contextmanager
def _as_lines(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Write a line at the start, and one for every tenth that is done."""
    begun = time.monotonic()
    done = 0

    def write() -> None:
        sys.stderr.write(f"{what}: {_state(done, total, time.monotonic() - begun)}\n")
        sys.stderr.flush()

    def advance(steps: int) -> None:
        nonlocal done
        before = LINES * done // max(1, total)
        done += steps
        if LINES * done // max(1, total) > before:
            write()

    write()
    yield advance


def _state(done: int, total: int, seconds: float) -> str:
    """Return how far it is, and how long the rest will take.

    >>> _state(0, 50, 0.0), _state(20, 50, 8.0), _state(50, 50, 20.0)
    ('0 %', '40 %, 12 s left', '100 %, 20 s')
    """
    share = f"{100 * done // max(1, total)} %"
    if done == 0:
        return share
    if done >= total:
        return f"{share}, {seconds:.0f} s"
    return f"{share}, {seconds * (total - done) / done:.0f} s left"
