"""What a decision joined, as the model tells it: nothing here asks the tool's own tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from fusectl.report.types import Decision, Report
from tests.mutations.values import Array, Values


class Contradiction(Exception):
    """The fused form is not what the nodes compute."""


@dataclass(frozen=True, slots=True)
class Group:
    """The nodes of one decision, in the graph's order, and every value of the model."""

    rule: str
    nodes: tuple[onnx.NodeProto, ...]
    opset: int
    values: Values
    constants: frozenset[str]
    results: tuple[str, ...]
    same_as: Mapping[str, str]
    """What a node that does nothing makes -> what it reads."""

    def of(self, *ops: str) -> list[onnx.NodeProto]:
        """The nodes of some operators."""
        return [n for n in self.nodes if n.op_type in ops]

    def one(self, *ops: str) -> onnx.NodeProto:
        """The only node of some operators."""
        found = self.of(*ops)
        require(len(found) == 1, f"{len(found)} nodes are {' or '.join(ops)}")
        return found[0]

    def real(self, value: str) -> str:
        """A value, or the one that it repeats."""
        while value in self.same_as:
            value = self.same_as[value]
        return value

    def maker(self, value: str) -> onnx.NodeProto | None:
        """The node of the group that makes a value, if one does."""
        value = self.real(value)
        return next((n for n in self.nodes if value in n.output), None)

    def outside(self, node: onnx.NodeProto) -> list[str]:
        """The values that a node reads and the group does not make."""
        return [self.real(v) for v in node.input if v and self.maker(v) is None]

    def array(self, value: str) -> Array:
        return self.values[self.real(value)]

    def constant(self, value: str) -> Array:
        """A constant's numbers; a contradiction where it arrives at run time."""
        value = self.real(value)
        require(value in self.constants, f"{value} has to be known beforehand and is not")
        return self.values[value]

    @property
    def result(self) -> Array:
        """What the group as a whole makes."""
        require(len(self.results) == 1, f"it makes {self.results}")
        return self.values[self.results[0]]

    def run_time(self) -> list[str]:
        """The run-time values that the group reads, equal ones once."""
        found: list[str] = []
        for node in self.nodes:
            for value in self.outside(node):
                if value not in self.constants and not any(self._equal(value, v) for v in found):
                    found.append(value)
        return found

    def _equal(self, a: str, b: str) -> bool:
        first, second = self.values[a], self.values[b]
        return a == b or (first.shape == second.shape and bool(np.array_equal(first, second)))


def require(holds: object, otherwise: str) -> None:
    """Raise a contradiction unless something holds."""
    if not holds:
        raise Contradiction(otherwise)


def attribute(node: onnx.NodeProto, name: str, default: object = None) -> object:
    """An attribute as it is stated."""
    found = next((a for a in node.attribute if a.name == name), None)
    return default if found is None else onnx.helper.get_attribute_value(found)


def _compile_time(model: onnx.ModelProto) -> frozenset[str]:
    """Stored constants, and what is computed from them alone."""
    given = {i.name for i in model.graph.input}
    known = {t.name for t in model.graph.initializer} - given
    for node in model.graph.node:
        if node.op_type == "Constant" or (
            node.input and all(v in known or not v for v in node.input)
        ):
            known.update(o for o in node.output if o)
    return frozenset(known)


def _readers(graph: onnx.GraphProto, value: str) -> Iterator[onnx.NodeProto]:
    """The nodes of the main graph that read a value, also inside their bodies."""
    for node in graph.node:
        bodies = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        if value in node.input or any(any(True for _ in _readers(b, value)) for b in bodies):
            yield node


def _same_as(model: onnx.ModelProto, report: Report) -> dict[str, str]:
    """The values of nodes that were removed because they do nothing."""
    gone = {e.node.output for e in report.eliminated if not e.node.graph}
    known = _compile_time(model)
    found = {}
    for node in model.graph.node:
        if node.output and node.output[0] in gone:
            sources = [v for v in node.input if v]
            late = [v for v in sources if v not in known]
            found[node.output[0]] = (late or sources)[0]
    return found


def group_of(model: onnx.ModelProto, report: Report, decision: Decision, values: Values) -> Group:
    """The group of a decision in the main graph."""
    names = {node.output for node in decision.nodes}
    nodes = tuple(n for n in model.graph.node if any(o in names for o in n.output))
    opset = next(e.version for e in model.opset_import if e.domain in ("", "ai.onnx"))
    same_as = _same_as(model, report)
    inner = set(decision.swallows)
    made = [o for n in nodes for o in n.output if o and o not in inner]
    results = tuple(o for o in made if _needed(model, o, nodes))
    constants = _compile_time(model)
    return Group(decision.rule, nodes, opset, values, constants, results, same_as)


def _needed(model: onnx.ModelProto, value: str, nodes: tuple[onnx.NodeProto, ...]) -> bool:
    mine = {n.output[0] for n in nodes}
    outside = any(n.output[0] not in mine for n in _readers(model.graph, value))
    return outside or any(o.name == value for o in model.graph.output)


def check_private(
    model: onnx.ModelProto, report: Report, decision: Decision, copied: frozenset[str]
) -> None:
    """Nothing may need a value that is gone, the fused operator included. Raises Contradiction."""
    gone = set(decision.swallows) - set(decision.materialises) - copied
    reads = gone.intersection(decision.fused_node.inputs if decision.fused_node else ())
    require(not reads, f"it reads {', '.join(sorted(reads))}, which is gone")
    mine = {node.output for node in decision.nodes}
    passed_on = _same_as(model, report)
    open_values = [v for v in decision.swallows if v not in decision.materialises]
    while open_values:
        value = open_values.pop()
        if value in copied:
            continue
        returned = any(o.name == value for o in model.graph.output)
        require(not returned, f"{value} is gone, and the graph returns it")
        for reader in _readers(model.graph, value):
            if reader.output[0] in passed_on:
                open_values.append(reader.output[0])
            else:
                told = f"{value} is gone, and {reader.output[0]} reads it"
                require(any(o in mine for o in reader.output), told)
