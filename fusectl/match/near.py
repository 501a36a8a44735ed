"""Near misses of patterns of several nodes: one search for all spellings of a rule."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from fusectl.graph.overlay import Group, Overlay
from fusectl.match.assign import Search
from fusectl.match.candidate import Role
from fusectl.match.partial import CROWD, Near, Shape, shape_of
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import Pattern


def near_misses(
    patterns: Sequence[Pattern], overlay: Overlay, operators: Operators, taken: Container[int]
) -> list[Near]:
    """Return the partial matches of a rule's spellings, the nearest first; they may overlap.

    Nodes in ``taken`` (by identity) belong to whole matches, and nothing is missed there.
    """
    found: list[Near] = []
    most: dict[int, int] = {}
    for pattern in sorted(patterns, key=lambda p: -len(p.nodes)):
        shape = shape_of(pattern)
        for index, group in _anchors(shape, overlay, taken):
            # A spelling that lacks more tells nothing beside one that lacks less.
            known = most.get(id(group), 2 * len(pattern.nodes))
            search = Search(shape, overlay, operators, taken, known)
            best = search.run(index, Role(group, group.last))
            if best is not None:
                found.append(best)
                most[id(group)] = best.lacks
    return sorted(found, key=lambda n: n.rank)


def _anchors(shape: Shape, overlay: Overlay, taken: Container[int]) -> Iterator[tuple[int, Group]]:
    """Yield the places to start from: every role that the rarest operator can play.

    Where fusions have taken all nodes of that operator, the next rarest one serves, unless it is
    one that stands everywhere.
    """
    nodes = shape.pattern.nodes
    counts = [sum(map(overlay.count, node.ops)) for node in nodes]
    present = [i for i, n in enumerate(counts) if n]
    if len(present) < shape.least:
        return
    present.sort(key=lambda i: (counts[i], not shape.telling[i], i))
    rarest = present[0]
    for index in present:
        if (index == rarest or shape.telling[index]) and any(map(overlay.plain, nodes[index].ops)):
            break
    else:
        return
    wanted = nodes[index].ops
    roles = [i for i, node in enumerate(nodes) if node.ops == wanted]
    for group in overlay.of_op(wanted):
        if group.fused or id(group.last) in taken:
            continue
        for role in roles:
            if _plausible(shape, overlay, role, group):
                yield role, group


def _plausible(shape: Shape, overlay: Overlay, index: int, group: Group) -> bool:
    """Tell whether anything of the pattern stands beside a group, or behind what stands there."""
    makers, readers = shape.around[index]
    beside = []
    for value in group.inputs:
        maker = overlay.producers.get(value)
        if maker is not None:
            if maker.op in makers:
                return True
            beside.append(maker)
    for value in group.outputs:
        if overlay.readers(value) > CROWD:
            continue
        for user, _ in overlay.users(value):
            if user.op in readers:
                return True
            beside.append(user)
    return any(_plausible_behind(shape, overlay, g, group) for g in beside)


def _plausible_behind(shape: Shape, overlay: Overlay, gap: Group, group: Group) -> bool:
    for value in gap.inputs:
        maker = overlay.producers.get(value)
        if maker is not None and maker is not group and maker.op in shape.every:
            return True
    for value in gap.outputs:
        if overlay.readers(value) > CROWD:
            continue
        for user, _ in overlay.users(value):
            if user is not group and user.op in shape.every:
                return True
    return False
