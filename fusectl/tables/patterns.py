"""Patterns in ONNX text: a list of nodes, as ``onnx.parser`` reads them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import onnx
from onnx import parser

from fusectl.errors import Problem, Span, did_you_mean
from fusectl.graph.read import parser_message
from fusectl.graph.view import Attribute, Node, schema
from fusectl.tables.operators import Operators
from fusectl.tables.schema import Range, Where

# The parser drops everything after the first complete item, so a last node of our own tells
# whether it read to the end.
_END = "fusectl_end_of_pattern"
_HEAD = "g () => () {\n"


@dataclass(frozen=True, slots=True)
class PatternNode:
    """One node: the operators that fit, the values it reads and makes, attributes it must have."""

    role: str
    ops: frozenset[str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: dict[str, Attribute]
    commutative: bool
    variadic: frozenset[str] = frozenset()

    def takes(self, op: str, inputs: tuple[str, ...]) -> bool:
        """Tell whether a node with these inputs can play this: a variadic one needs as many."""
        return op not in self.variadic or len(inputs) == len(self.inputs)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One spelling of a rule's pattern. ``producer`` and ``consumer`` are the edge's ends."""

    name: str
    nodes: tuple[PatternNode, ...]
    edge: str
    producer: int
    consumer: int
    slot: int
    where: dict[str, Where]
    opset: Range
    span: Span
    inner: frozenset[str] = field(default=frozenset())

    @property
    def two_node(self) -> bool:
        """Whether the pattern is one producer and one consumer."""
        return len(self.nodes) == 2


def parse_nodes(text: str, span: Span, problems: list[Problem]) -> list[Node]:
    """Parse the nodes of a pattern; ``span`` is where its text begins."""
    wrapped = f"{_HEAD}{text}\n{_END} = {_END}()\n}}"
    try:
        graph = parser.parse_graph(wrapped)
    except parser.ParseError as error:
        line, column, message = parser_message(error)
        place = Span(span.file, span.line + max(line - 2, 0), column)
        problems.append(Problem(place, f"the pattern cannot be parsed: {message}"))
        return []
    except onnx.checker.ValidationError as error:
        problems.append(Problem(span, f"the pattern cannot be parsed: {error}"))
        return []
    if not graph.node or graph.node[-1].op_type != _END:
        problems.append(Problem(span, "the pattern's text ends early: a brace too many?"))
        return []
    return [Node(i, proto) for i, proto in enumerate(graph.node[:-1])]


def compile_pattern(
    nodes: list[Node],
    edge: str,
    where: dict[str, Where],
    operators: Operators,
    span: Span,
    problems: list[Problem],
    name: str = "",
    opset: Range | None = None,
) -> Iterator[Pattern]:
    """Turn parsed nodes into patterns: more than one where nodes are optional (``maybe.Op``)."""
    for node in nodes:
        base = node.op.removeprefix("maybe.")
        if not _fits(base, operators):
            hint = did_you_mean(base, operators.names())
            message = f"{base} is neither an operator nor a declared class"
            problems.append(Problem(span, message, hint))
            return
    optional = [n.index for n in nodes if n.domain == "maybe"]
    for mask in itertools.product((True, False), repeat=len(optional)):
        dropped = {i for i, keep in zip(optional, mask, strict=True) if not keep}
        built = _build(nodes, dropped, operators)
        pattern = _with_edge(built, edge, where, span, problems)
        if pattern is None:
            return
        yield replace(pattern, name=name, opset=opset or Range())


def _fits(op: str, operators: Operators) -> bool:
    return op in operators.classes or op in operators.facts or op in _known() or "." in op


_KNOWN: frozenset[str] = frozenset()


def _known() -> frozenset[str]:
    # Listing all schemas takes a few milliseconds, so once, and only if there is a pattern.
    global _KNOWN
    if not _KNOWN:
        from fusectl.tables.operators import known_ops

        _KNOWN = known_ops()
    return _KNOWN


def _build(nodes: list[Node], dropped: set[int], operators: Operators) -> list[PatternNode]:
    renamed: dict[str, str] = {}
    built: list[PatternNode] = []
    for node in nodes:
        inputs = tuple(renamed.get(v, v) for v in node.inputs)
        if node.index in dropped:
            renamed[node.outputs[0]] = inputs[0]
            continue
        role = node.op.removeprefix("maybe.")
        ops = operators.expand(role)
        commutative = len(inputs) == 2 and all(operators.commutative(op) for op in ops)
        built.append(
            PatternNode(
                role,
                ops,
                inputs,
                node.outputs,
                dict(node.attrs),
                commutative,
                _variadic(ops, operators),
            )
        )
    return built


def _variadic(ops: frozenset[str], operators: Operators) -> frozenset[str]:
    """Return the operators that take any number of inputs, all alike, and are no functions.

    A Max or Min with a constant is a function of its other operand.
    """
    newest = onnx.defs.onnx_opset_version()
    option = onnx.defs.OpSchema.FormalParameterOption.Variadic
    found = set()
    for op in ops - set(operators.functions):
        known = schema(op, "", newest) if "." not in op else None
        if known is not None and any(i.option == option for i in known.inputs):
            found.add(op)
    return frozenset(found)


def _with_edge(
    nodes: list[PatternNode],
    edge: str,
    where: dict[str, Where],
    span: Span,
    problems: list[Problem],
) -> Pattern | None:
    makers = {o: i for i, n in enumerate(nodes) for o in n.outputs if o}
    readers = [(i, n.inputs.index(edge)) for i, n in enumerate(nodes) if edge in n.inputs]
    if edge not in makers or not readers:
        what = "is made by no node" if edge not in makers else "is read by no node"
        close = did_you_mean(edge, makers)
        problems.append(Problem(span, f"the edge {edge} {what} of the pattern", close))
        return None
    values = set(makers) | {v for n in nodes for v in n.inputs}
    for name, fact in where.items():
        if name not in values:
            problems.append(
                Problem(fact.span, f"{name} is no value of the pattern", did_you_mean(name, values))
            )
    read = {v for n in nodes for v in n.inputs}
    inner = frozenset(v for v in makers if v in read)
    consumer, slot = readers[0]
    return Pattern(
        "", tuple(nodes), edge, makers[edge], consumer, slot, where, Range(), span, inner
    )
