"""``no-rule``: adjacent compute nodes about which no rule has anything to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fusectl.decide import Run
from fusectl.graph.overlay import Group
from fusectl.graph.view import GraphView, Node
from fusectl.report.layers import Item, Layers
from fusectl.report.types import Edge, NodeRef, Uncovered
from fusectl.tables.operators import Operators

Pair = tuple[str, str]


def open_edges(
    runs: Iterable[Run], operators: Operators, node: Callable[[Node, GraphView], NodeRef]
) -> Iterator[tuple[Pair, Item[Edge]]]:
    """Yield the edges that no decision concerns, with their operators, in the graph's order."""
    for run in runs:
        found = _open(run, operators, node)
        yield from sorted(found, key=lambda e: (e[1].nodes, e[1].rest))


def _open(
    run: Run, operators: Operators, node: Callable[[Node, GraphView], NodeRef]
) -> Iterator[tuple[Pair, Item[Edge]]]:
    told = {(r.candidate.value, id(r.candidate.consumer.node)) for r in run.rulings}
    told |= {(v, id(n)) for r in run.rulings for v in r.swallows for n in r.nodes}
    for group in run.overlay.groups:
        if not group.alive:
            continue
        for slot, value in enumerate(group.outputs):
            for user, read in run.overlay.users(value):
                if (value, id(user.last)) in told or _moves(operators, group, user):
                    continue
                ends = group.last, user.last
                edge = Edge(value, node(ends[0], run.view), node(ends[1], run.view))
                numbers = ends[0].index, ends[1].index
                yield (group.op, user.op), Item(numbers[1], numbers, (slot, read), edge)


def uncovered(
    edges: Iterable[tuple[Pair, Item[Edge]]], layers: Layers | None
) -> tuple[Uncovered, ...]:
    """Sum up the edges by pair of operators, the most frequent first."""
    pairs: dict[Pair, list[Item[Edge]]] = {}
    for pair, item in edges:
        pairs.setdefault(pair, []).append(item)
    found: dict[Pair, tuple[Edge, ...]] = {}
    for pair, items in pairs.items():
        if layers is None:
            found[pair] = tuple(item.record for item in items)
        else:
            found[pair] = tuple([s.fill("") for s in layers.spread(items)])
    ordered = sorted(found.items(), key=lambda p: (-len(p[1]), p[0]))
    return tuple(Uncovered(a, b, len(every), every) for (a, b), every in ordered)


def _moves(operators: Operators, *groups: Group) -> bool:
    """Tell whether one of the nodes only moves or recodes data: nothing there computes."""
    return any(
        operators.kind(g.op) == "move" or operators.barrier(g.op) in ("requantize", "cast")
        for g in groups
    )
