"""Three groups of inputs for a product: the centre, the two ends, the half-steps.

In the *centre* a function changes fastest, and errors of the value between show most. At the
*ends* it saturates. The *half-step* group has sums within a hair of a rounding half-step.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from fusectl.graph.constants import Array
from fusectl.program import Convolution, Descriptor, Product
from fusectl.verify.half_step import Half, near, towards

CENTRE, ENDS, HALF_STEP = "centre", "ends", "half-step"
_SPREAD = {CENTRE: 1.5, ENDS: 24.0}
"""How far the sums of a group spread, in standard deviations of the sum."""
_MOST = 256
"""Half-steps that are looked for in one product."""


def spread(feeds: dict[str, Array], first: str, sums: Array, group: str) -> dict[str, Array]:
    """Scale the first operand so that sums, measured as ``sums``, spread as the group wants."""
    width = float(np.std(sums.astype(np.float64))) or 1.0
    scaled = feeds[first].astype(np.float64) * (_SPREAD[group] / width)
    limited = np.clip(scaled, -65504.0, 65504.0).astype(np.float16)
    return {**feeds, first: limited.astype(feeds[first].dtype)}


def half_steps(
    feeds: dict[str, Array], call: Descriptor, seed: int
) -> tuple[dict[str, Array], int]:
    """Change the first operand so that sums meet half-steps; return also how many are near."""
    if call.alpha != 1.0:
        return feeds, 0
    random = np.random.default_rng(seed)
    a, b = call.reads[0], call.reads[1]
    c = call.reads[2] if len(call.reads) > 2 else ""
    first = feeds[a].astype(np.float16)
    bias = feeds[c].astype(np.float16).astype(np.float64) * call.beta if c else np.zeros(1)
    windows = _windows(call, first, feeds[b].astype(np.float16), bias, random)
    count = 0
    for where, weights, offset in windows:
        code = np.float16(random.uniform(0.25, 6.0) * random.choice((-1.0, 1.0)))
        found = towards(first[where].reshape(-1), weights, code, offset)
        if near(found, weights, code, offset):
            first[where] = found.reshape(first[where].shape)
            count += 1
    return {**feeds, a: first.astype(feeds[a].dtype)}, count


Index = tuple[slice | int, ...]
Window = tuple[Index, Half, Fraction]
"""A part of the first operand, the weights that it meets, the bias that is added."""
Numbers = npt.NDArray[np.float64]


def _windows(
    call: Descriptor, a: Half, b: Half, bias: Numbers, random: np.random.Generator
) -> Iterator[Window]:
    """Yield parts of the first operand that do not overlap."""
    sizes = call.sizes
    if isinstance(sizes, Product):
        yield from _rows(sizes, a, b, bias, random)
    elif isinstance(sizes, Convolution):
        yield from _patches(sizes, b, bias, random)


def _rows(
    sizes: Product, a: Half, b: Half, bias: Numbers, random: np.random.Generator
) -> Iterator[Window]:
    """Rows of the first operand, each with some column of the second."""
    matrices = b.reshape(-1, *b.shape[-2:]) if b.ndim > 1 else b.reshape(1, -1, 1)
    matrix = matrices[0].T if sizes.trans_b else matrices[0]
    if len(matrices) > 1:
        return  # which matrix a row meets depends on how the leading axes are repeated
    rows = a.size // matrix.shape[0]
    # Behind a product with a vector, a bias has one number for each row.
    aligned = bias.reshape(-1, 1) if b.ndim == 1 else np.atleast_2d(bias)
    added = np.broadcast_to(aligned, (rows, sizes.n))
    for row in range(min(rows, _MOST)):
        column = int(random.integers(matrix.shape[1]))
        lead = np.unravel_index(row, a.shape[:-1]) if not sizes.trans_a else ()
        where: Index = (slice(None), row) if sizes.trans_a else (*map(int, lead), slice(None))
        yield where, matrix[:, column], Fraction(float(added[row, column]))


def _patches(
    sizes: Convolution, b: Half, bias: Numbers, random: np.random.Generator
) -> Iterator[Window]:
    """Windows that lie inside the picture, a window apart; every group of channels in turn."""
    axes: list[list[int]] = []
    reaches = [(k - 1) * d + 1 for k, d in zip(sizes.kernel, sizes.dilations, strict=True)]
    for size, stride, pad, reach in zip(
        sizes.size, sizes.strides, sizes.pads, reaches, strict=True
    ):
        starts = [p - pad for p in range(0, size + pad, stride)]
        inside = [s for s in starts if s >= 0 and s + reach <= size]
        axes.append(inside[:: max(-(-reach // stride), 1)])
    each, per = sizes.channels // sizes.groups, sizes.filters // sizes.groups
    for number, corner in enumerate(product(*axes)):
        if number >= _MOST:
            return
        group = number % sizes.groups
        chosen = group * per + int(random.integers(per))
        spans = (
            slice(c, c + r, d) for c, r, d in zip(corner, reaches, sizes.dilations, strict=True)
        )
        channels = slice(group * each, (group + 1) * each)
        added = Fraction(float(bias[chosen])) if bias.size > 1 else Fraction(float(bias[0]))
        yield (0, channels, *spans), np.asarray(b[chosen].reshape(-1), np.float16), added


def draw(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Return small random numbers that half precision holds, in the model's type."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        numbers: npt.NDArray[np.float16] = random.normal(size=shape).astype(np.float16)
        return numbers.astype(kind)
    return random.integers(0, 2, shape).astype(kind)
