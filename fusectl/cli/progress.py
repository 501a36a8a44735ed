"""Progress on standard error: only on a terminal, only for work that takes a while."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

_PATIENCE = 1.0
"""Seconds after which silence needs a sign of life."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that takes what is being done; shown once a second has passed."""
    if not sys.stderr.isatty():
        yield _ignore
        return
    shown = _Shown(what)
    timer = threading.Timer(_PATIENCE, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield shown.update
    finally:
        timer.cancel()
        shown.stop()


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[str, int], None]]:
    """Yield a function that takes what is done and how much there is; a bar after a second."""
    if not sys.stderr.isatty():
        yield _count_nothing
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _count_nothing
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(what, total=None)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda name, total: bar.update(task, advance=1, total=total)
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


def _count_nothing(name: str, total: int) -> None:
    pass


def _ignore(text: str) -> None:
    pass


class _Shown:
    """A status line that starts late, from a timer's thread."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._over = False

    def start(self) -> None:
        from rich.console import Console
        from rich.status import Status
        from rich.text import Text

        with self._lock:
            console = Console(stderr=True)
            if self._over or not console.is_terminal or console.is_dumb_terminal:
                return
            self._status = Status(Text(self._line("reading")), console=console)
            self._status.start()

    def update(self, text: str) -> None:
        status = self._status
        if status is not None:
            from rich.text import Text

            status.update(Text(self._line(text)))

    def stop(self) -> None:
        with self._lock:
            self._over = True
            if self._status is not None:
                self._status.stop()

    def _line(self, text: str) -> str:
        from fusectl.render.names import escape

        return escape(f"{self._what}: {text}")
