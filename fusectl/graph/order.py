"""Producers, uses by bodies and topological order of a scope; refuses what is no graph."""

from __future__ import annotations

import onnx

from fusectl.errors import ModelError
from fusectl.graph.shapes import bodies, has_bodies
from fusectl.graph.view import GraphView, Node


def arrange(view: GraphView, stored: set[str], name: str) -> None:
    """Fill in producers and captures and sort the nodes.

    Raises ModelError for a value made twice, a cycle, or a value that exists nowhere.
    """
    for node in view.nodes:
        for output in node.outputs:
            if not output:
                continue
            other = view.producers.get(output)
            if other is not None:
                raise ModelError(
                    f"{name}: the value {output!r} is produced twice, by {other.label} and "
                    f"{node.label}"
                )
            view.producers[output] = node
    reads = {node.index: _captures(node.proto) for node in view.nodes if has_bodies(node.proto)}
    for index, names in reads.items():
        for value in names:
            if value in view.producers or value in view.inputs or value in stored:
                view.captured.setdefault(value, []).append(view.nodes[index])
    _check_reads(view, stored, reads, name)
    if not _in_order(view, reads):
        view.nodes = _sorted(view, reads, name)
        view.model.note("warning", "the nodes are not in topological order; sorted for this report")


def _check_reads(
    view: GraphView, stored: set[str], reads: dict[int, dict[str, None]], name: str
) -> None:
    here = set(view.producers) | set(view.inputs) | stored
    for node in view.nodes:
        for value in (*node.inputs, *reads.get(node.index, ())):
            if value and value not in here and not _outside(view, value):
                raise ModelError(
                    f"{name}: node {node.label} reads the value {value!r}, which exists nowhere"
                )
    for value in view.outputs:
        if value not in here and not _outside(view, value):
            raise ModelError(f"{name}: the graph returns {value!r}, which exists nowhere")


def _outside(view: GraphView, value: str) -> bool:
    outer = view.parent
    while outer is not None:
        if value in outer.producers or value in outer.inputs or value in outer.types:
            return True
        if value in outer.constants:
            return True
        outer = outer.parent
    return False


def _captures(proto: onnx.NodeProto) -> dict[str, None]:
    """Names that a node's bodies read from outside, in reading order."""
    found: dict[str, None] = {}
    for _, body in bodies(proto):
        inner = {i.name for i in body.input} | {t.name for t in body.initializer}
        inner |= {t.values.name for t in body.sparse_initializer}
        for node in body.node:
            inner.update(node.output)
        wanted: list[str] = []
        for node in body.node:
            wanted.extend(node.input)
            if has_bodies(node):
                wanted.extend(_captures(node))
        wanted.extend(o.name for o in body.output)
        found.update((value, None) for value in wanted if value and value not in inner)
    return found


def _in_order(view: GraphView, reads: dict[int, dict[str, None]]) -> bool:
    made: set[str] = set()
    producers = view.producers
    for node in view.nodes:
        for value in node.inputs:
            if value in producers and value not in made:
                return False
        for value in reads.get(node.index, ()):
            if value in producers and value not in made:
                return False
        made.update(node.outputs)
    return True


def _sorted(view: GraphView, reads: dict[int, dict[str, None]], name: str) -> tuple[Node, ...]:
    """Depth-first order that keeps the file's order where it can."""
    done: dict[int, bool] = {}
    result: list[Node] = []
    for start in view.nodes:
        stack = [(start, iter((*start.inputs, *reads.get(start.index, ()))))]
        if start.index in done:
            continue
        done[start.index] = False
        while stack:
            node, rest = stack[-1]
            for value in rest:
                needed = view.producers.get(value)
                if needed is None or done.get(needed.index):
                    continue
                if needed.index in done:
                    raise ModelError(
                        f"{name}: the nodes form a cycle: {node.label} needs {value!r} of "
                        f"{needed.label}, which needs {node.label}"
                    )
                done[needed.index] = False
                stack.append((needed, iter((*needed.inputs, *reads.get(needed.index, ())))))
                break
            else:
                done[node.index] = True
                result.append(node)
                stack.pop()
    return tuple(result)
