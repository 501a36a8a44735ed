"""Which cut a product gets on a target: the schedule's, or the one that its tiler takes."""

from __future__ import annotations

from dataclasses import dataclass

from fusectl.tables.schedule import ScheduledNode
from fusectl.tiling.tiler import Tiling, best, legal, tiled
from fusectl.tiling.work import Work


@dataclass(frozen=True, slots=True)
class Choice:
    """The cut, None where no tile fits; whether it has code for the fused form.

    ``reordered`` is what the same question gets where fusing and grouping change places.
    """

    tiling: Tiling | None
    legal: bool
    scheduled: bool = False
    reordered: bool | None = None


def choose(
    work: Work,
    budget: int,
    allowed: tuple[str, ...],
    node: ScheduledNode | None,
    fuse_first: bool,
) -> Choice:
    """Choose the cut of a product that a fusion wants, or that nothing wants (``allowed`` empty).

    ``fuse_first``: the pair is fused before the target groups, so the tiler looks only at cuts
    that have code for the fused form. Otherwise it takes the cheapest, and the fusion follows.
    """
    if node is not None and node.axes is not None:
        tiling = stated(work, budget, node)
        fine = tiling is not None and legal_axes(node.axes, allowed)
        return Choice(tiling, fine, scheduled=True)
    free = best(work, budget, allowed)
    bound = best(work, budget, allowed, only_legal=True) if allowed else free
    grouped_first = free is not None and legal(free, allowed)
    fused_first = bound is not None
    if fuse_first:
        return Choice(bound or free, fused_first, reordered=grouped_first)
    return Choice(free, grouped_first, reordered=fused_first)


def legal_axes(axes: tuple[str, ...], allowed: tuple[str, ...]) -> bool:
    """Tell whether axes that a schedule cuts are among those that a path names."""
    return not allowed or all(a in allowed for a in axes or ("none",))


def stated(work: Work, budget: int, node: ScheduledNode) -> Tiling | None:
    """Return the cut that a schedule states; sizes that it leaves open are the tiler's."""
    axes = node.axes or ()
    sizes = {"m": work.m, "n": work.n, "k": work.k}
    # An axis of length one cannot be cut; saying so does no harm.
    cut = tuple(a for a in axes if sizes[a] > 1)
    found = best(work, budget, axes=cut)
    if not node.tile:
        return found
    tile = {"m": work.m, "n": work.n, "k": work.k}
    if found is not None:
        tile = {"m": found.m, "n": found.n, "k": found.k}
    tile |= {axis: min(length, sizes[axis]) for axis, length in node.tile.items()}
    whole = tiled(work, tile["m"], tile["n"], tile["k"])
    return whole if work.footprint(whole.m, whole.n, whole.k) <= budget else None
