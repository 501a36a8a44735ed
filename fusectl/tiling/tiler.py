"""The tiler of ``group: auto``: the cheapest cut that fits, the same one every time.

It looks at tiles that are an axis divided by a power of two. Cost is the bytes that move between
the memories. At equal cost the order is: a cut that has code for the fused form, fewer axes cut,
fewer tiles, larger tiles along m, then n.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from fusectl.tiling.work import Work


@dataclass(frozen=True, slots=True)
class Tiling:
    """A cut: tile sizes, the axes that are cut, the bytes that move, tiles in all.

    ``rows_outside``: the loop over rows is the outer one.
    """

    m: int
    n: int
    k: int
    splits: tuple[str, ...]
    moved: int
    tiles: int
    rows_outside: bool = True

    @property
    def told(self) -> str:
        """The axes that are cut, as people say it."""
        return " and ".join(self.splits) if self.splits else "none"


def tiled(work: Work, m: int, n: int, k: int) -> Tiling:
    """Return the cut with given tile sizes."""
    sizes = (("m", work.m, m), ("n", work.n, n), ("k", work.k, k))
    splits = tuple(axis for axis, whole, tile in sizes if tile < whole)
    count = work.parts * work.repeat
    for _, whole, tile in sizes:
        count *= ceil(whole / tile)
    return Tiling(m, n, k, splits, work.moved(m, n, k), count, work.rows_outside(m, n, k))


def legal(tiling: Tiling, allowed: Collection[str]) -> bool:
    """Tell whether a cut is among those that a path names; none named: all are."""
    return not allowed or (all(s in allowed for s in tiling.splits or ("none",)))


def fits(work: Work, budget: int, m: int, n: int, k: int) -> bool:
    """Tell whether a tile fits the memory."""
    return work.footprint(m, n, k) <= budget


@lru_cache(maxsize=1024)
def best(
    work: Work,
    budget: int,
    allowed: tuple[str, ...] = (),
    only_legal: bool = False,
    axes: tuple[str, ...] | None = None,
) -> Tiling | None:
    """Return the cut that the tiler takes, or None: no tile fits.

    ``budget`` is the memory in bytes; ``allowed`` the cuts that have code for the fused form;
    ``only_legal`` looks at no others; ``axes`` demands exactly these to be cut.
    """
    if axes in (None, ()) and fits(work, budget, work.m, work.n, work.k):
        whole = tiled(work, work.m, work.n, work.k)
        if axes == () or legal(whole, allowed):
            return whole
    found: Tiling | None = None
    rank: tuple[int, bool, int, int, int, int] | None = None
    for m, n, k in _sizes(work, budget, axes):
        tiling = tiled(work, m, n, k)
        good = legal(tiling, allowed)
        if (only_legal and not good) or (axes is not None and tiling.splits != axes):
            continue
        order = (tiling.moved, not good, len(tiling.splits), tiling.tiles, -m, -n)
        if rank is None or order < rank:
            found, rank = tiling, order
    return found


def _sizes(work: Work, budget: int, axes: tuple[str, ...] | None) -> Iterator[tuple[int, int, int]]:
    """Yield tiles that fit: for each size along n and k, the whole m and its largest part."""
    for n in _halves(work.n, axes is None or "n" in axes):
        for k in _halves(work.k, not work.grouped and (axes is None or "k" in axes)):
            for m in _halves(work.m, axes is None or "m" in axes):
                cut = axes is None or "m" not in axes or m < work.m
                if cut and fits(work, budget, m, n, k):
                    yield m, n, k
                    if m < work.m:
                        break


def _halves(whole: int, cut: bool) -> Iterator[int]:
    yield whole
    parts = 2
    last = whole
    while cut and last > 1:
        size = ceil(whole / parts)
        if size < last:
            yield size
        last, parts = size, parts * 2
