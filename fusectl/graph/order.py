"""Producers, uses by bodies and topological order of a scope; refuses what is no graph."""

from __future__ import annotations

import onnx

from fusectl.errors import ModelError
from fusectl.graph.shapes import bodies, has_bodies
from fusectl.graph.view import GraphView


def sort(graph: onnx.GraphProto, name: str) -> bool:
    """Bring the nodes of a graph and of its bodies into topological order; True where one moved.

    Raises ModelError for a cycle.
    """
    moved = False
    for node in graph.node:
        if has_bodies(node):
            for _, body in bodies(node):
                moved = sort(body, name) or moved
    makers = {output: i for i, node in enumerate(graph.node) for output in node.output if output}
    needs = [[makers[v] for v in _reads(node) if v in makers] for node in graph.node]
    if all(n < i for i, needed in enumerate(needs) for n in needed):
        return moved
    order = _depth_first(graph, needs, name)
    nodes = [onnx.NodeProto.FromString(graph.node[i].SerializeToString()) for i in order]
    del graph.node[:]
    graph.node.extend(nodes)
    return True


def _reads(node: onnx.NodeProto) -> list[str]:
    reads = list(node.input)
    if has_bodies(node):
        reads.extend(captures(node))
    return reads


def _depth_first(graph: onnx.GraphProto, needs: list[list[int]], name: str) -> list[int]:
    """Order that keeps the file's where it can."""
    done: dict[int, bool] = {}
    result: list[int] = []
    for start in range(len(needs)):
        if start in done:
            continue
        done[start] = False
        stack = [(start, iter(needs[start]))]
        while stack:
            index, rest = stack[-1]
            for needed in rest:
                if done.get(needed):
                    continue
                if needed in done:
                    raise ModelError(_cycle(graph, index, needed, name))
                done[needed] = False
                stack.append((needed, iter(needs[needed])))
                break
            else:
                done[index] = True
                result.append(index)
                stack.pop()
    return result


def _cycle(graph: onnx.GraphProto, index: int, needed: int, name: str) -> str:
    node, other = graph.node[index], graph.node[needed]
    value = next((v for v in node.input if v in other.output), "")
    label, source = node.name or node.output[0], other.name or other.output[0]
    return (
        f"{name}: the nodes form a cycle: {label} needs {value!r} of {source}, which needs {label}"
    )


def arrange(view: GraphView, stored: set[str], name: str) -> None:
    """Fill in producers and captures.

    Raises ModelError for a value that is made twice or exists nowhere.
    """
    given = stored.union(view.inputs)
    for node in view.nodes:
        for output in node.outputs:
            if not output:
                continue
            if output in given:
                raise ModelError(
                    f"{name}: the value {output!r} is there twice: {node.label} makes what is "
                    f"{'stored' if output in stored else 'an input'}"
                )
            other = view.producers.get(output)
            if other is not None:
                raise ModelError(
                    f"{name}: the value {output!r} is produced twice, by {other.label} and "
                    f"{node.label}"
                )
            view.producers[output] = node
    inner = {node.index: captures(node.proto) for node in view.nodes if has_bodies(node.proto)}
    here = set(view.producers) | set(view.inputs) | stored
    for index, names in inner.items():
        for value in names:
            if value in here:
                view.captured.setdefault(value, []).append(view.nodes[index])
    _check_reads(view, here, inner, name)


def _check_reads(
    view: GraphView, here: set[str], inner: dict[int, dict[str, None]], name: str
) -> None:
    for node in view.nodes:
        for value in (*node.inputs, *inner.get(node.index, ())):
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


def captures(proto: onnx.NodeProto) -> dict[str, None]:
    """Return the names that a node's bodies read from outside, in reading order."""
    found: dict[str, None] = {}
    for _, body in bodies(proto):
        inner = {i.name for i in body.input} | {t.name for t in body.initializer}
        inner |= {t.values.name for t in body.sparse_initializer}
        for node in body.node:
            inner.update(node.output)
        wanted: list[str] = []
        for node in body.node:
            wanted.extend(_reads(node))
        wanted.extend(o.name for o in body.output)
        found.update((value, None) for value in wanted if value and value not in inner)
    return found
