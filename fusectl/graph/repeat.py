"""Equal layers: a graph that repeats a block of nodes is shortened to a few of them.

What is decided about one layer holds for every equal one under other names. So only some layers
stay; nodes and values get marks in place of their names, and whoever tells about the shortened
graph puts names in again, those of each layer (``report.layers``). Whether the layers that stayed
were decided alike is seen there; where they were not, the whole graph has to be decided.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import onnx

from fusectl.graph.shapes import has_bodies

CORE = 3
"""Layers in the middle of those that stay, which must have been decided alike."""
_REACH = 64
"""Nodes between which one may bear on the other: more than the largest pattern has."""
_WORTH = 500
"""Nodes below which taking layers out saves nothing."""
_MANY = 8
"""Readers above which a value is the same one for all layers: a mask, a shared constant."""
FEW = 16
"""Elements up to which the contents of a stored constant tell one layer from another."""

MARK = re.compile("\ue000(-?\\d+)\ue001")
"""A mark in a text; the number counts ``Repeat.places``."""

FIXED, NAME, OUTPUT, INPUT = range(4)


@dataclass(frozen=True, slots=True)
class Place:
    """What a mark stands for: a fixed text, or a node's name, output or input ``slot``."""

    kind: int
    node: int = 0
    slot: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Proper:
    """The names of a node of the whole graph."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A run of equal layers of which only some stay. Node numbers are those after shortening.

    Layers of ``period`` nodes begin at ``start``; ``layers`` of them stay. Behind ``cut``, the
    end of a layer, ``removed`` layers are missing. Around the cut are the ``CORE`` layers, two
    before and one behind, and on either side of these ``margin`` layers more.
    ``proper`` holds the names of all nodes of the whole graph, ``common`` the values, by their
    marks, that are the same ones for all layers.
    """

    start: int
    period: int
    layers: int
    cut: int
    removed: int
    margin: int
    proper: list[Proper]
    places: list[Place] = field(default_factory=list)
    common: set[str] = field(default_factory=set)

    @property
    def end(self) -> int:
        """The first node behind the last layer."""
        return self.start + self.period * self.layers

    def layer(self, node: int) -> int:
        """Return the layer of a node; nodes around the run count as layers before or behind it."""
        return (node - self.start) // self.period

    def text(self, mark: int, shift: int) -> str:
        """Return what a mark stands for in the node that is ``shift`` nodes further on."""
        place = self.places[mark]
        if place.kind == FIXED:
            return place.text
        proper = self.proper[place.node + shift]
        if place.kind == NAME:
            return proper.name
        return (proper.outputs if place.kind == OUTPUT else proper.inputs)[place.slot]


def shorten(model: onnx.ModelProto) -> Repeat | None:
    """Take equal layers out of the main graph, in place, and put marks where names were.

    None, and nothing is changed, where there are too few. Nodes must be in topological order.
    """
    graph = model.graph
    if len(graph.node) < 2 * _WORTH or model.functions or graph.sparse_initializer:
        return None
    if any(has_bodies(n) or not n.output for n in graph.node):
        return None
    values = _Values(graph)
    found = _run(_signatures(graph, values))
    if found is None:
        return None
    start, period, layers = found
    margin = max(2, -(-_REACH // period))
    removed = layers - (2 * margin + CORE)
    if removed * period < _WORTH:
        return None
    cut = start + period * (margin + 2)
    repeat = Repeat(start, period, layers - removed, cut, removed, margin, values.proper)
    moved = _across(repeat, values)
    if moved is None:
        return None
    _Marker(graph, repeat, values, moved).run()
    return repeat


class _Values:
    """Who makes and who reads each value of a graph."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.proper = [Proper(n.name, tuple(n.input), tuple(n.output)) for n in graph.node]
        self.makers: dict[str, tuple[int, int]] = {}
        self.readers: Counter[str] = Counter()
        self.first: dict[str, int] = {}
        for index, node in enumerate(self.proper):
            for slot, value in enumerate(node.outputs):
                self.makers[value] = (index, slot)
            for value in node.inputs:
                self.readers[value] += 1
                self.first.setdefault(value, index)
        self.stored = {t.name: t for t in graph.initializer}
        self.inputs = {i.name: i for i in graph.input}
        self.returned = {o.name for o in graph.output}
        self.stated = {i.name: i.type.SerializeToString() for i in graph.value_info}

    def common(self, value: str) -> bool:
        """Tell whether a value is the same one for all layers."""
        return self.readers[value] > _MANY

    def operand(self, index: int, value: str) -> object:
        """What an operand is, apart from its name: how far off it is made, or what is stored."""
        if not value:
            return None
        if self.common(value):
            return value
        made = self.makers.get(value)
        if made is not None:
            return (index - made[0], made[1])
        what: list[object] = [index - self.first[value]]
        tensor = self.stored.get(value)
        if tensor is not None:
            what += [tensor.data_type, tuple(tensor.dims), _contents(tensor)]
        if value in self.inputs:
            what.append(self.inputs[value].type.SerializeToString())
        return tuple(what)

    def result(self, value: str) -> object:
        """What a result is, apart from its name."""
        return (bool(value), value in self.returned, self.stated.get(value))


def _contents(tensor: onnx.TensorProto) -> bytes:
    """Return the contents of a tensor of few elements, and where those of others lie."""
    if tensor.external_data:
        return b"".join(e.SerializeToString() for e in tensor.external_data if e.key == "location")
    count = 1
    for size in tensor.dims:
        count *= size
    if count > FEW:
        return b""
    return _nameless(tensor)


def _nameless(tensor: onnx.TensorProto) -> bytes:
    if not tensor.name:
        return bytes(tensor.SerializeToString())
    plain = onnx.TensorProto()
    plain.CopyFrom(tensor)
    plain.ClearField("name")
    return bytes(plain.SerializeToString())


def _attribute(attribute: onnx.AttributeProto) -> object:
    if attribute.type == onnx.AttributeProto.TENSOR:
        return (attribute.name, _nameless(attribute.t))
    return attribute.SerializeToString()


def _source(node: onnx.NodeProto) -> object:
    """What a report may tell of a node beside its names: the exporter's notes."""
    if not node.metadata_props and not node.doc_string:
        return None
    return (tuple((e.key, e.value) for e in node.metadata_props), node.doc_string)


def _signatures(graph: onnx.GraphProto, values: _Values) -> list[int]:
    """Number the nodes so that equal numbers mean: equal apart from names, equally connected."""
    known: dict[object, int] = {}
    numbers = []
    for index, (node, proper) in enumerate(zip(graph.node, values.proper, strict=True)):
        key = (
            node.op_type,
            node.domain,
            bool(proper.name),
            tuple([values.operand(index, v) for v in proper.inputs]),
            tuple([values.result(v) for v in proper.outputs]),
            tuple([_attribute(a) for a in node.attribute]),
            _source(node),
        )
        numbers.append(known.setdefault(key, len(known)))
    return numbers


def _run(numbers: list[int]) -> tuple[int, int, int] | None:
    """Find the run that repeats most: its first node, its period, how often it stands there."""
    latest: dict[int, int] = {}
    distances: Counter[int] = Counter()
    for index, number in enumerate(numbers):
        if number in latest:
            distances[index - latest[number]] += 1
        latest[number] = index
    sequence = np.asarray(numbers)
    best: tuple[int, int, int] | None = None
    for period, _ in distances.most_common(4):
        same = sequence[:-period] == sequence[period:]
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False]))))
        if not edges.size:
            continue
        lengths = edges[1::2] - edges[::2]
        longest = int(lengths.argmax())
        layers = int(lengths[longest]) // period + 1
        if best is None or layers * period > best[1] * best[2]:
            best = (int(edges[::2][longest]), period, layers)
    return best


