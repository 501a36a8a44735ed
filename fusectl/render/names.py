"""Names from a model, made fit for a screen: escaped, shortened, put together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from fusectl.report.types import Decision, NodeRef

_SHORT = 4
"""Paths up to this length are not worth an ellipsis."""
_DIGITS = re.compile(r"\d+")


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
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    for place, index in enumerate(order):
        fair = max(room // (len(wanted) - place), least)
        given[index] = min(wanted[index], fair)
        room -= given[index]
    return given


def scope(node: NodeRef) -> str:
    """Return where a node stands, or nothing for the main graph."""
    steps = (f"{s.node}.{s.attr}" if s.node else f"{s.function} at {s.call}" for s in node.graph)
    return " > ".join(steps)


def edge(decision: Decision, room: int, encoding: str = "utf-8", ops: bool = True) -> str:
    """Return ``mm (MatMul) -> [q QuantizeLinear] -> act (Sigmoid)``, names cut to fit ``room``.

    Without ``ops`` the operators of the two ends are left out.
    """
    ends = decision.edge
    nodes = (ends.producer, *decision.between, ends.consumer)
    names = [escape(n.label, encoding) for n in nodes]
    kinds = [escape(n.op, encoding) for n in nodes]
    if not ops:
        kinds[0] = kinds[-1] = ""
    place = scope(ends.producer)
    where = f" in {escape(place, encoding)}" if place else ""
    dots = ellipsis(encoding)
    if cell_len(_arrow(names, kinds) + where) > room:
        ends_of = (0, len(names) - 1)
        kinds = ["" if i in ends_of and _tells(n, k) else k
                 for i, (n, k) in enumerate(zip(names, kinds, strict=True))]  # fmt: skip
    if cell_len(_arrow(names, kinds) + where) > room:
        names = _relative(names, dots)
    spent = cell_len(_arrow(["" for _ in names], kinds) + where)
    limits = share([cell_len(n) for n in names], room - spent)
    return _arrow([shorten(n, r, dots) for n, r in zip(names, limits, strict=True)], kinds) + where


def shared_path(names: Sequence[str]) -> str:
    """Return the path that names share, up to its last separator; nothing if it is short."""
    low, high = min(names), max(names)
    alike = next((i for i, c in enumerate(low) if not high.startswith(c, i)), len(low))
    path = low[: low.rfind("/" if "/" in low else ".", 0, alike) + 1]
    return path if len(path) > _SHORT else ""


def without(path: str, text: str, dots: str) -> str:
    """Return text in which ``…/`` stands for a path at the start of names."""
    if not path:
        return text
    return re.sub(rf"(?<![^\s(\[]){re.escape(path)}", lambda m: dots + path[-1], text)


def _tells(name: str, op: str) -> bool:
    """Tell whether the last piece of a name is the operator already: ``/b.0/mm/MatMul_1``."""
    return re.split(r"[/.:]", name)[-1].rstrip("_0123456789") == op


def _relative(names: Sequence[str], dots: str) -> list[str]:
    path = shared_path(names)
    return [names[0], *(without(path, n, dots) for n in names[1:])]


def _arrow(names: Sequence[str], ops: Sequence[str]) -> str:
    first, *between, last = zip(names, ops, strict=True)
    start, end = (f"{name} ({op})" if op else name for name, op in (first, last))
    if not between:
        return f"{start} -> {end}"
    return f"{start} -> [{', '.join(f'{name} {op}' for name, op in between)}] -> {end}"


def pair(decision: Decision) -> str:
    """Return the operators of an edge: ``MatMul -> Sigmoid``."""
    return f"{decision.edge.producer.op} -> {decision.edge.consumer.op}"


def ellipsis(encoding: str) -> str:
    """Return the mark for what was left out, as far as the encoding can carry it."""
    try:
        "…".encode(encoding)
    except UnicodeEncodeError:
        return "..."
    return "…"


def globs(names: Iterable[str]) -> list[str]:
    """Fold names that differ only in numbers: ``/b.0/mm``, ``/b.1/mm`` become ``/b.*/mm``."""
    kinds: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        kinds.setdefault(_DIGITS.sub("0", name), []).append(name)
    found: list[str] = []
    for alike in kinds.values():
        found += [_fold(alike)] if len(alike) > 2 else alike
    return found


def _fold(names: list[str]) -> str:
    numbers = [_DIGITS.findall(n) for n in names]
    fixed = [column[0] if len(set(column)) == 1 else "*" for column in zip(*numbers, strict=True)]
    pieces = _DIGITS.split(names[0])
    return "".join(p + f for p, f in zip(pieces, [*fixed, ""], strict=True))
