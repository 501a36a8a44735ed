"""Which part of each operand a tile of a product or convolution reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from fusectl.program import Region
from fusectl.tiling.geometry import Convolution, Product

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tile:
    """One step of the loops: the part (or image), and spans along m, n and k."""

    part: int
    m: Span
    n: Span
    k: Span


def _region(buffer: str, view: tuple[int, ...], *spans: Span) -> Region:
    return Region(buffer, view, tuple(s[0] for s in spans), tuple(s[1] for s in spans))


def bias_view(shape: tuple[int, ...], vector: bool) -> tuple[int, int]:
    """Return a bias's shape as rows and columns of the product.

    It is aligned to the result from behind. Where the second operand is a vector (``vector``),
    the result has no columns, and its last axis are the rows.
    """
    whole = (*shape, 1) if vector and shape else shape
    whole = (1,) * (2 - len(whole)) + whole
    return prod(whole[:-1]), whole[-1]


@dataclass(frozen=True, slots=True)
class ProductRegions:
    """Operands of a matrix product. ``bias`` is the bias's shape: rows, columns."""

    sizes: Product
    a_count: int
    b_count: int
    bias: tuple[int, int]

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Parts, rows, columns, summands."""
        return self.sizes.parts, self.sizes.m or 0, self.sizes.n, self.sizes.k

    def a(self, tile: Tile, buffer: str) -> Region:
        """The first operand."""
        sizes, (_, m, _, k) = self.sizes, self.extents
        at = sizes.a_step[tile.part]
        part = (at, at + 1)
        if sizes.trans_a:
            return _region(buffer, (self.a_count, k, m), part, tile.k, tile.m)
        return _region(buffer, (self.a_count, m, k), part, tile.m, tile.k)

    def b(self, tile: Tile, buffer: str) -> Region:
        """The second operand."""
        sizes = self.sizes
        at = sizes.b_step[tile.part]
        part = (at, at + 1)
        if sizes.trans_b:
            return _region(buffer, (self.b_count, sizes.n, sizes.k), part, tile.n, tile.k)
        return _region(buffer, (self.b_count, sizes.k, sizes.n), part, tile.k, tile.n)

    def c(self, tile: Tile, buffer: str) -> Region:
        """The bias: an axis of length one is read whole."""
        rows, columns = self.bias
        return _region(
            buffer,
            self.bias,
            tile.m if rows > 1 else (0, 1),
            tile.n if columns > 1 else (0, 1),
        )

    def y(self, tile: Tile, buffer: str) -> Region:
        """The result."""
        parts, m, n, _ = self.extents
        return _region(buffer, (parts, m, n), (tile.part, tile.part + 1), tile.m, tile.n)


@dataclass(frozen=True, slots=True)
class ConvolutionRegions:
    """Operands of a convolution. Along n a tile counts groups where there are several."""

    sizes: Convolution

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Images, rows, channels (or groups) of the result, channels of a group."""
        sizes = self.sizes
        columns = sizes.groups if sizes.groups > 1 else sizes.filters
        return sizes.images or 0, sizes.out[0], columns, sizes.channels // sizes.groups

    def _filters(self, n: Span) -> Span:
        each = self.sizes.filters // self.sizes.groups if self.sizes.groups > 1 else 1
        return n[0] * each, n[1] * each

    def _channels(self, tile: Tile) -> Span:
        if self.sizes.groups == 1:
            return tile.k
        each = self.sizes.channels // self.sizes.groups
        return tile.n[0] * each, tile.n[1] * each

    def a(self, tile: Tile, buffer: str) -> Region:
        """The picture: the rows under the windows, without what is padding."""
        sizes = self.sizes
        first = tile.m[0] * sizes.strides[0] - sizes.pads[0]
        reach = (sizes.kernel[0] - 1) * sizes.dilations[0]
        last = (tile.m[1] - 1) * sizes.strides[0] - sizes.pads[0] + reach + 1
        high = max(min(last, sizes.size[0]), 0)
        rows = (min(max(first, 0), high), high)
        view = (sizes.images or 0, sizes.channels, *sizes.size)
        inside = tuple((0, d) for d in sizes.size[1:])
        image = (tile.part, tile.part + 1)
        return _region(buffer, view, image, self._channels(tile), rows, *inside)

    def b(self, tile: Tile, buffer: str) -> Region:
        """The filters."""
        sizes = self.sizes
        view = (sizes.filters, sizes.channels // sizes.groups, *sizes.kernel)
        taps = tuple((0, d) for d in sizes.kernel)
        return _region(buffer, view, self._filters(tile.n), tile.k, *taps)

    def c(self, tile: Tile, buffer: str) -> Region:
        """The bias, one value per channel."""
        return _region(buffer, (self.sizes.filters,), self._filters(tile.n))

    def y(self, tile: Tile, buffer: str) -> Region:
        """The result."""
        sizes = self.sizes
        view = (sizes.images or 0, sizes.filters, *sizes.out)
        inside = tuple((0, d) for d in sizes.out[1:])
        image = (tile.part, tile.part + 1)
        return _region(buffer, view, image, self._filters(tile.n), tile.m, *inside)


Regions = ProductRegions | ConvolutionRegions
