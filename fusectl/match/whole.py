"""Whole matches of patterns of several nodes, around an anchor, along a plan made once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from fusectl.graph.overlay import Group, Overlay
from fusectl.match.candidate import Role
from fusectl.tables.patterns import Pattern, PatternNode

_MOST = 8
"""Whole matches around one anchor that are judged."""


@dataclass(frozen=True, slots=True)
class Step:
    """Which node comes next, and the bound value that leads to it: it makes it, or reads it."""

    node: int
    value: str
    makes: bool


_Names = tuple[tuple[str, ...], tuple[str, ...]]
"""A node's inputs and outputs, as the pattern calls them."""


@lru_cache(maxsize=4096)
def _plan(anchor: int, nodes: tuple[_Names, ...]) -> tuple[Step, ...]:
    """Order the nodes so that each touches one before it; makers before readers."""
    bound = set(nodes[anchor][0]) | set(nodes[anchor][1])
    left = [i for i in range(len(nodes)) if i != anchor]
    plan: list[Step] = []
    while left:
        step = next(
            (Step(i, o, True) for i in left for o in nodes[i][1] if o and o in bound),
            None,
        ) or next((Step(i, v, False) for i in left for v in nodes[i][0] if v in bound), None)
        if step is None:
            return ()
        plan.append(step)
        left.remove(step.node)
        bound.update(nodes[step.node][0])
        bound.update(nodes[step.node][1])
    return tuple(plan)


def whole_matches(
    pattern: Pattern, overlay: Overlay, anchor: int, role: Role
) -> Iterator[tuple[list[Role], dict[str, str]]]:
    """Yield roles and bound values of the whole matches around an anchor, a few at most.

    There is more than one where operands of a commutative node are of the same kind.
    """
    shape = tuple((n.inputs, n.outputs) for n in pattern.nodes)
    plan = _plan(anchor, shape)
    if not plan and len(pattern.nodes) > 1:
        return
    matcher = _Matcher(pattern, overlay, plan)
    for _ in islice(matcher.play(anchor, role, 0), _MOST):
        roles = [matcher.roles[i] for i in range(len(pattern.nodes))]
        yield roles, dict(matcher.bound)


class _Matcher:
    def __init__(self, pattern: Pattern, overlay: Overlay, plan: tuple[Step, ...]) -> None:
        self.pattern = pattern
        self.overlay = overlay
        self.plan = plan
        self.bound: dict[str, str] = {}
        self.roles: dict[int, Role] = {}

    def play(self, index: int, role: Role, done: int) -> Iterator[None]:
        """Let ``role`` play a node and go on; yields while everything is bound, then undoes."""
        node = self.pattern.nodes[index]
        if not node.takes(role.op, role.inputs):
            return
        if any(r.node is role.node for r in self.roles.values()):
            return
        for inputs in self._orders(node, role.inputs):
            new = self._bind(node, inputs, role.outputs)
            if new is None:
                continue
            self.roles[index] = role
            yield from self._go_on(done)
            del self.roles[index]
            for name in new:
                del self.bound[name]

    def _go_on(self, done: int) -> Iterator[None]:
        if done == len(self.plan):
            yield None
            return
        step = self.plan[done]
        node = self.pattern.nodes[step.node]
        value = self.bound[step.value]
        for role in self._players(step, node, value):
            yield from self.play(step.node, role, done + 1)

    def _players(self, step: Step, node: PatternNode, value: str) -> Iterator[Role]:
        if step.makes:
            group = self.overlay.producers.get(value)
            groups = [group] if group is not None else []
        else:
            groups = list(dict.fromkeys(g for g, _ in self.overlay.users(value)))
        for group in groups:
            yield from _fitting(group, node)

    def _orders(self, node: PatternNode, inputs: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Operand orders to try; constants where the pattern wants constants come first."""
        if not node.commutative or len(inputs) != 2:
            return [inputs]
        turned = (inputs[1], inputs[0])
        fact = self.pattern.where.get(node.inputs[0])
        other = self.pattern.where.get(node.inputs[1])
        first = bool(fact and fact.const is not None)
        second = bool(other and other.const is not None)
        if first == second:
            return [inputs, turned]
        left, right = (self.overlay.is_constant(v) for v in inputs)
        best = inputs if left == first or right == second else turned
        free = not any(name in self.bound for name in node.inputs)
        return [best] if left != right or free else [best, turned if best is inputs else inputs]

    def _bind(
        self, node: PatternNode, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> list[str] | None:
        """Bind a node's values; returns what is new, or None where something contradicts."""
        new: list[str] = []
        bound, where = self.bound, self.pattern.where
        for names, actuals, reads in ((node.inputs, inputs, True), (node.outputs, outputs, False)):
            for place, name in enumerate(names):
                if not name:
                    continue
                actual = actuals[place] if place < len(actuals) else ""
                fact = where.get(name)
                if not actual:
                    # What another node of the pattern makes or reads has to be there.
                    spare = not reads or (fact is not None and (fact.optional or fact.absent))
                    fine = spare and name not in self.pattern.inner
                else:
                    fine = fact is None or not fact.absent
                    if fine and name not in bound:
                        bound[name] = actual
                        new.append(name)
                    else:
                        fine = fine and bound[name] == actual
                if not fine:
                    for undone in new:
                        del bound[undone]
                    return None
        return new


def _fitting(group: Group, node: PatternNode) -> Iterator[Role]:
    """The ways in which a group can play a node: as a whole, or by an original inside it."""
    if group.op in node.ops:
        yield Role(group, group.last)
    elif group.decision:
        for member in group.members:
            if member.op in node.ops:
                yield Role(group, member, held=True)
