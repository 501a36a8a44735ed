"""``no-rule``: adjacent compute nodes about which no rule has anything to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fusectl.decide import Run
from fusectl.graph.overlay import Group
from fusectl.graph.view import GraphView, Node
from fusectl.report.types import Edge, NodeRef, Uncovered
from fusectl.tables.operators import Operators


def uncovered(
    runs: Iterable[Run], operators: Operators, node: Callable[[Node, GraphView], NodeRef]
) -> tuple[Uncovered, ...]:
    """Return the pairs of operators whose edges no decision concerns, the most frequent first."""
    pairs: dict[tuple[str, str], list[Edge]] = {}
    for run in runs:
        told = {(r.candidate.value, id(r.candidate.consumer.node)) for r in run.rulings}
        told |= {(v, id(n)) for r in run.rulings for v in r.swallows for n in r.nodes}
        for group in run.overlay.groups:
            if not group.alive:
                continue
            for value in group.outputs:
                for user, _ in run.overlay.users(value):
                    if (value, id(user.last)) in told or _moves(operators, group, user):
                        continue
                    ends = node(group.last, run.view), node(user.last, run.view)
                    pairs.setdefault((group.op, user.op), []).append(Edge(value, *ends))
    ordered = sorted(pairs.items(), key=lambda p: (-len(p[1]), p[0]))
    return tuple(Uncovered(a, b, len(edges), tuple(edges)) for (a, b), edges in ordered)


def _moves(operators: Operators, *groups: Group) -> bool:
    """Tell whether one of the nodes only moves or recodes data: nothing there computes."""
    return any(
        operators.kind(g.op) == "move" or operators.barrier(g.op) in ("requantize", "cast")
        for g in groups
    )
