"""Decisions laid over measured edges: the one way to tell whether they agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fusectl.audit.work import Measured
from fusectl.report.types import Decision, NodeRef, Report

LEGALITY = frozenset({"adjacency", "users", "pattern", "numerics"})
"""Classes of reasons that make a fusion another function, on any machine."""

Scope = tuple[tuple[str, str], ...]
Key = tuple[Scope, str, str]
"""Scope, value, and the consumer's first output."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A measured edge and the decision about it, if there is one.

    ``illegal``: the compiler fuses what our legality checks, and nothing but they, prove wrong.
    """

    edge: Measured
    predicted: bool
    illegal: bool
    decision: Decision | None

    @property
    def fused(self) -> bool:
        """Whether the compiler fuses the edge."""
        return self.edge.fate == "fused"

    @property
    def scored(self) -> bool:
        """Whether the edge counts: seen to be fused or kept, and not mere data movement."""
        return self.edge.fate in ("fused", "kept") and not self.edge.moves


def lay(report: Report, edges: Iterable[Measured]) -> Iterator[Compared]:
    """Lay the decisions of a report over measured edges of the same model.

    An edge is predicted *fused* where an accepted decision swallows its value and holds its
    consumer. A node that was eliminated first is where its neighbours are: its edges are fused
    where a decision swallows what it passes on and holds one of its readers.
    """
    edges = tuple(edges)
    accepted, refused = _by_edge(report)
    accepted = {**_through(report, edges, accepted), **accepted}
    read = {(e.scope, e.value) for e in edges if e.fate == "kept"}
    for edge in edges:
        key = (edge.scope, edge.value, edge.consumer.output)
        decision = accepted.get(key)
        if decision is not None:
            yield Compared(edge, True, False, decision)
            continue
        found = refused.get(key, [])
        wrong: list[Decision] = []
        if edge.fate == "fused":
            wrong = [d for d in found if _proven_wrong(d, (edge.scope, edge.value) in read)]
        # Of several decisions about an edge, one that is proven right tells the most.
        yield Compared(edge, False, bool(wrong), next(iter((*wrong, *found)), None))


def _by_edge(report: Report) -> tuple[dict[Key, Decision], dict[Key, list[Decision]]]:
    accepted: dict[Key, Decision] = {}
    refused: dict[Key, list[Decision]] = {}
    for decision in report.decisions:
        if decision.verdict == "fuse":
            for key in _keys(decision, decision.swallows):
                accepted[key] = decision
        else:
            for key in _keys(decision, (decision.edge.value, *decision.swallows)):
                refused.setdefault(key, []).append(decision)
    return accepted, refused


def _through(
    report: Report, edges: Iterable[Measured], accepted: Mapping[Key, Decision]
) -> dict[Key, Decision]:
    """Return the decisions about edges into and out of eliminated nodes."""
    gone = {(_scope(e.node), e.node.output) for e in report.eliminated}
    source: dict[tuple[Scope, str], str] = {}
    for edge in edges:
        if (edge.scope, edge.consumer.output) in gone:
            source.setdefault((edge.scope, edge.consumer.output), edge.value)
    found: dict[Key, Decision] = {}
    for edge in edges:
        value, steps = edge.value, list[tuple[str, str]]()
        while (edge.scope, value) in source:
            steps.append((source[edge.scope, value], value))
            value = source[edge.scope, value]
        decision = accepted.get((edge.scope, value, edge.consumer.output)) if steps else None
        if decision is not None:
            found[edge.scope, edge.value, edge.consumer.output] = decision
            found.update({(edge.scope, before, after): decision for before, after in steps})
    return found


def _keys(decision: Decision, values: Iterable[str]) -> Iterator[Key]:
    for value in values:
        for node in decision.nodes:
            yield _scope(node), value, node.output


def _scope(node: NodeRef) -> Scope:
    return tuple((s.node, s.attr) if s.node else (s.function, s.call) for s in node.graph)


def _proven_wrong(decision: Decision, read: bool) -> bool:
    """Tell whether a fusion is certainly another function.

    Barriers and near misses speak of other edges, and what is unknown proves nothing. Where
    all users of a value are fused, the compiler has made a larger group than the rule's.
    """
    if decision.between or decision.missing:
        return False
    blockers = decision.blockers
    if not read and any(f.reason == "multi-user" for f in blockers):
        return False
    return all(f.status == "fail" for f in blockers) and {f.group for f in blockers} <= LEGALITY
