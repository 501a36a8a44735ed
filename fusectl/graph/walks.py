"""Walks backwards from what a graph gives, and the places at which they leave its parts."""

from __future__ import annotations

from fusectl.graph.overlay import Overlay
from fusectl.graph.view import GraphView


def depth_first(overlay: Overlay) -> dict[int, int]:
    """Return the place of each living group where a walk backwards from the ends leaves it.

    The walk starts at groups that nobody reads and follows the last of a group's makers in
    graph order first.
    """
    places: dict[int, int] = {}
    living = [g for g in overlay.groups if g.alive]
    stack = [(g, False) for g in living if not any(overlay.uses.get(o) for o in g.outputs)]
    stack.sort(key=lambda entry: entry[0].order)
    seen: set[int] = set()
    while stack:
        group, left = stack.pop()
        if left:
            places[id(group)] = len(places)
            continue
        if id(group) in seen:
            continue
        seen.add(id(group))
        stack.append((group, True))
        makers = {id(m): m for v in group.inputs if (m := overlay.producers.get(v)) is not None}
        stack += [(m, False) for m in sorted(makers.values(), key=lambda m: m.order)]
    for group in living:
        places.setdefault(id(group), len(places))
    return places


def from_outputs(view: GraphView) -> dict[str, int]:
    """Return the place of what makes each value where a walk from the outputs leaves it.

    The walk starts at the last output and follows the operands of each node in their order.
    It goes over the nodes of the file, whatever the passes made of them, and is done once.
    """
    places = view.walked
    stack = [] if places else [(v, False) for v in view.outputs]
    while stack:
        value, left = stack.pop()
        node = view.producers.get(value)
        if left:
            places.setdefault(value, len(places))
        elif node is not None and value not in places:
            stack.append((value, True))
            stack += [(v, False) for v in reversed(node.inputs) if v]
    return places
