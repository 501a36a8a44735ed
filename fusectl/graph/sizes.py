"""Sizes that a graph computes from shapes, symbols included: Shape, Gather, Concat into Reshape.

Shape inference carries such values only while every element is a number or all steps are of a few
kinds. Here an element is a number, a symbol of the model, or unknown, each by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from onnx import numpy_helper

from fusectl.graph.constants import Unreadable
from fusectl.graph.types import Dim
from fusectl.graph.view import GraphView, Node

_LONGEST = 16
# Up to where a type holds every whole number; sizes in other types are not followed.
_EXACT = {"int32": 2**31 - 1, "int64": 2**63 - 1, "float32": 2**24, "float64": 2**53}
Sizes = tuple[Dim, ...]


def computed_sizes(view: GraphView) -> dict[str, Sizes]:
    """Return the contents of every value that holds sizes; a scalar is like a vector of one."""
    known: dict[str, Sizes] = {}
    for node in view.nodes:
        step = _STEPS.get(node.op)
        if step is None or not node.outputs or not node.outputs[0]:
            continue
        found = step(view, node, known)
        if found is not None and len(found) <= _LONGEST:
            known[node.outputs[0]] = found
    return known


def contents(view: GraphView, value: str, known: dict[str, Sizes]) -> Sizes | None:
    """Return a value's elements: computed from shapes, or those of a small integer constant."""
    if value in known:
        return known[value]
    size = view.type_of(value).static
    if value not in view.constants or size is None or len(size) > 1 or (size or (1,))[0] > _LONGEST:
        return None
    try:
        array = view.constants.array(value)
    except (Unreadable, KeyError):
        return None
    return tuple(int(v) for v in array.reshape(-1)) if array.dtype.kind in "iu" else None