def _across(repeat: Repeat, values: _Values) -> dict[str, str] | None:
    """Map values that are read across the cut to those that take their place; None: impossible.

    A layer behind the cut reads of the one before it what it read of a removed one.
    """
    gap = repeat.removed * repeat.period
    behind = repeat.cut + gap
    last = repeat.end + gap
    moved: dict[str, str] = {}
    for index in range(behind, len(values.proper)):
        for value in values.proper[index].inputs:
            made, slot = values.makers.get(value, (-1, 0))
            if not repeat.start <= made < behind or values.common(value):
                continue
            if index >= last:
                if made >= repeat.cut:
                    return None  # something behind the run reads a layer that is removed
                continue
            if made - gap < repeat.start:
                return None
            moved[value] = values.proper[made - gap].outputs[slot]
    return moved


class _Marker:
    """Takes the layers out and puts marks where names were."""

    def __init__(
        self, graph: onnx.GraphProto, repeat: Repeat, values: _Values, moved: dict[str, str]
    ) -> None:
        self.graph = graph
        self.repeat = repeat
        self.values = values
        self.moved = moved
        self.marks: dict[str, str] = {}

    def run(self) -> None:
        graph, repeat = self.graph, self.repeat
        behind = repeat.cut + repeat.removed * repeat.period
        del graph.node[repeat.cut : behind]
        for index, node in enumerate(graph.node):
            self._node(index, node)
        for info in (*graph.input, *graph.value_info, *graph.initializer):
            if info.name in self.marks:
                info.name = self.marks[info.name]
        for number in reversed(range(len(graph.output))):
            info = graph.output[number]
            if info.name in self.marks:
                info.name = self.marks[info.name]
            elif self.values.makers.get(info.name, (0, 0))[0] >= repeat.cut:
                del graph.output[number]

    def _node(self, index: int, node: onnx.NodeProto) -> None:
        if node.name:
            node.name = self._new(Place(NAME, index))
        for slot, value in enumerate(node.input):
            if value:
                node.input[slot] = self._operand(index, slot, value)
        for slot, value in enumerate(node.output):
            if value:
                self.marks[value] = node.output[slot] = self._new(Place(OUTPUT, index, slot))

    def _operand(self, index: int, slot: int, value: str) -> str:
        if self.repeat.cut <= index < self.repeat.end:
            value = self.moved.get(value, value)
        known = self.marks.get(value)
        if known is None:
            common = self.values.common(value)
            place = Place(FIXED, text=value) if common else Place(INPUT, index, slot)
            known = self.marks[value] = self._new(place)
        if self.values.common(value):
            self.repeat.common.add(known)
        return known

    def _new(self, place: Place) -> str:
        self.repeat.places.append(place)
        return mark(len(self.repeat.places) - 1)


def mark(number: int) -> str:
    """Return the mark with a number."""
    return f"\ue000{number}\ue001"
