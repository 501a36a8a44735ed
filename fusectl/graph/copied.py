"""Sizes that a Reshape copies axis by axis: Concat of Shape, Gather and constants, read once.

Compilers often know this one spelling of a computed shape, and turn it into a constant in which 0
copies an axis and -1 takes what is left.
"""

from __future__ import annotations

from collections import Counter

from fusectl.graph.sizes import Sizes, contents
from fusectl.graph.types import same_dim
from fusectl.graph.view import GraphView, Node

_Element = tuple[str, int]
"""A value and the axis whose size is taken, or an empty name and a number."""
_REST: _Element = ("?", -1)


def copied_shapes(view: GraphView) -> dict[str, Sizes]:
    """Return what the shape operand of a Reshape stands for, with 0 for an axis that is copied."""
    makers = view.producers
    lists: dict[str, tuple[_Element, ...]] = {}
    readers: Counter[tuple[_Element, ...]] = Counter()
    for node in view.nodes:
        for value in node.inputs:
            maker = makers.get(value)
            if maker is None or maker.op != "Concat":
                continue
            if value not in lists:
                lists[value] = _elements(view, maker)
            # A compiler merges equal lists before it looks at their readers.
            readers[lists[value]] += 1
    found: dict[str, Sizes] = {}
    for node in view.nodes:
        elements = lists.get(node.inputs[1], ()) if node.op == "Reshape" else ()
        if elements and readers[elements] == 1:
            sizes = tuple(_copied(view, node, place, e) for place, e in enumerate(elements))
            if sizes.count(-1) <= 1:
                found[node.inputs[1]] = sizes
    return found


def _elements(view: GraphView, concat: Node) -> tuple[_Element, ...]:
    """Return the elements of a list of sizes, or nothing where a part has several unknown ones."""
    found: list[_Element] = []
    for part in concat.inputs:
        value = _before_casts(view, part)
        constant = contents(view, value, {})
        if constant is not None:
            found += [("", int(str(size))) for size in constant]
            continue
        if view.type_of(part).static != (1,):
            return ()
        found.append(_axis(view, value) or _REST)
    return tuple(found)


def _before_casts(view: GraphView, value: str) -> str:
    """Sizes stay what they are from one integer type to another."""
    maker = view.producers.get(value)
    while maker is not None and maker.op == "Cast":
        value = maker.inputs[0]
        maker = view.producers.get(value)
    return value


def _axis(view: GraphView, value: str) -> _Element | None:
    """Return the axis that Unsqueeze, Gather and Shape take the size of."""
    gather = _behind(view, view.producers.get(value), "Unsqueeze")
    shape = _behind(view, gather, "Gather")
    if gather is None or shape is None or shape.op != "Shape":
        return None
    place = contents(view, gather.inputs[1], {})
    return (shape.inputs[0], int(str(place[0]))) if place and len(place) == 1 else None


def _behind(view: GraphView, node: Node | None, op: str) -> Node | None:
    return view.producers.get(node.inputs[0]) if node is not None and node.op == op else None


def _copied(view: GraphView, node: Node, place: int, element: _Element) -> int:
    """Return what an element becomes: a number, 0 for the operand's own axis, or -1."""
    source, axis = element
    if not source:
        return axis
    if element == _REST or axis != place:
        return -1
    if source == node.inputs[0]:
        return 0
    before, other = (view.type_of(v).dims for v in (node.inputs[0], source))
    if before is None or other is None or place >= min(len(before), len(other)):
        return -1
    return 0 if same_dim(before[place], other[place]) else -1
