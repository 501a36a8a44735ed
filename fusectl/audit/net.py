"""A model's main graph as the audit sees it: nodes, who makes a value, what is constant.

Works on a ModelProto as it comes from the runtime too, which the loader of ``fusectl.graph`` is
not made for: blocked layouts, unknown operators, no types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

from fusectl.graph.shapes import infer, types_of


@dataclass(frozen=True)
class Op:
    """A node. ``inputs`` has what its bodies capture at the end; absent operands are left out."""

    index: int
    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bodies: bool

    @property
    def label(self) -> str:
        """What the node is called: its name, or its first output where it has none."""
        return self.name or next(iter(self.outputs), f"#{self.index}")


@dataclass(frozen=True)
class Net:
    """One graph. ``leaves`` are its inputs that no initializer gives a value.

    ``static`` are values whose shape is known before anything runs.
    """

    ops: tuple[Op, ...]
    leaves: frozenset[str]
    fixed: frozenset[str]
    results: tuple[str, ...]
    static: frozenset[str] = frozenset()

    @cached_property
    def maker(self) -> dict[str, Op]:
        """The node that makes a value."""
        return {value: op for op in self.ops for value in op.outputs}

    @cached_property
    def readers(self) -> dict[str, list[Op]]:
        """The nodes that read a value, each once, in the order of the graph."""
        found: dict[str, list[Op]] = {}
        for op in self.ops:
            for value in dict.fromkeys(op.inputs):
                found.setdefault(value, []).append(op)
        return found

    @cached_property
    def constant(self) -> frozenset[str]:
        """Initializers, shapes that are known, and all that is computed from nothing else."""
        known = set(self.fixed)
        for op in self.ops:
            if op.op_type in SIZES and op.inputs[0] in self.static:
                known.update(op.outputs)
            if all(i in known for i in op.inputs) and not op.bodies and op.op_type not in _CHANCE:
                known.update(op.outputs)
        return frozenset(known)

    @cached_property
    def sizes(self) -> frozenset[str]:
        """What is computed from shapes that are not known, and from nothing else that runs."""
        known = set[str]()
        for op in self.ops:
            rest = [i for i in op.inputs if i not in self.constant]
            if op.op_type in SIZES or (rest and known.issuperset(rest) and not op.bodies):
                known.update(v for v in op.outputs if v not in self.constant)
        return frozenset(known)

    @cached_property
    def values(self) -> frozenset[str]:
        """Every value of the graph that is not constant."""
        return (self.leaves | self.maker.keys()) - self.constant


SIZES = ("Shape", "Size")
"""Operators that ask a value for its shape."""
_CHANCE = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"}


def net_of(model: ModelProto) -> Net:
    """Read the main graph of a model; the nodes are brought into topological order."""
    found = _net(model.graph, frozenset())
    if not any(op.op_type in SIZES for op in found.ops):
        return found
    types = types_of(infer(model, {}, follow=False)[0].graph)
    static = frozenset(value for value, known in types.items() if known.static is not None)
    return replace(found, static=static)


def body_net(graph: GraphProto, constant: frozenset[str]) -> Net:
    """Read a body; ``constant`` are the values of the scopes around it that are known."""
    return _net(graph, constant)


def _net(graph: GraphProto, constant: frozenset[str]) -> Net:
    captured = _captured(graph)
    fixed = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    leaves = {i.name for i in graph.input} | (captured - constant)
    ops = [_op(i, node) for i, node in enumerate(graph.node)]
    return Net(
        tuple(_sorted(ops)),
        frozenset(leaves - fixed),
        frozenset(fixed | (captured & constant)),
        tuple(o.name for o in graph.output),
    )


def bodies(node: NodeProto) -> dict[str, GraphProto]:
    """Return the bodies of a node by their attribute."""
    return {a.name: a.g for a in node.attribute if a.type == AttributeProto.GRAPH}


def qualified(node: NodeProto) -> str:
    """Return the operator with its domain, which is left out for ONNX's own."""
    plain = node.domain in ("", "ai.onnx")
    return node.op_type if plain else f"{node.domain}.{node.op_type}"


def _op(index: int, node: NodeProto) -> Op:
    inputs = [i for i in node.input if i]
    graphs = list(_graphs(node))
    for graph in graphs:
        inputs += sorted(_captured(graph))
    outputs = tuple(o for o in node.output if o)
    return Op(index, node.name, qualified(node), tuple(inputs), outputs, bool(graphs))


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def _captured(graph: GraphProto) -> set[str]:
    """Return the values of outer scopes that a body reads."""
    own = {i.name for i in graph.input} | {t.name for t in graph.initializer}
    own |= {o for node in graph.node for o in node.output}
    read = {i for node in graph.node for i in node.input if i}
    read |= {o.name for o in graph.output}
    for node in graph.node:
        for inner in _graphs(node):
            read |= _captured(inner)
    return read - own


def _sorted(ops: Iterable[Op]) -> Iterator[Op]:
    """Yield nodes after those that they read; nodes of a circle come last, as they stand."""
    waiting = list(ops)
    made = {value for op in waiting for value in op.outputs}
    while waiting:
        later = []
        for op in waiting:
            if made.isdisjoint(op.inputs):
                made.difference_update(op.outputs)
                yield op
            else:
                later.append(op)
        if len(later) == len(waiting):
            yield from later
            return
        waiting = later
