"""Numeric fingerprints: what stays of a value when its layout or the zero of its codes changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
CLOSE, FAR = 2e-3, 0.1
"""Up to this relative distance two values can be the same one, computed by other kernels: ``CLOSE``
at least, and more where values that are known to be the same differ by more (codes do)."""
SAME = 1e-6
"""Up to this relative distance two values of one run hold the same numbers."""


Kind = Literal["floats", "codes", "whole"]
"""Whole numbers that are no codes, and truths, are exact, but sizes and places are often alike."""


@dataclass(frozen=True, slots=True)
class Print:
    """Sums that do not depend on order, and of floats not on padding with zeros."""

    kind: Kind
    size: int
    sums: tuple[float, ...]
    scale: tuple[float, ...]
    order: float
    """A sum weighted by place: tells a value from its transpose, not from its reshape."""

    def distance(self, other: Print) -> float:
        """Return the largest relative difference; infinite between numbers of two kinds."""
        if self.kind != other.kind:
            return float("inf")
        pairs = zip(self.sums, other.sums, self.scale, other.scale, strict=True)
        return max(abs(a - b) / max(s, t, 1e-30) for a, b, s, t in pairs)

    def in_order(self, other: Print) -> float:
        """Return the distance, infinite also where the elements stand in another order."""
        if self.size != other.size:
            return float("inf")
        weighted = abs(self.order - other.order) / max(self.scale[0], other.scale[0], 1e-30)
        return max(weighted, self.distance(other))


def print_of(array: Array) -> Print | None:
    """Return the fingerprint, or None where the numbers are too few or too alike to tell."""
    kind = _kind(array.dtype)
    if array.size == 0 or kind is None:
        return None
    numbers = array.astype(np.float64).ravel()
    low, high = float(numbers.min()), float(numbers.max())
    flat = low == high and (array.size > 1 or low in (0, 1) or kind == "whole")
    if flat or not np.isfinite([low, high]).all():
        return None
    if kind == "codes":
        numbers = numbers - numbers.mean()
    size, squares = np.abs(numbers), numbers * numbers
    whole = float(size.sum())
    sums = (float(numbers.sum()), whole, float(squares.sum()), float(squares @ numbers))
    scale = (whole, whole, sums[2], float(squares @ size))
    order = float(numbers @ _weights(numbers.size))
    return Print(kind, numbers.size, sums, scale, order)


def _kind(dtype: np.dtype[np.generic]) -> Kind | None:
    if dtype in (np.int8, np.uint8):
        return "codes"
    if np.issubdtype(dtype, np.floating):
        return "floats"
    return "whole" if dtype.kind in "biu" else None


@lru_cache(8)
def _weights(size: int) -> npt.NDArray[np.float64]:
    """Return what elements count for by their place."""
    return np.cos(np.arange(size, dtype=np.float64))


def prints_of(run: Mapping[str, Array]) -> dict[str, Print]:
    """Return the fingerprints of all values that have one."""
    found = ((name, print_of(array)) for name, array in run.items())
    return {name: mark for name, mark in found if mark is not None}


def alike(prints: Mapping[str, Print], order: Iterable[str], moved: bool = False) -> dict[str, str]:
    """Return for each value the first one in ``order`` that holds the same numbers.

    ``moved``: they may stand in another order.
    """
    names = sorted((n for n in order if n in prints), key=lambda n: prints[n].scale[0])
    place = {name: i for i, name in enumerate(order)}
    first: dict[str, str] = {}
    for i, name in enumerate(names):
        for before in range(i - 1, -1, -1):
            other = names[before]
            if prints[name].scale[0] - prints[other].scale[0] > SAME * prints[name].scale[0]:
                break
            near = prints[name].distance if moved else prints[name].in_order
            if near(prints[other]) <= SAME:
                first[name] = first.get(other, other)
                break
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(first.get(name, name), []).append(name)
    found: dict[str, str] = {}
    for group in groups.values():
        found.update(dict.fromkeys(group, min(group, key=lambda m: place[m])))
    return found


def reach(pairs: Iterable[tuple[Print, Print]]) -> float:
    """Return how far apart two values may be that are the same, from pairs that are known to be."""
    noise = max((a.distance(b) for a, b in pairs), default=0.0)
    return min(max(CLOSE, 4 * noise), FAR)


class Shelf:
    """Fingerprints in rows, to hold one against all of them at once."""

    def __init__(self, prints: Mapping[str, Print]) -> None:
        self._names = list(prints)
        self._prints = list(prints.values())
        self._sums = np.array([p.sums for p in self._prints]).reshape(-1, 4)
        self._scale = np.array([p.scale for p in self._prints]).reshape(-1, 4)
        self._kinds = np.array([p.kind for p in self._prints])

    def distances(self, mark: Print) -> npt.NDArray[np.float64]:
        """Return the distance of a fingerprint from each, as ``Print.distance`` gives it."""
        scale = np.maximum(np.maximum(self._scale, mark.scale), 1e-30)
        found = (np.abs(self._sums - np.array(mark.sums)) / scale).max(axis=1, initial=0.0)
        return np.where(self._kinds == mark.kind, found, np.inf)

    def nearest(self, mark: Print, within: float) -> str | None:
        """Return the value whose fingerprint is close, if no other numbers come nearly as close.

        Of values with the same numbers the one in the same order is taken, else the first.
        """
        distances = self.distances(mark)
        if not distances.size or distances.min() > within:
            return None
        place = int(distances.argmin())
        best = float(distances[place])
        alike = self.distances(self._prints[place]) <= SAME
        if (distances[~alike] < 10 * max(best, SAME)).any():
            return None
        equal = [int(i) for i in np.flatnonzero(alike)]
        ordered = (i for i in equal if mark.in_order(self._prints[i]) <= within)
        return self._names[next(ordered, equal[0])]
