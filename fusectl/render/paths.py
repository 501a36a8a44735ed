"""What names share: a path at their start, or everything but numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SHORT = 4
"""Paths up to this length are not worth an ellipsis."""
_DIGITS = re.compile(r"\d+")


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
