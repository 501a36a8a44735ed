"""Patterns of several nodes: whole matches, and the nearest misses where there is none."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence, Set

from fusectl.graph.overlay import Overlay
from fusectl.match.candidate import Candidate, Miss, Role
from fusectl.match.near import near_misses
from fusectl.match.partial import Near, is_quantised
from fusectl.match.whole import whole_matches
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import Pattern
from fusectl.tables.rules import Rule
from fusectl.tables.targets import Target


def find_whole(
    rule: Rule,
    pattern: Pattern,
    target: Target,
    overlay: Overlay,
    operators: Operators,
    taken: Container[int],
) -> Iterator[Candidate]:
    """Yield the whole matches of a pattern, each around its rarest operator in this graph.

    Anchors in ``taken`` (by identity) belong to a better match already.
    """
    anchor = _anchor(pattern, overlay)
    if anchor is None:
        return
    for group in overlay.of_op(pattern.nodes[anchor].ops):
        if id(group.last) in taken:
            continue
        for roles, bound in whole_matches(pattern, overlay, anchor, Role(group, group.last)):
            if id(group.last) in taken:
                break  # the one before was what was meant
            candidate = _candidate(rule, pattern, target, overlay, operators, roles, bound)
            if candidate is not None:
                yield candidate


def find_near(
    rule: Rule,
    patterns: Sequence[Pattern],
    target: Target,
    overlay: Overlay,
    operators: Operators,
    taken: Set[int],
) -> Iterator[Candidate]:
    """Yield the nearest miss for each place, over all spellings of a rule.

    Nodes in ``taken`` (by identity) belong to whole matches, and nothing is missed there.
    """
    told = set(taken)
    for near in near_misses(patterns, overlay, operators, taken):
        mine = {id(r.node) for r in near.roles if r is not None}
        if mine & told:
            continue
        found = _missed(rule, target, overlay, operators, near)
        if found is not None:
            told |= mine
            yield found


def _anchor(pattern: Pattern, overlay: Overlay) -> int | None:
    """The rarest node of a pattern, or None where one of its operators is absent."""
    counts = []
    for node in pattern.nodes:
        count = sum(overlay.count(op) for op in node.ops)
        if not count and not any(overlay.held(op) for op in node.ops):
            return None
        counts.append(count or len(overlay.groups))
    return min(range(len(counts)), key=lambda i: (counts[i], i))


def _candidate(
    rule: Rule,
    pattern: Pattern,
    target: Target,
    overlay: Overlay,
    operators: Operators,
    roles: Sequence[Role],
    bound: dict[str, str],
) -> Candidate | None:
    """Make a candidate of a whole match, or None where it lies inside what others made."""
    held = sum(r.held for r in roles)
    if 2 * held >= len(roles):
        return None
    producer, consumer = roles[pattern.producer], roles[pattern.consumer]
    value = bound[pattern.edge]
    path = target.path(rule.id)
    slot = consumer.inputs.index(value) if value in consumer.inputs else pattern.slot
    return Candidate(
        rule, pattern, target, path, overlay, operators, tuple(roles), bound,
        value, producer, consumer, slot,
    )  # fmt: skip


def _missed(
    rule: Rule, target: Target, overlay: Overlay, operators: Operators, near: Near
) -> Candidate | None:
    """Make a candidate of a near miss, or None where it tells nothing."""
    pattern = near.pattern
    if is_quantised(pattern) and not _dequantised(near.roles):
        return None  # nothing here is quantised but a neighbour
    value = near.bound[pattern.edge]
    producer, consumer = _ends(overlay, near, value)
    if producer is None or consumer is None:
        return None
    missing = tuple(
        _miss(index, overlay, near) for index, role in enumerate(near.roles) if role is None
    )
    slot = consumer.inputs.index(value) if value in consumer.inputs else pattern.slot
    path = target.path(rule.id)
    return Candidate(
        rule, pattern, target, path, overlay, operators, near.roles, near.bound,
        value, producer, consumer, slot, missing=missing,
    )  # fmt: skip


def _dequantised(roles: Sequence[Role | None]) -> bool:
    return any(r is not None and "DequantizeLinear" in r.op for r in roles)


def _ends(overlay: Overlay, near: Near, value: str) -> tuple[Role | None, Role | None]:
    """The edge's ends; an end that did not match is whatever stands there instead."""
    pattern = near.pattern
    producer, consumer = near.roles[pattern.producer], near.roles[pattern.consumer]
    if producer is None and value in overlay.producers:
        group = overlay.producers[value]
        producer = Role(group, group.last)
    if consumer is None:
        first = next((g for g, _ in overlay.users(value)), None)
        instead = near.stand_ins.get(pattern.consumer, first)
        consumer = Role(instead, instead.last) if instead is not None else None
    return producer, consumer


def _miss(index: int, overlay: Overlay, near: Near) -> Miss:
    """Say what stands where an open node of the pattern was looked for."""
    node, group = near.pattern.nodes[index], near.stand_ins.get(index)
    role = next(o for o in node.outputs if o)
    if group is None:
        bound = (near.bound.get(o) for o in node.outputs)
        stored = any(v is not None and v not in overlay.producers for v in bound)
        return Miss(role, node.role, "a graph input or constant" if stored else "nothing")
    behind = near.behind.get(index)
    if behind is not None:
        place = "in front of" if group.order < behind.order else "behind"
        seen = f"{group.last.op}, {place} {behind.label} ({behind.op})"
        return Miss(role, node.role, seen, group, beside=True)
    if group.last.op not in node.ops:
        return Miss(role, node.role, group.last.op, group)
    wanted = [near.bound.get(v, "another value") for v in node.inputs if v]
    named = " and ".join(wanted) if any(v in near.bound for v in node.inputs) else "other values"
    actual = " and ".join(v for v in group.inputs if v)
    return Miss(role, f"{node.role} of {named}", f"{group.last.op} of {actual}", group)