def reshaped(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    """Return the shape that a Reshape makes, as far as it is known."""
    target = contents(view, node.inputs[1], known) if len(node.inputs) > 1 else None
    if target is None:
        return None
    before = view.type_of(node.inputs[0]).dims
    keeps_zero = bool(view.attr(node, "allowzero"))
    made: list[Dim] = []
    for place, size in enumerate(target):
        if size == 0 and not keeps_zero:
            size = before[place] if before is not None and place < len(before) else None
        made.append(size)
    if -1 in made:
        place = made.index(-1)
        others = (*made[:place], *made[place + 1 :])
        made[place] = _quotient(before, others) if before is not None else None
    return tuple(made)


def expanded(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    """Return the shape that an Expand makes, as far as it is known."""
    target = contents(view, node.inputs[1], known) if len(node.inputs) > 1 else None
    before = view.type_of(node.inputs[0]).dims
    if target is None or before is None:
        return None
    rank = max(len(before), len(target))
    pairs = zip(_padded(before, rank), _padded(target, rank), strict=True)
    return tuple(
        b if a == 1 else a if b in (1, a) or isinstance(a, int) else None for a, b in pairs
    )


def _padded(sizes: Sizes, rank: int) -> Sizes:
    return (1,) * (rank - len(sizes)) + sizes


def _quotient(whole: Sizes, parts: Sizes) -> Dim:
    """Divide a product of sizes by another; None where that is no number and no symbol."""
    if None in whole or None in parts:
        return None
    above = Counter(d for d in whole if isinstance(d, str))
    above.subtract(d for d in parts if isinstance(d, str))
    left = [s for s, count in above.items() for _ in range(count)]
    if any(count < 0 for count in above.values()) or len(left) > 1:
        return None
    number, divisor = 1, 1
    for dim in whole:
        number *= dim if isinstance(dim, int) else 1
    for dim in parts:
        divisor *= dim if isinstance(dim, int) else 1
    if not divisor or number % divisor:
        return None
    if not left:
        return number // divisor
    return left[0] if number == divisor else None


def _shape(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    dims = view.type_of(node.inputs[0]).dims
    start, end = node.attrs.get("start", 0), node.attrs.get("end")
    if dims is None:
        return None
    stop = end if isinstance(end, int) else None
    return dims[start if isinstance(start, int) else 0 : stop]


def _same(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    return contents(view, node.inputs[0], known) if node.inputs else None


def _flat(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    """Return the same elements where they stay a vector or a scalar; a matrix is not followed."""
    dims = view.type_of(node.outputs[0]).dims
    return None if dims is None or len(dims) > 1 else _same(view, node, known)


def _cast(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    """Return the elements that another type holds as they are; what is not 0 is true."""
    found, dtype = _same(view, node, known), view.type_of(node.outputs[0]).dtype
    if found is None:
        return None
    if dtype == "bool":
        return tuple(int(a != 0) if isinstance(a, int) else None for a in found)
    limit = _EXACT.get(dtype)
    if limit is None:
        return None
    return tuple(a if not isinstance(a, int) or abs(a) <= limit else None for a in found)


def _gather(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    data = contents(view, node.inputs[0], known)
    places = contents(view, node.inputs[1], known)
    if data is None or places is None or view.attr(node, "axis") not in (0, None):
        return None
    if any(not isinstance(p, int) or not -len(data) <= p < len(data) for p in places):
        return None
    return tuple(data[int(str(p))] for p in places)


def _concat(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    parts: list[Dim] = []
    for value in node.inputs:
        found = contents(view, value, known)
        if found is None:
            # How long it is can be known all the same, and then the rank of what is reshaped.
            length = view.type_of(value).static
            if length is None or len(length) != 1 or length[0] > _LONGEST:
                return None
            found = (None,) * length[0]
        parts += found
    return tuple(parts)


def _slice(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    data = contents(view, node.inputs[0], known)
    if data is None:
        return None
    limits: list[int] = []
    for place, name in ((1, "starts"), (2, "ends")):
        stated = node.attrs.get(name)
        found = contents(view, node.inputs[place], known) if len(node.inputs) > place else None
        values = stated if isinstance(stated, tuple) else found
        if values is None or len(values) != 1 or not isinstance(values[0], int):
            return None
        limits.append(values[0])
    steps = contents(view, node.inputs[4], known) if len(node.inputs) > 4 else (1,)
    return data[limits[0] : limits[1]] if steps == (1,) else None


def _arithmetic(work: Callable[[int, int], Dim], neutral: int, *, swaps: bool = False) -> _Step:
    """Compute with whole numbers; a symbol stays itself beside the number that changes nothing."""

    def one(a: Dim, b: Dim) -> Dim:
        if isinstance(a, int) and isinstance(b, int):
            return work(a, b)
        if b == neutral:
            return a
        return b if swaps and a == neutral else None

    def step(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
        found = _pairs(view, node.inputs, known)
        return None if found is None else tuple(one(a, b) for a, b in found)

    return step


def _divide(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    """Divide; only whole numbers drop what is left over."""
    drops = view.type_of(node.outputs[0]).dtype in ("int32", "int64")

    def quotient(a: int, b: int) -> Dim:
        return int(a / b) if b and (drops or not a % b) else None

    return _arithmetic(quotient, 1)(view, node, known)


def _equal(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    """Compare elements, 1 for equal; a dimension is no negative number."""
    found = _pairs(view, node.inputs, known)
    return None if found is None else tuple(_alike(a, b) for a, b in found)


def _alike(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return int(a == b)
    number = a if isinstance(a, int) else b
    return 0 if isinstance(number, int) and number < 0 and None not in (a, b) else None


def _where(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    found = _pairs(view, node.inputs, known)
    if found is None:
        return None
    return tuple(None if chosen is None else a if chosen else b for chosen, a, b in found)


def _pairs(view: GraphView, values: Sequence[str], known: dict[str, Sizes]) -> list[Sizes] | None:
    """Return the elements of several values side by side; one element stands for all."""
    found = [contents(view, v, known) for v in values]
    lengths = {len(sizes) for sizes in found if sizes is not None} - {1}
    if None in found or len(lengths) > 1:
        return None
    length = max(lengths, default=1)
    spread = (s * length if len(s) == 1 else s for s in found if s is not None)
    return list(zip(*spread, strict=True))


def _filled(view: GraphView, node: Node, known: dict[str, Sizes]) -> Sizes | None:
    """Return what a ConstantOfShape makes, where it is a vector of whole numbers."""
    size = contents(view, node.inputs[0], known)
    number = _number(node)
    if size is None or len(size) != 1 or not isinstance(size[0], int) or number is None:
        return None
    return (number,) * min(size[0], _LONGEST + 1)


def _number(node: Node) -> int | None:
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            array = numpy_helper.to_array(attribute.t)
            return int(array.reshape(-1)[0]) if array.size and array.dtype.kind in "iu" else None
    return None


_Step = Callable[[GraphView, Node, dict[str, Sizes]], Sizes | None]
_STEPS: dict[str, _Step] = {
    "Shape": _shape,
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Unsqueeze": _flat,
    "Squeeze": _same,
    "Cast": _cast,
    "Identity": _same,
    "Reshape": _flat,
    "Add": _arithmetic(lambda a, b: a + b, 0, swaps=True),
    "Sub": _arithmetic(lambda a, b: a - b, 0),
    "Mul": _arithmetic(lambda a, b: a * b, 1, swaps=True),
    "Div": _divide,
    "Equal": _equal,
    "Where": _where,
    "ConstantOfShape": _filled,
}
