"""What the tiler looks at: three axes, and the bytes that a tile of a given size takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from fusectl.tiling.geometry import Convolution, Geometry

ACCUMULATOR = 4
"""Bytes of one accumulator: the machine sums in single precision."""


@dataclass(frozen=True, slots=True)
class Work:
    """A product or convolution as the tiler sees it.

    ``m`` counts rows of the result (of one image), ``n`` its columns, channels, or groups where
    the convolution has several, ``k`` the summands that can be split. ``repeat`` counts passes
    with the same second operand (images), ``parts`` independent products. A tile of tm rows reads
    ``(tm - 1) * stride + window`` rows of the first operand, at most ``rows``. ``open``: the
    number of rows or images is not known. Units are bytes per row and summand (``a``), per summand
    and column (``b``), and elements and bytes per row and column (``out``, ``y``).
    """

    m: int
    n: int
    k: int
    a: int
    b: int
    out: int
    y: int
    parts: int = 1
    repeat: int = 1
    stride: int = 1
    window: int = 1
    rows: int = 0
    grouped: bool = False
    open: bool = False

    def first(self, tm: int, tn: int, tk: int) -> int:
        """Bytes of a tile of the first operand."""
        rows = (tm - 1) * self.stride + self.window
        rows = min(rows, self.rows) if self.rows else rows
        return rows * tk * self.a * (tn if self.grouped else 1)

    def footprint(self, tm: int, tn: int, tk: int) -> int:
        """Bytes on chip: both operands, bias, accumulators, result and partial sums."""
        cells = tm * tn * self.out
        partial = cells * ACCUMULATOR if tk < self.k else 0
        bias = cells * ACCUMULATOR
        written = tm * tn * self.y
        operands = self.first(tm, tn, tk) + tk * tn * self.b
        return operands + cells * ACCUMULATOR + partial + bias + written

    def moved(self, tm: int, tn: int, tk: int) -> int:
        """Bytes between the memories: operands as often as they are read, the result once."""
        operands = min(self._rows_outside(tm, tn, tk), self._columns_outside(tm, tn, tk))
        return self.parts * (operands + self.repeat * self.m * self.n * self.y)

    def rows_outside(self, tm: int, tn: int, tk: int) -> bool:
        """Tell whether the loop over rows is the outer one: then fewer bytes move, or as many."""
        return self._rows_outside(tm, tn, tk) <= self._columns_outside(tm, tn, tk)

    def _rows_outside(self, tm: int, tn: int, tk: int) -> int:
        """Bytes of the operands; a tile of the first stays where the sum is not split."""
        passes = ceil(self.m / tm) * self.repeat
        ns, ks = ceil(self.n / tn), ceil(self.k / tk)
        again = ns if ks > 1 and not self.grouped else 1
        return self._first(tm) * again + self._second() * (passes if ns * ks > 1 else 1)

    def _columns_outside(self, tm: int, tn: int, tk: int) -> int:
        """Bytes of the operands; a tile of the second stays where the sum is not split."""
        passes = ceil(self.m / tm) * self.repeat
        ns, ks = ceil(self.n / tn), ceil(self.k / tk)
        again = ns if passes * ks > 1 and not self.grouped else 1
        return self._first(tm) * again + self._second() * (passes if ks > 1 else 1)

    def _first(self, tm: int) -> int:
        """Bytes of the first operand, read once; rows where windows overlap twice."""
        if self.window == 1:
            return self.repeat * self.first(self.m, self.n, self.k)
        whole, rest = divmod(self.m, tm)
        read = whole * self.first(tm, self.n, self.k)
        return self.repeat * (read + (self.first(rest, self.n, self.k) if rest else 0))

    def _second(self) -> int:
        return self.k * self.n * self.b


def work_of(sizes: Geometry, width: tuple[int, int, int]) -> Work:
    """Return the work of a product or convolution; ``width``: bytes of an element of a, b and y."""
    a, b, y = width
    if isinstance(sizes, Convolution):
        return _conv(sizes, a, b, y)
    m = sizes.m
    return Work(m or 1, sizes.n, sizes.k, a, b, 1, y, sizes.parts, open=m is None)


def _conv(sizes: Convolution, a: int, b: int, y: int) -> Work:
    inside = prod(sizes.size[1:])
    across = prod(sizes.out[1:])
    taps = prod(sizes.kernel)
    grouped = sizes.groups > 1
    each = sizes.filters // sizes.groups if grouped else 1
    return Work(
        sizes.out[0],
        sizes.groups if grouped else sizes.filters,
        sizes.channels // sizes.groups,
        a * inside,
        b * taps * each,
        across * each,
        across * each * y,
        repeat=sizes.images or 1,
        stride=sizes.strides[0],
        window=(sizes.kernel[0] - 1) * sizes.dilations[0] + 1,
        rows=sizes.size[0],
        grouped=grouped,
        open=sizes.images is None,
    )
