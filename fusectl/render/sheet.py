"""Lines for a screen: every string escaped, every line wrapped to the width."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fusectl.render.names import ellipsis, escape, shorten

Part = str | tuple[str, str]
"""A string, or a string and its style."""

_WORD = re.compile(r"\S+")
_ASCII = {"✓": "+", "✗": "x", "├": "|", "└": "`", "│": "|", "─": "-"}


class Sheet:
    """Collects lines of a console's width; nothing is printed before ``print``."""

    def __init__(self, console: Console) -> None:
        """Take width and encoding from a console."""
        self.console = console
        self.encoding = console.encoding
        self.width = max(console.width, 20)
        self.lines: list[Text] = []
        self.dots = ellipsis(self.encoding)
        self._plain = self.dots != "…"

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.lines)

    def blank(self) -> None:
        """Leave one line empty, never two and never the first."""
        if self.lines and self.lines[-1].plain:
            self.lines.append(Text())

    def add(
        self,
        *parts: Part,
        indent: int = 0,
        hang: int = 0,
        lead: str = "",
        rail: str | None = None,
        most: int = 0,
    ) -> None:
        """Add a paragraph; lines after the first stand ``hang`` cells further in.

        ``lead`` stands before the first line and ``rail`` (else ``lead``) before the others:
        the branches of a tree. Of more than ``most`` lines the rest is left out.
        """
        inset = len(lead) + indent
        hang = min(hang, (self.width - inset) // 3)
        room = max(self.width - inset - hang, 10)
        text = Text()
        for part in parts:
            plain, style = part if isinstance(part, tuple) else (part, "")
            text.append(self.fit(plain, room), style)
        wide = self.width - inset
        lines = self._cut(self._wrap(text, wide, room), most, wide if most == 1 else room)
        first, *rest = lines
        self.lines.append(Text(self.symbols(lead) + " " * indent).append_text(first))
        rails = self.symbols(lead if rail is None else rail)
        for line in rest:
            self.lines.append(Text(rails + " " * (indent + hang)).append_text(line))

    def add_items(self, title: Part, items: Iterable[str], indent: int = 0, hang: int = 0) -> None:
        """Add a list after a title; lines break between items where that is possible."""
        room = self.width - indent - cell_len(title if isinstance(title, str) else title[0])
        line = ""
        for item in items:
            longer = f"{line}, {item}" if line else item
            if line and cell_len(self.fit(longer, self.width)) >= room:
                self.add(title, f"{line},", indent=indent, hang=hang)
                title, line, room = " " * hang, item, self.width - indent - hang
            else:
                line = longer
        self.add(title, line, indent=indent, hang=hang)

    def height(self, text: str, indent: int) -> int:
        """Return how many lines a paragraph takes."""
        part = Sheet(self.console)
        part.add(text, indent=indent)
        return len(part)

    def fit(self, text: str, room: int) -> str:
        """Escape text and shorten the words in it that are wider than ``room``."""
        safe = escape(self.symbols(text), self.encoding)
        return _WORD.sub(lambda m: shorten(m[0], room, self.dots), safe)

    def symbols(self, text: str) -> str:
        """Return text with marks that the encoding can carry."""
        return "".join(_ASCII.get(c, c) for c in text) if self._plain else text

    def _wrap(self, text: Text, width: int, room: int) -> list[Text]:
        first = text.wrap(self.console, max(width, 10), overflow="fold")
        if len(first) < 2:
            return [_stripped(line) for line in first] or [Text()]
        used = len(first[0].plain.rstrip())
        rest = text[used:]
        rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
        return [
            _stripped(first[0]),
            *(_stripped(line) for line in rest.wrap(self.console, room, overflow="fold")),
        ]

    def trim(self) -> None:
        """Take away empty lines at the end."""
        while self.lines and not self.lines[-1].plain:
            self.lines.pop()

    def _cut(self, lines: list[Text], most: int, room: int) -> list[Text]:
        """Leave out the lines after ``most``; dots stand at the end of the last one."""
        if not most or len(lines) <= most:
            return lines
        last, tail = lines[most - 1], f" {self.dots}"
        while last.plain.strip() and cell_len(last.plain + tail) > room:
            kept = last.plain.rstrip().rpartition(" ")[0]
            last = last[: len(kept)] if kept.strip() else last[:-1]
        return [*lines[: most - 1], last.append(tail)]

    def print(self) -> None:
        """Print the lines as they are."""
        for line in self.lines:
            self.console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _stripped(line: Text) -> Text:
    line = line.copy()
    line.rstrip()
    return line
