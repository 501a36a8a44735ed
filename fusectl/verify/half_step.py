"""Inputs whose sum lies within a hair of a rounding half-step, found by exact arithmetic.

A random input hardly ever has such a sum, and an additional or a different rounding shows only
there. The search writes the distance to the half-step as digits: each summand takes what the ones
before it left, and leaves a 2048th of it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fusectl.verify.sums import Half, Sum

HAIR = 256
"""A sum is near where its distance to the half-step is less than this part of a step."""
_DIGITS = 4
_UNIT = 1 << 24
"""A number in half precision is a multiple of one over this."""


def exact(x: Half, found: Sum) -> Fraction:
    """Return what a sum is for some elements, exactly."""
    pairs = zip(_whole(x), _whole(found.weights), strict=True)
    return found.scale * Fraction(sum(a * b for a, b in pairs), _UNIT * _UNIT) + found.offset


def _whole(numbers: Half) -> list[int]:
    """Return numbers in half precision as multiples of the smallest one."""
    return [int(v) for v in numbers.astype(np.float64) * _UNIT]


def middle(code: np.float16) -> Fraction:
    """Return the half-step between a code and the next larger one."""
    return (Fraction(float(code)) + Fraction(float(_next(code)))) / 2


def step(code: np.float16) -> Fraction:
    """Return the distance from a code to the next larger one."""
    return Fraction(float(_next(code))) - Fraction(float(code))


def _next(code: np.float16) -> np.float16:
    return np.float16(np.nextafter(code, np.float16(np.inf)))


def near(x: Half, found: Sum, code: np.float16) -> bool:
    """Tell whether a sum is within a hair of the half-step behind a code."""
    return abs(exact(x, found) - middle(code)) * HAIR < step(code)


def towards(x: Half, found: Sum, code: np.float16) -> Half:
    """Return ``x`` with some elements replaced: the sum meets the half-step behind ``code``.

    The largest weights take the digits. The result need not be near: see ``near``.
    """
    made = x.copy()
    sizes = np.abs(found.weights.astype(np.float64))
    digits = [int(i) for i in np.argsort(-sizes, kind="stable")[:_DIGITS]]
    made[digits] = np.float16(0)
    left = middle(code) - exact(made, found)
    for place in digits:
        weight = Fraction(float(found.weights[place])) * found.scale
        if not weight or not left:
            break
        digit = np.float16(float(left / weight))
        if not np.isfinite(digit):
            break
        made[place] = digit
        left -= Fraction(float(digit)) * weight
    return made
