"""Which of overlapping rulings stays, and in which order all are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fusectl.decide.judge import Ruling
from fusectl.match import Candidate


def own(found: Candidate) -> set[int]:
    """Return the nodes of a match, by identity."""
    return {id(r.node) for r in found.roles if r is not None}


def quality(ruling: Ruling) -> tuple[bool, int, bool, int, int]:
    """Order for overlapping candidates: accepted, then the largest spelling the path knows."""
    blockers = sum(o is not None and o.status != "pass" for _, o, _ in ruling.checked)
    found = ruling.candidate
    known = found.path.patterns if found.path else ()
    foreign = bool(known) and found.pattern.name not in known
    size = -len(found.pattern.nodes)
    return (not ruling.accepted, len(found.missing), foreign, size, blockers)


def _place(ruling: Ruling) -> tuple[int, int, int, str]:
    found = ruling.candidate
    return (found.producer.node.index, found.consumer.node.index, ruling.step, found.rule.id)


def settled(rulings: Iterable[Ruling]) -> list[Ruling]:
    """Drop what another decision has overtaken; the rest in the order of the graph.

    Where a rule only wanted a node of another group and some rule decides the edge itself, and
    where a near miss lies inside what another rule fused or matched as a whole, there is nothing
    left to explain.
    """
    rulings = list(rulings)
    swallowed = {v for r in rulings if r.accepted for v in r.swallows}
    decided = {_edge(r) for r in rulings if not _held(r)}
    covered = _covered(rulings)
    staying = [
        r
        for r in rulings
        if r.accepted
        or (
            not (_held(r) and _edge(r) in decided)
            and not (r.candidate.missing and r.candidate.value in swallowed)
            and id(r) not in covered
        )
    ]
    return sorted(staying, key=_place)


def _covered(rulings: list[Ruling]) -> set[int]:
    """Return the near misses (by identity) of which there is nothing left to explain.

    Those that lie mostly in the fusion of a pattern of several nodes, or all in one match or in a
    miss of which more is there.
    """
    misses = [r for r in rulings if r.candidate.missing]
    if not misses:
        return set()
    owned = [own(r.candidate) for r in misses]
    wanted: dict[int, list[set[int]]] = {}
    for nodes in owned:
        for node in nodes:
            wanted.setdefault(node, []).append(nodes)
    holders: dict[int, list[Ruling]] = {}
    for ruling in rulings:
        if not ruling.candidate.missing and ruling.candidate.path is not None:
            for node in wanted.keys() & map(id, ruling.nodes):
                holders.setdefault(node, []).append(ruling)
    covered = set()
    for miss, mine in zip(misses, owned, strict=True):
        counts = Counter(id(h) for n in mine for h in holders.get(n, ()))
        fused = {
            id(h)
            for n in mine
            for h in holders.get(n, ())
            if h.accepted and not h.candidate.rule.two_node
        }
        held = any(c == len(mine) or (i in fused and 2 * c > len(mine)) for i, c in counts.items())
        if held or any(mine < other for other in wanted[next(iter(mine))]):
            covered.add(id(miss))
    return covered


def _held(ruling: Ruling) -> bool:
    return any(r is not None and r.held for r in ruling.candidate.roles)


def _edge(ruling: Ruling) -> tuple[str, int]:
    return ruling.candidate.value, id(ruling.candidate.consumer.node)
