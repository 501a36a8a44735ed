"""Names from a model, made fit for a screen: escaped and shortened."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len


def escape(text: str, encoding: str = "utf-8") -> str:
    """Return text in which nothing can move the cursor, reorder a line or hide.

    What Unicode calls unprintable (controls, format characters, odd spaces, surrogates) and what
    ``encoding`` cannot carry appears as a backslash escape.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _code(c) for c in text)
    if text.isascii():
        return text
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: str, room: int, ellipsis: str = "…") -> str:
    """Return text in at most ``room`` cells; what is too long loses its middle.

    More of the end stays: it tells names of one layer apart.
    """
    if cell_len(text) <= room and len(text) <= 4 * room:
        return text
    left = max(room - cell_len(ellipsis), 0)
    head = _take(text, left // 3)
    tail = _take(text[::-1], left - cell_len(head))[::-1]
    return f"{head}{ellipsis}{tail}"


def _take(text: str, room: int) -> str:
    taken, used = 0, 0
    for character in text[: 4 * room]:
        used += cell_len(character)
        if used > room:
            break
        taken += 1
    return text[:taken]


def ending(text: str, room: int, dots: str) -> str:
    """Return text in at most ``room`` cells; what is too long loses its beginning."""
    if cell_len(text) <= room:
        return text
    return dots + _take(text[::-1], room - cell_len(dots))[::-1]


def share(wanted: Sequence[int], room: int, least: int = 8) -> list[int]:
    """Divide ``room`` cells among names: short ones get what they need, long ones the rest."""
    given = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])  # the shortest first
    for place, index in enumerate(order):
        fair = max(room // (len(wanted) - place), least)
        given[index] = min(wanted[index], fair)
        room -= given[index]
    return given


def ellipsis(encoding: str) -> str:
    """Return the mark for what was left out, as far as the encoding can carry it."""
    try:
        "…".encode(encoding)
    except UnicodeEncodeError:
        return "..."
    return "…"
