"""The sums that a product computes: which elements of which operand each of them is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt

from fusectl.graph.constants import Array
from fusectl.lower.jobs import Job
from fusectl.lower.regions import bias_view
from fusectl.tiling.geometry import Convolution, Product

Half = npt.NDArray[np.float16]
Places = npt.NDArray[np.int64]
_LOOKED_AT = 1 << 14
"""Sums of one product that are looked at."""


@dataclass(frozen=True, slots=True)
class Sum:
    """``scale`` times the sum of some elements times ``weights``, and ``offset``.

    ``places`` are those of the elements in the flat operand that may be changed.
    """

    places: Places
    weights: Half
    scale: Fraction
    offset: Fraction


def sums(
    job: Job, feeds: dict[str, Array], changed: int, random: np.random.Generator
) -> Iterator[Sum]:
    """Yield sums that share no element of operand ``changed`` (0 or 1): each can be set alone.

    None where that operand is read twice, as both operands or as the bias as well.
    """
    names = job.reads
    if names.count(names[changed]) > 1 or not isinstance(job.sizes, Product | Convolution):
        return
    operands = [feeds[n].astype(np.float16).reshape(-1) if n else None for n in names[:2]]
    other = operands[1 - changed]
    assert other is not None
    makers = _Product if isinstance(job.sizes, Product) else _Convolution
    maker = makers(job, feeds)
    scale = Fraction(float(np.float32(job.alpha)))
    taken = np.zeros(feeds[names[changed]].size, bool)
    for a, b, offset in maker.walk(changed, random):
        places, weights = (a, other[b]) if not changed else (b, other[a])
        if not places.size or taken[places].any():
            continue
        taken[places] = True
        yield Sum(places, weights, scale, offset)


Made = tuple[Places, Places, Fraction]
"""Places of a sum's elements in both operands, side by side, and what is added."""


class _Bias:
    """What is added to each sum."""

    def __init__(self, job: Job, feeds: dict[str, Array], rows: int, columns: int) -> None:
        name = job.reads[2] if len(job.reads) > 2 else ""
        self.values = feeds[name].astype(np.float16).reshape(rows, columns) if name else None
        self.scale = Fraction(float(np.float32(job.beta)))

    def at(self, row: int, column: int) -> Fraction:
        """Return the bias of a result; an axis of length one counts for all of them."""
        if self.values is None:
            return Fraction(0)
        rows, columns = self.values.shape
        value = self.values[row if rows > 1 else 0, column if columns > 1 else 0]
        return Fraction(float(value)) * self.scale


class _Product:
    def __init__(self, job: Job, feeds: dict[str, Array]) -> None:
        assert isinstance(job.sizes, Product)
        self.sizes = job.sizes
        name = job.reads[2] if len(job.reads) > 2 else ""
        shape = bias_view(feeds[name].shape, feeds[job.reads[1]].ndim == 1) if name else (1, 1)
        self.bias = _Bias(job, feeds, *shape)

    def walk(self, changed: int, random: np.random.Generator) -> Iterator[Made]:
        """Yield one sum for each row of the first operand, or each column of the second."""
        m, n = self.sizes.m or 0, self.sizes.n
        lines, across = (m, n) if not changed else (n, m)
        for number in range(min(self.sizes.parts * lines, _LOOKED_AT)):
            part, line = divmod(number, lines)
            there = int(random.integers(across))
            row, column = (line, there) if not changed else (there, line)
            yield self._made(part, row, column)

    def _made(self, part: int, row: int, column: int) -> Made:
        sizes = self.sizes
        m, n, k = sizes.m or 0, sizes.n, sizes.k
        inner = np.arange(k)
        a = inner * m + row if sizes.trans_a else row * k + inner
        b = column * k + inner if sizes.trans_b else inner * n + column
        a, b = a + sizes.a_step[part] * m * k, b + sizes.b_step[part] * k * n
        return a, b, self.bias.at(row, column)


class _Convolution:
    def __init__(self, job: Job, feeds: dict[str, Array]) -> None:
        assert isinstance(job.sizes, Convolution)
        self.sizes = job.sizes
        name = job.reads[2] if len(job.reads) > 2 else ""
        self.bias = _Bias(job, feeds, 1, feeds[name].size if name else 1)

    def walk(self, changed: int, random: np.random.Generator) -> Iterator[Made]:
        """Yield one sum for each window and group of channels, or one for each filter."""
        sizes = self.sizes
        images, per = sizes.images or 0, sizes.filters // sizes.groups
        count = images * sizes.groups * prod(sizes.out) if not changed else sizes.filters
        for number in range(min(count, _LOOKED_AT)):
            if changed:
                window = tuple(int(random.integers(o)) for o in (images, *sizes.out))
                chosen = number
            else:
                image, group, *corner = map(
                    int, np.unravel_index(number, (images, sizes.groups, *sizes.out))
                )
                window, chosen = (image, *corner), group * per + int(random.integers(per))
            yield self._made(window, chosen)

    def _made(self, window: tuple[int, ...], chosen: int) -> Made:
        sizes = self.sizes
        each = sizes.channels // sizes.groups
        first = chosen // (sizes.filters // sizes.groups) * each
        picture = (sizes.images or 0, sizes.channels, *sizes.size)
        filters = (sizes.filters, each, *sizes.kernel)
        channel, *taps = np.indices((each, *sizes.kernel)).reshape(1 + len(sizes.kernel), -1)
        places = [
            o * s - p + t * d
            for o, s, p, t, d in zip(
                window[1:], sizes.strides, sizes.pads, taps, sizes.dilations, strict=True
            )
        ]
        # What lies in the padding counts nothing.
        limits = zip(places, sizes.size, strict=True)
        inside = np.all([(x >= 0) & (x < size) for x, size in limits], axis=0)
        a = (np.full_like(channel, window[0]), first + channel, *places)
        b = (np.full_like(channel, chosen), channel, *taps)
        return _flat(a, picture, inside), _flat(b, filters, inside), self.bias.at(0, chosen)


def _flat(at: tuple[Places, ...], shape: tuple[int, ...], inside: npt.NDArray[np.bool_]) -> Places:
    return np.asarray(np.ravel_multi_index(tuple(x[inside] for x in at), shape), np.int64)
