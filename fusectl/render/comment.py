"""A comment for a pull request: a head that is always there, and folded lists that may be cut."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fusectl.render.names import escape, shorten
from fusectl.render.wording import count

LIMIT = 65_000
"""Bytes. GitHub takes 65,536 characters; GitLab, and a heading of one's own, more than this."""

_CLOSE = "\n\n</details>"
_LINKS = re.compile(r"([@#])(?=\w)")


@dataclass(frozen=True, slots=True)
class Fold:
    """A list of Markdown items below a title that is plain text."""

    title: str
    items: tuple[str, ...]


def compose(head: Sequence[str], folds: Sequence[Fold], noun: str, whole: str) -> str:
    """Return head and folds below ``LIMIT``; says how many ``noun`` were cut.

    ``whole`` says where everything is. The head is the caller's to keep short.
    """
    parts = [p for p in head if p]
    room = LIMIT - sum(_size(p) + 2 for p in parts) - 300  # the last line, at its longest
    cut = 0
    for fold in folds:
        opening = f"<details><summary>{_plain(fold.title)}</summary>\n\n"
        left = room - _size(opening) - _size(_CLOSE) - 2
        taken = list(_fitting(fold.items, left))
        cut += len(fold.items) - len(taken)
        if taken:
            part = opening + "\n".join(taken) + _CLOSE
            parts.append(part)
            room -= _size(part) + 2
    if cut:
        parts.append(f"**Cut:** {count(cut, noun)} did not fit here; {whole}")
    return "\n\n".join(parts) + "\n"


def _fitting(items: Sequence[str], room: int) -> Iterator[str]:
    for item in items:
        room -= _size(item) + 1
        if room < 0:
            return
        yield item


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _plain(text: str) -> str:
    """Return text for inside an HTML element, where Markdown's escapes do not work."""
    return _LINKS.sub(r"\1<!-- -->", html.escape(shorten(escape(text), 160), quote=False))
