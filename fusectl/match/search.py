"""Patterns of several nodes: whole matches, and the nearest misses where there is none."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from fusectl.graph.overlay import Group, Overlay
from fusectl.match.candidate import Candidate, Miss, Role
from fusectl.match.whole import whole_matches
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import Pattern, PatternNode
from fusectl.tables.rules import Rule
from fusectl.tables.targets import Target

_TRIES = 300
"""Assignments tried around one anchor; graphs of equal operators could otherwise explode."""
_COMMON = frozenset(("Add", "Sub", "Mul", "Div", "MatMul", "Cast", "Gather", "Slice", "Concat"))
"""Operators that stand everywhere: of equally rare ones, another tells more."""
_CROWD = 16
"""A value with more readers tells nothing about the neighbourhood."""


@dataclass(slots=True)
class _State:
    roles: list[Role | None]
    bound: dict[str, str]

    def copy(self) -> _State:
        return _State(list(self.roles), dict(self.bound))

    @property
    def matched(self) -> int:
        return sum(r is not None for r in self.roles)


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
            state = _State(list(roles), bound)
            candidate = _candidate(rule, pattern, target, overlay, operators, state)
            if candidate is not None:
                yield candidate


def find_near(
    rule: Rule,
    pattern: Pattern,
    target: Target,
    overlay: Overlay,
    operators: Operators,
    taken: Container[int],
) -> Iterator[Candidate]:
    """Yield near misses: the pattern's rarest operator, among those that are there, matched.

    Nodes in ``taken`` (by identity) belong to whole matches, and nothing is missed there.
    """
    counts = [sum(map(overlay.plain, node.ops)) for node in pattern.nodes]
    present = [i for i, n in enumerate(counts) if n]
    if 2 * len(present) < len(pattern.nodes):
        return
    common = [not n.ops.isdisjoint(_COMMON) for n in pattern.nodes]
    anchor = min(present, key=lambda i: (counts[i], common[i], i))
    for group in overlay.of_op(pattern.nodes[anchor].ops):
        if group.fused or id(group.last) in taken:
            continue
        if not _plausible(pattern, overlay, group):
            continue
        best = _Search(pattern, overlay, operators).run(anchor, Role(group, group.last))
        found = _candidate(rule, pattern, target, overlay, operators, best)
        if found is not None and found.missing:
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


def _plausible(pattern: Pattern, overlay: Overlay, start: Group) -> bool:
    """Bound from above how much of a pattern can match: its operators found around the anchor."""
    wanted = [n.ops for n in pattern.nodes]
    needed = max((len(wanted) + 1) // 2, 2 if _quantised(pattern) else 3)
    seen = {id(start)}
    frontier = [start]
    for _ in range(len(wanted)):
        following = []
        for group in frontier:
            open_ops = next((ops for ops in wanted if group.op in ops), None)
            if open_ops is None:
                continue
            wanted.remove(open_ops)
            if len(pattern.nodes) - len(wanted) >= needed:
                return True
            for near in _neighbours(overlay, group):
                if id(near) not in seen:
                    seen.add(id(near))
                    following.append(near)
        frontier = following
    return False


def _neighbours(overlay: Overlay, group: Group) -> Iterator[Group]:
    for value in group.inputs:
        maker = overlay.producers.get(value)
        if maker is not None:
            yield maker
        users = overlay.users(value)
        if overlay.readers(value) <= _CROWD:
            yield from (g for g, _ in users)
    for value in group.outputs:
        users = overlay.users(value)
        if len(users) <= _CROWD:
            yield from (g for g, _ in users)


class _Search:
    """Depth-first assignment of pattern nodes to graph nodes, remembering the best partial one."""

    def __init__(self, pattern: Pattern, overlay: Overlay, operators: Operators) -> None:
        self.pattern = pattern
        self.overlay = overlay
        self.operators = operators
        self.tries = 0
        self.best = _State([None] * len(pattern.nodes), {})

    def run(self, anchor: int, role: Role) -> _State:
        for state in self._assign(_State([None] * len(self.pattern.nodes), {}), anchor, role):
            if self._grow(state):
                break
        return self.best

    def _grow(self, state: _State) -> bool:
        """Extend a state until complete; True when the whole pattern matched."""
        self.tries += 1
        if self._rank(state) > self._rank(self.best):
            self.best = state
        if state.matched == len(self.pattern.nodes) and self._facts(state) == self._all_facts():
            return True
        if self.tries > _TRIES:
            return False
        step = self._next(state)
        if step is None:
            return False
        index, players = step
        for role in players:
            for grown in self._assign(state, index, role):
                if self._grow(grown):
                    return True
        return False

    def _rank(self, state: _State) -> tuple[int, int]:
        return state.matched, self._facts(state)

    def _all_facts(self) -> int:
        return sum(1 for f in self.pattern.where.values() if f.const is not None)

    def _facts(self, state: _State) -> int:
        """Count the pattern's constants that are bound to constants of the right value."""
        good = 0
        for name, fact in self.pattern.where.items():
            if fact.const is None or name not in state.bound:
                continue
            value = state.bound[name]
            if not self.overlay.is_constant(value):
                continue
            wanted = fact.numbers
            if wanted is not None and len(wanted) == 1:
                scalar = self.overlay.scalar(value)
                slack = fact.abs + fact.rel * abs(wanted[0])
                if scalar is None or abs(scalar - wanted[0]) > slack:
                    continue
            good += 1
        return good

    def _next(self, state: _State) -> tuple[int, list[Role]] | None:
        """Choose an open node that touches a bound value, with what could play it."""
        options: list[tuple[int, int, list[Role]]] = []
        for index, node in enumerate(self.pattern.nodes):
            if state.roles[index] is not None:
                continue
            players = self._reach(state, node)
            if players:
                options.append((len(players), index, players))
        if not options:
            return None
        _, index, players = min(options, key=lambda o: (o[0], o[1]))
        return index, players

    def _reach(self, state: _State, node: PatternNode) -> list[Role]:
        taken = {(id(r.group), id(r.node)) for r in state.roles if r is not None}
        found: dict[tuple[int, int], Role] = {}
        for output in node.outputs:
            if output in state.bound:
                group = self.overlay.producers.get(state.bound[output])
                if group is not None:
                    self._offer(found, taken, node, group)
        if not found:
            for name in node.inputs:
                if name in state.bound:
                    for group, _ in self.overlay.users(state.bound[name]):
                        self._offer(found, taken, node, group)
        return list(found.values())

    def _offer(
        self,
        found: dict[tuple[int, int], Role],
        taken: set[tuple[int, int]],
        node: PatternNode,
        group: Group,
    ) -> None:
        key = (id(group), id(group.last))
        if group.op in node.ops and not group.fused and key not in taken:
            found[key] = Role(group, group.last)

    def _assign(self, state: _State, index: int, role: Role) -> Iterator[_State]:
        """Yield the states in which ``role`` plays a node, one per operand order that fits."""
        node = self.pattern.nodes[index]
        if not node.takes(role.op, role.inputs):
            return
        orders = [role.inputs]
        if node.commutative and len(role.inputs) == 2:
            orders.append((role.inputs[1], role.inputs[0]))
        for inputs in orders:
            grown = state.copy()
            grown.roles[index] = role
            if self._bind(grown, node, inputs, role.outputs):
                yield grown

    def _bind(
        self, state: _State, node: PatternNode, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> bool:
        pairs = [(name, inputs[i] if i < len(inputs) else "") for i, name in enumerate(node.inputs)]
        pairs += [(n, outputs[i] if i < len(outputs) else "") for i, n in enumerate(node.outputs)]
        for name, actual in pairs:
            if not name:
                continue
            if not actual:
                fact = self.pattern.where.get(name)
                if name in node.inputs and not (fact and (fact.optional or fact.absent)):
                    return False
                continue
            fact = self.pattern.where.get(name)
            if fact is not None and fact.absent:
                return False
            known = state.bound.setdefault(name, actual)
            if known != actual:
                return False
        return True


def _candidate(
    rule: Rule,
    pattern: Pattern,
    target: Target,
    overlay: Overlay,
    operators: Operators,
    state: _State,
) -> Candidate | None:
    """Make a candidate of a state, or None where it is too far from the pattern."""
    if (
        state.matched < (2 if _quantised(pattern) else 3)
        or 2 * state.matched < len(pattern.nodes)
        or pattern.edge not in state.bound
    ):
        return None
    if _arbitrary(pattern, state):
        return None
    if state.matched < len(pattern.nodes) and _quantised(pattern) and not _dequantised(state):
        return None  # nothing here is quantised but a neighbour
    held = sum(r is not None and r.held for r in state.roles)
    if 2 * held >= state.matched or (held and state.matched < len(pattern.nodes)):
        return None  # it lies inside what other decisions made
    value = state.bound[pattern.edge]
    producer, consumer = _ends(pattern, overlay, state, value)
    if producer is None or consumer is None:
        return None
    missing = tuple(
        _miss(node, overlay, state)
        for node, role in zip(pattern.nodes, state.roles, strict=True)
        if role is None
    )
    slot = consumer.inputs.index(value) if value in consumer.inputs else pattern.slot
    return Candidate(
        rule,
        pattern,
        target,
        target.path(rule.id),
        overlay,
        operators,
        tuple(state.roles),
        state.bound,
        value,
        producer,
        consumer,
        slot,
        missing=missing,
    )


def _arbitrary(pattern: Pattern, state: _State) -> bool:
    """Tell whether a near miss rests on arithmetic alone, of which there is some everywhere."""
    if len(pattern.nodes) - state.matched <= 1:
        return False
    pairs = list(zip(pattern.nodes, state.roles, strict=True))
    telling = [r for n, r in pairs if n.ops.isdisjoint(_COMMON)]
    return bool(telling) and all(r is None for r in telling)


def _dequantised(state: _State) -> bool:
    return any(r is not None and "DequantizeLinear" in r.op for r in state.roles)


def _quantised(pattern: Pattern) -> bool:
    """Tell whether a pattern has a quantiser: then two of its nodes already say what is meant."""
    return any(not n.ops.isdisjoint(("QuantizeLinear", "DequantizeLinear")) for n in pattern.nodes)


def _ends(
    pattern: Pattern, overlay: Overlay, state: _State, value: str
) -> tuple[Role | None, Role | None]:
    """The edge's ends; an end that did not match is whatever stands there instead."""
    producer, consumer = state.roles[pattern.producer], state.roles[pattern.consumer]
    if producer is None and value in overlay.producers:
        group = overlay.producers[value]
        producer = Role(group, group.last)
    if consumer is None:
        group = next((g for g, _ in overlay.users(value)), None)  # type: ignore[assignment]
        consumer = Role(group, group.last) if group is not None else None
    return producer, consumer


def _miss(node: PatternNode, overlay: Overlay, state: _State) -> Miss:
    """Say what stands where an open node of the pattern was looked for."""
    for output in node.outputs:
        group = overlay.producers.get(state.bound.get(output, ""))
        if group is not None:
            return Miss(output, node.role, group.last.op, group)
        if output in state.bound:
            return Miss(output, node.role, "a graph input or constant")
    for name in node.inputs:
        users = overlay.users(state.bound.get(name, ""))
        others = [g for g, _ in users if not any(r and r.group is g for r in state.roles)]
        if others:
            return Miss(node.outputs[0], node.role, others[0].last.op, others[0])
    return Miss(node.outputs[0], node.role, "nothing")
