"""A frozen view of a model: scopes, nodes, uses, constants, types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from fusectl.errors import ModelError
from fusectl.graph.types import UNKNOWN, TensorType

if TYPE_CHECKING:
    from fusectl.graph.constants import Constants
    from fusectl.graph.repeat import Repeat

Attribute = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a scope: into a body (node, attr) or into a function (function, call)."""

    node: str = ""
    attr: str = ""
    function: str = ""
    call: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something the user should know about the model, beside the decisions."""

    level: str
    text: str
    subject: str = ""


class Node:
    """One node as it stands in the file. ``op`` is its type, domain-qualified outside ONNX.

    ``copies`` counts the nodes that it stands for where equal layers were taken out.
    """

    __slots__ = (
        "_attrs", "copies", "domain", "index", "inputs", "name", "op", "op_type", "outputs",
        "proto",
    )  # fmt: skip

    def __init__(self, index: int, proto: onnx.NodeProto) -> None:
        self.index = index
        self.copies = 1
        self.proto = proto
        self.name: str = proto.name
        self.op_type: str = proto.op_type
        domain: str = proto.domain
        self.domain = "" if domain == "ai.onnx" else domain
        self.op = f"{domain}.{self.op_type}" if self.domain else self.op_type
        self.inputs: tuple[str, ...] = tuple(proto.input)
        self.outputs: tuple[str, ...] = tuple(proto.output)
        self._attrs: dict[str, Attribute] | None = None
        try:
            "".join((self.name, self.op, *self.inputs, *self.outputs))
        except TypeError:
            # The protobuf runtime hands out bytes for text that is not UTF-8.
            raise ModelError(f"a name in node number {index} is not UTF-8") from None

    @property
    def label(self) -> str:
        """What the node is called: its name, or its first output where it has none."""
        return self.name or next((o for o in self.outputs if o), f"#{self.index}")

    @property
    def attrs(self) -> Mapping[str, Attribute]:
        """The attributes that the file states, read on first use; graphs and tensors are None."""
        if self._attrs is None:
            self._attrs = {a.name: _attribute(a) for a in self.proto.attribute}
        return self._attrs

    @property
    def source(self) -> str:
        """The exporter's source line for this node, where the model carries one."""
        for entry in self.proto.metadata_props:
            if entry.key in ("pkg.torch.onnx.stack_trace", "pkg.torch.onnx.source"):
                return _source_line(entry.value)
        return _source_line(self.proto.doc_string) if "File " in self.proto.doc_string else ""

    def __repr__(self) -> str:
        return f"<Node {self.op} {self.label}>"


def _source_line(trace: str) -> str:
    """Return ``model.py:157 in forward`` for the innermost frame of a Python stack trace."""
    frames = [line.strip() for line in trace.splitlines() if line.strip().startswith('File "')]
    if not frames:
        return ""
    # Exporters list the outermost call first; the last frame is where the operator was written.
    path, _, rest = frames[-1][6:].partition('"')
    line, _, function = rest.removeprefix(", line ").partition(", in ")
    where = f"{path.rsplit('/', 1)[-1]}:{line.strip()}"
    return f"{where} in {function.strip()}" if function else where


def _attribute(proto: onnx.AttributeProto) -> Attribute:
    kind = proto.type
    if kind == onnx.AttributeProto.INT:
        return int(proto.i)
    if kind == onnx.AttributeProto.FLOAT:
        return float(proto.f)
    if kind == onnx.AttributeProto.STRING:
        return bytes(proto.s).decode("utf-8", "replace")
    if kind == onnx.AttributeProto.INTS:
        return tuple(proto.ints)
    if kind == onnx.AttributeProto.FLOATS:
        return tuple(proto.floats)
    if kind == onnx.AttributeProto.STRINGS:
        return tuple(bytes(s).decode("utf-8", "replace") for s in proto.strings)
    return None


@cache
def schema(op_type: str, domain: str, opset: int) -> onnx.defs.OpSchema | None:
    """Return ONNX's schema of an operator at an opset, or None where there is none."""
    try:
        return onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None


@cache
def default(op_type: str, domain: str, opset: int, name: str) -> Attribute:
    """Return the default of an attribute at an opset, or None."""
    found = schema(op_type, domain, opset)
    attribute = found.attributes.get(name) if found else None
    if attribute is None or not attribute.default_value.name:
        return None
    return _attribute(attribute.default_value)


@dataclass(slots=True, eq=False)
class GraphView:
    """One scope: the main graph, a body, or a function at a call site.

    ``captured`` maps a value of this scope to the nodes whose bodies read it. ``plain`` returns
    the types that are known without following sizes through the graph, where that tells less.
    ``walked`` is what ``walks.from_outputs`` found, once somebody asked.
    """

    model: ModelView
    scope: tuple[Step, ...]
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opsets: Mapping[str, int]
    constants: Constants
    types: dict[str, TensorType]
    parent: GraphView | None = None
    producers: dict[str, Node] = field(default_factory=dict)
    captured: dict[str, list[Node]] = field(default_factory=dict)
    calls: int = 1
    plain: Callable[[], Mapping[str, TensorType]] | None = None
    walked: dict[str, int] = field(default_factory=dict)

    def type_of(self, value: str) -> TensorType:
        """Return what is known of a value's type, looking outwards from a body."""
        view: GraphView | None = self
        while view is not None:
            found = view.types.get(value)
            if found is not None:
                return found
            view = view.parent
        return UNKNOWN

    def plain_type_of(self, value: str) -> TensorType:
        """Return what is known of a value's type without following sizes through the graph."""
        if self.plain is None or value not in self.types:
            return self.type_of(value)
        return self.plain().get(value, UNKNOWN)

    def attr(self, node: Node, name: str) -> Attribute:
        """Return an attribute, or its schema default at this scope's opset."""
        stated = node.attrs
        if name in stated:
            return stated[name]
        return default(node.op_type, node.domain, self.opset(node.domain), name)

    def opset(self, domain: str = "") -> int:
        """Return the version of a domain that is imported; the newest known where none is."""
        return self.opsets.get(domain) or onnx.defs.onnx_opset_version()


@dataclass(slots=True, eq=False)
class ModelView:
    """A model: where it came from and its scopes in reading order, the main graph first.

    ``repeat`` says which equal layers were taken out of the main graph; ``whole`` loads all of it.
    ``external`` are the files beside the model's own that anything was asked of, ``functions`` the
    model-local functions.
    """

    path: str
    sha256: str
    ir_version: int
    opsets: Mapping[str, int]
    graphs: list[GraphView] = field(default_factory=list)
    repeat: Repeat | None = None
    whole: Callable[[], ModelView] = field(init=False)
    notes: list[Note] = field(default_factory=list)
    external: set[Path] = field(default_factory=set)
    functions: tuple[onnx.FunctionProto, ...] = ()

    @property
    def node_count(self) -> int:
        """Nodes in all scopes, a function counted once per distinct call."""
        out = self.repeat.removed * self.repeat.period if self.repeat else 0
        return out + sum(len(g.nodes) for g in self.graphs)

    def __iter__(self) -> Iterator[GraphView]:
        return iter(self.graphs)

    def note(self, level: str, text: str, subject: str = "") -> None:
        """Add a note unless the same is there already."""
        note = Note(level, text, subject)
        if note not in self.notes:
            self.notes.append(note)
