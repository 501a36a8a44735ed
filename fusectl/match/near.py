"""Near misses of patterns of several nodes: one search for all spellings of a rule."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from fusectl.graph.overlay import Group, Overlay
from fusectl.match.assign import Search
from fusectl.match.candidate import Role
from fusectl.match.partial import CROWD, Near, Shape, shape_of
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import Pattern, PatternNode

_LEVELS = (1, 64)
"""How much may be lacking, in turn: what lacks one thing is found soon, by whichever spelling."""


def near_misses(
    patterns: Sequence[Pattern], overlay: Overlay, operators: Operators, taken: Container[int]
) -> list[Near]:
    """Return the partial matches of a rule's spellings, the nearest first; they may overlap.

    No search starts from nodes in ``taken`` (by identity): they belong to whole matches.
    """
    places = [
        (shape, index, group, most)
        for shape in map(shape_of, sorted(patterns, key=lambda p: -len(p.nodes)))
        if (most := _allowed(shape, overlay))
        for index, group in _anchors(shape, overlay, taken)
    ]
    found: list[Near] = []
    solved: dict[int, int] = {}
    before = 0
    for level in _LEVELS:
        for shape, index, group, allowed in places:
            # A spelling that lacks more tells nothing beside one that lacks less.
            most = min(level, allowed, solved.get(id(group), level))
            if most <= before:
                continue
            search = Search(shape, overlay, operators, most)
            best = search.run(index, Role(group, group.last))
            if best is not None:
                found.append(best)
                for role in filter(None, best.roles):
                    solved[id(role.group)] = min(best.lacks, solved.get(id(role.group), level))
        before = level
    return sorted(found, key=lambda n: n.rank)


def _allowed(shape: Shape, overlay: Overlay) -> int:
    """Return how much may be lacking in this graph: little where no operator there tells."""
    nodes, telling = shape.pattern.nodes, shape.telling
    told = [n for n, tells in zip(nodes, telling, strict=True) if tells]
    if not told or any(overlay.count(op) for n in told for op in n.ops):
        return shape.most
    return int(len(told) == 1 and not shape.few and not shape.quantised)


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
            fits = shape.telling[role] or _constants_fit(shape, overlay, nodes[role], group)
            if fits and _plausible(shape, overlay, role, group):
                yield role, group


def _constants_fit(shape: Shape, overlay: Overlay, node: PatternNode, group: Group) -> bool:
    """Tell whether arithmetic has as many constants as the pattern's, or more."""
    where = shape.pattern.where
    wanted = sum(v in where and where[v].const is not None for v in node.inputs)
    return not wanted or sum(map(overlay.is_constant, group.inputs)) >= wanted


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
