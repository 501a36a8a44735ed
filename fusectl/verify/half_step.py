"""Inputs whose sum lies within a hair of a rounding half-step, found by exact arithmetic.

A random input hardly ever has such a sum, and an additional or a different rounding shows only
there. The search writes the distance to the half-step as digits: each summand takes what the ones
before it left, and leaves a 2048th of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Half = npt.NDArray[np.float16]
HAIR = 256
"""A sum is near where its distance to the half-step is less than this part of a step."""


def exact(x: Iterable[np.float16], w: Iterable[np.float16]) -> Fraction:
    """Return the sum of products, exactly."""
    return sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, w, strict=True)),
               Fraction(0))  # fmt: skip


def middle(code: np.float16) -> Fraction:
    """Return the half-step between a code and the next larger one."""
    return (Fraction(float(code)) + Fraction(float(_next(code)))) / 2


def step(code: np.float16) -> Fraction:
    """Return the distance from a code to the next larger one."""
    return Fraction(float(_next(code))) - Fraction(float(code))


def _next(code: np.float16) -> np.float16:
    return np.float16(np.nextafter(code, np.float16(np.inf)))


def near(
    x: Iterable[np.float16], w: Iterable[np.float16], code: np.float16, bias: Fraction = Fraction(0)
) -> bool:
    """Tell whether a sum is within a hair of the half-step behind a code."""
    return abs(exact(x, w) + bias - middle(code)) * HAIR < step(code)


def towards(x: Half, w: Half, code: np.float16, bias: Fraction = Fraction(0)) -> Half:
    """Return ``x`` with some summands replaced: the sum meets the half-step behind ``code``.

    The largest weights take the digits. The result need not be near: see ``near``.
    """
    made = x.copy()
    digits = [int(i) for i in np.argsort(-np.abs(w.astype(np.float64)), kind="stable")[:4]]
    made[digits] = np.float16(0)
    left = middle(code) - exact(made, w) - bias
    for place in digits:
        weight = Fraction(float(w[place]))
        if not weight or not left:
            break
        digit = np.float16(float(left / weight))
        if not np.isfinite(digit):
            break
        made[place] = digit
        left -= Fraction(float(digit)) * weight
    return made
