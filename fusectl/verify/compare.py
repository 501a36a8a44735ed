"""How far two results lie apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fusectl.report.verification import Witness


@dataclass(frozen=True, slots=True)
class Distance:
    """The worst element of two arrays, and how far apart they are there.

    ``relative`` is the absolute distance over the largest magnitude in the expected array, so
    that a value near 0 among large ones does not count as far off. For whole numbers ``absolute``
    counts codes. ``why`` is set where they cannot be compared at all.
    """

    absolute: float = 0.0
    relative: float = 0.0
    whole: bool = False
    place: tuple[int, ...] = ()
    expected: str = ""
    actual: str = ""
    why: str = ""

    def within(self, rel: float, abs_: float, codes: int) -> bool:
        """Tell whether the distance is allowed."""
        if self.why:
            return False
        if self.whole:
            return self.absolute <= codes
        return self.relative <= rel or self.absolute <= abs_


def distance(expected: Any, actual: Any) -> Distance:
    """Return how far two results lie apart, at their worst element."""
    if isinstance(expected, list) or isinstance(actual, list):
        return _lists(expected, actual)
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        same = bool(expected == actual)
        return Distance(why="" if same else "the two are of different kinds")
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        was, now = (f"{a.dtype}{list(a.shape)}" for a in (expected, actual))
        return Distance(why=f"{was} became {now}")
    if expected.dtype.kind not in "fiub":
        same = bool(np.array_equal(expected, actual))
        return Distance(why="" if same else "they differ")
    return _numbers(expected, actual)


def _numbers(expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> Distance:
    if expected.size == 0:
        return Distance()
    whole = expected.dtype.kind != "f"
    wide = np.int64 if whole and expected.dtype != np.uint64 else np.float64
    a, b = (np.asarray(v).reshape(-1).astype(wide) for v in (expected, actual))
    with np.errstate(all="ignore"):
        gap = np.abs(a - b).astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) if not whole else a == b
    gap[same] = 0.0
    gap[np.isnan(gap)] = np.inf
    worst = int(np.argmax(gap))
    finite = np.abs(a[np.isfinite(a)]) if not whole else np.abs(a)
    largest = float(finite.max()) if finite.size else 0.0
    absolute = float(gap[worst])
    relative = absolute / largest if largest else (0.0 if absolute == 0 else absolute)
    place = tuple(int(i) for i in np.unravel_index(worst, expected.shape))
    return Distance(absolute, relative, whole, place, str(expected[place]), str(actual[place]))


def _lists(expected: Any, actual: Any) -> Distance:
    if not isinstance(expected, list) or not isinstance(actual, list):
        return Distance(why="the two are of different kinds")
    if len(expected) != len(actual):
        return Distance(why=f"{len(expected)} elements became {len(actual)}")
    found = [distance(e, a) for e, a in zip(expected, actual, strict=True)]
    return max(found, key=lambda d: (bool(d.why), d.relative), default=Distance())


def witness(name: str, found: Distance, kind: str) -> Witness:
    """Return the record of a distance in an output; ``kind`` names the region of the inputs."""
    return Witness(
        name,
        found.place,
        found.expected,
        found.actual,
        found.absolute,
        found.relative,
        found.whole,
        kind,
    )
