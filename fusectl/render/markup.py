"""Pieces of Markdown in which nothing from a model can be markup."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fusectl.render.names import escape, shorten

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~&])")
_LINKS = re.compile(r"([@#])(?=\w)")
_TICKS = re.compile(r"`+")
ROOM = 120
"""Cells of a code span."""
_LINE = 500
"""Cells of a line in a block: the names of a fused group may be long."""


def code(text: str, cell: bool = False) -> str:
    """Return text as a code span that nothing in it can end, nor a table's cell."""
    safe = shorten(escape(text), ROOM)
    if cell:
        safe = safe.replace("|", "\\|")
    fence = _fence(safe, 1)
    pad = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def prose(text: str) -> str:
    """Return text in which nothing is markup, a mention or a reference."""
    return _LINKS.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", escape(text)))


def block(lines: Iterable[str], language: str) -> str:
    """Return lines as a block of code that nothing in it can end."""
    body = "\n".join(shorten(escape(line), _LINE) for line in lines)
    fence = _fence(body, 3)
    return f"{fence}{language}\n{body}\n{fence}"


def folded(title: str, body: str) -> str:
    """Return Markdown that is folded away; ``title`` is our own text."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _fence(text: str, least: int) -> str:
    longest = max((len(m) for m in _TICKS.findall(text)), default=0)
    return "`" * max(longest + 1, least)
