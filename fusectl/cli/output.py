"""What goes to a terminal, a pipe or a file; nothing in it can steer a terminal."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fusectl.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
"""Cells of a line where no terminal says otherwise."""


def escaped(text: str) -> str:
    """Return one line of text in which nothing moves the cursor, reorders or hides."""
    from fusectl.render.names import escape

    return escape(text)


def write(data: str | bytes | Iterable[bytes], path: str = "") -> None:
    """Write to a file, or to standard output for no path and for ``-``. Raises UsageError."""
    if path in ("", "-"):
        _to_stream(sys.stdout, data)
        return
    data = data.encode("utf-8") if isinstance(data, str) else data
    try:
        with Path(path).open("wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def write_lines(lines: Iterable[str]) -> None:
    """Write lines of text to standard output, each escaped."""
    write("".join(f"{escaped(line)}\n" for line in lines))


def tell(*lines: str) -> None:
    """Write lines to standard error, each escaped."""
    _to_stream(sys.stderr, "".join(f"{escaped(line)}\n" for line in lines))


def _to_stream(stream: TextIO, data: str | bytes | Iterable[bytes]) -> None:
    """Write to a standard stream; characters that its encoding lacks become escapes."""
    if isinstance(data, str):
        data = data.encode(stream.encoding or "utf-8", "backslashreplace")
    buffer = getattr(stream, "buffer", None)
    try:
        stream.flush()
        for piece in [data] if isinstance(data, bytes) else data:
            if buffer is None:
                stream.write(piece.decode(stream.encoding or "utf-8"))
            else:
                buffer.write(piece)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        where = "standard error" if stream is sys.stderr else "standard output"
        raise UsageError(f"{where} cannot be written: {error.strerror or error}") from None


def show(draw: Callable[[Console], None]) -> None:
    """Draw on standard output with rich: colour on a terminal, 80 plain cells elsewhere."""
    sketch = _Sketch(sys.stdout)
    draw(_console(sketch))
    write(sketch.getvalue())


def show_page(markdown: str) -> None:
    """Show a page of Markdown: rendered on a terminal, as it is elsewhere."""
    if not sys.stdout.isatty():
        write_lines(markdown.splitlines())
        return

    def draw(console: Console) -> None:
        from rich.markdown import Markdown

        text = "\n".join(map(escaped, markdown.splitlines()))
        console.print(Markdown(text))

    show(draw)


class _Sketch(io.StringIO):
    """Collects what is drawn for a stream, and looks to rich like that stream."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(newline="")
        self._encoding = stream.encoding or "utf-8"
        self._terminal = stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


def _console(stream: TextIO) -> Console:
    """Return a console. Without a terminal the width does not depend on where it runs."""
    from rich.console import Console

    columns = os.environ.get("COLUMNS", "")
    width = None
    if not stream.isatty():
        width = int(columns) if columns.isdecimal() and int(columns) > 0 else WIDTH
    if os.environ.get("NO_COLOR"):
        return Console(file=stream, width=width, color_system=None)
    return Console(file=stream, width=width)
