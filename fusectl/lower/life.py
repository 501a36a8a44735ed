"""From where to where in a program each value is needed, and how much that is at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate

from fusectl.program import Role

Life = tuple[int, int]
"""The first and the last call between which a value counts, both included."""


def lives(calls: Iterable[Iterable[str]], role: Callable[[str], Role]) -> dict[str, Life]:
    """Return the lives of all values that calls, in their order, read or write.

    Inputs and constants are there before the first call, and what is not made and read inside
    stays to the end: it belongs to the caller.
    """
    found: dict[str, Life] = {}
    end = 0
    for place, names in enumerate(calls):
        end = place + 1
        for name in names:
            found[name] = (found.get(name, (place, place))[0], place)
    for name, (first, last) in found.items():
        known = role(name)
        found[name] = (
            -1 if known in ("input", "constant") else first,
            last if known == "value" else end,
        )
    return found


def peak(found: Mapping[str, Life], sizes: Mapping[str, int]) -> int:
    """Return the most bytes that live at the same time; values without a size are left out."""
    change: dict[int, int] = {}
    for name, size in sizes.items():
        first, last = found[name]
        change[first] = change.get(first, 0) + size
        change[last + 1] = change.get(last + 1, 0) - size
    return max(accumulate(change[place] for place in sorted(change)), default=0)
