"""Tables: entries from the function, the encodings and the rounding; the header that goes with it.

The number of entries is the machine's; the step is a power of two, the one with the smallest error
over every code of the intermediate encoding, so that an index is a shift.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from fusectl.lut.functions import FUNCTIONS, Numbers
from fusectl.program import Encoding, Header

_STEPS = range(-9, 2)
_CODES = {"int8": (-128, 127), "uint8": (0, 255)}


class Missing(Exception):
    """A table cannot be built; the text names the part that is missing and why."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its header. ``error`` is the largest distance to the function, over all codes."""

    header: Header
    entries: tuple[float, ...]
    error: float


def build(
    function: str,
    arguments: tuple[tuple[str, float], ...],
    intermediate: Encoding,
    entries: int,
    interpolate: bool,
) -> Table:
    """Build a table. Raises Missing."""
    found = FUNCTIONS.get(function)
    if found is None:
        raise Missing(f"function: there is no definition of {function} for a table")
    lacking = [n for n in found.arguments if n not in dict(arguments)]
    if lacking:
        raise Missing(f"function: {function} lacks {', '.join(lacking)}")
    if intermediate.dtype == "float16":
        return _of_numbers(function, arguments, entries, interpolate)
    if intermediate.dtype in _CODES:
        if not intermediate.scale:
            raise Missing(f"intermediate encoding: {intermediate.dtype} without a scale")
        return _of_codes(function, arguments, intermediate)
    raise Missing(f"intermediate encoding: no table over {intermediate.dtype or 'unknown type'}")


def needed(dtype: str, interpolate: bool) -> int:
    """Return the entries that a table over an element type takes at least."""
    if dtype in _CODES:
        return 256
    return 2 if interpolate else 1 << 16


@cache
def _of_codes(function: str, arguments: tuple[tuple[str, float], ...], encoding: Encoding) -> Table:
    """One entry for each code."""
    first, last = _CODES[encoding.dtype]
    codes = np.arange(first, last + 1, dtype=np.float64)
    numbers = (encoding.scale or 1.0) * (codes - encoding.zero_point)
    exact = FUNCTIONS[function].compute(numbers, dict(arguments))
    made = _half(exact)
    ends = (0.0, float(made[0])), (0.0, float(made[-1]))
    header = Header(function, True, float(first), 0, len(made), False, *ends)
    return Table(header, tuple(made.tolist()), float(np.max(np.abs(made - exact))))


@cache
def _of_numbers(
    function: str, arguments: tuple[tuple[str, float], ...], entries: int, interpolate: bool
) -> Table:
    """Knots around zero; of all steps the one with the smallest error."""
    kind, values = FUNCTIONS[function], dict(arguments)
    below, above = kind.below(values), kind.above(values)
    inputs = _every_half()
    exact = kind.compute(inputs, values)
    best: Table | None = None
    for step in _STEPS:
        low = -(entries // 2) * 2.0**step
        knots = low + np.arange(entries) * 2.0**step
        made = _half(kind.compute(np.asarray(knots, np.float64), values))
        read = _read(inputs, low, step, made, interpolate, below, above)
        # Far from zero the distance is counted relative to the function.
        error = float(np.max(np.abs(read - exact) / np.maximum(1.0, np.abs(exact))))
        if best is None or error < best.error:
            header = Header(function, False, low, step, entries, interpolate, below, above)
            best = Table(header, tuple(made.tolist()), error)
    if best is None:
        raise Missing("table: there is no step to choose")
    return best


def _read(
    x: Numbers,
    low: float,
    step: int,
    made: Numbers,
    interpolate: bool,
    below: tuple[float, float],
    above: tuple[float, float],
) -> Numbers:
    """Read a table in double precision, to judge it."""
    place = (x - low) / 2.0**step
    last = len(made) - 1
    if interpolate:
        index = np.clip(np.floor(place), 0, last - 1).astype(np.int64)
        inside = made[index] + (place - index) * (made[index + 1] - made[index])
    else:
        inside = made[np.clip(np.floor(place + 0.5), 0, last).astype(np.int64)]
    inside = np.where(place < 0, below[0] * x + below[1], inside)
    return np.asarray(np.where(place > last, above[0] * x + above[1], inside), np.float64)


def _half(exact: Numbers) -> Numbers:
    """Round to half precision, the type of an entry."""
    return exact.astype(np.float16).astype(np.float64)


@cache
def _every_half() -> Numbers:
    codes: npt.NDArray[np.uint16] = np.arange(1 << 16, dtype=np.uint16)
    numbers = codes.view(np.float16).astype(np.float64)
    return np.asarray(numbers[np.isfinite(numbers)], np.float64)
