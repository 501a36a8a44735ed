"""Assignment of graph nodes to the nodes of a pattern, of which some may be missing.

From the anchor the search goes along the values of the pattern. Where another operator stands than
the pattern has, or the right one reads another value, the node is missed and the search goes on
behind it: what stands in the gap is told, and what lies behind it is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fusectl.graph.overlay import Group, Overlay
from fusectl.match.candidate import Role
from fusectl.match.partial import CROWD, Near, Shape
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import PatternNode

_TRIES = 200
"""Assignments tried around one anchor; graphs of equal operators could otherwise explode."""
_BRANCHING = 2
"""Misses up to which every guess is followed on what stands there; then only the likeliest."""
_REACH = 2
"""Nodes that may stand between two of a pattern: a quantiser and its dequantiser."""
_PASSED = frozenset(("requantize", "cast", "layout"))


@dataclass(slots=True)
class Search:
    """Depth-first assignment of pattern nodes to graph nodes; remembers the best partial one.

    ``most`` is how much may be lacking for it to be worth telling.
    """

    shape: Shape
    overlay: Overlay
    operators: Operators
    most: int
    tries: int = 0
    best: Near | None = None
    roles: list[Role | None] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)
    stand_ins: dict[int, Group] = field(default_factory=dict)
    behind: dict[int, Group] = field(default_factory=dict)
    skipped: bool = False
    used: set[int] = field(default_factory=set)

    def run(self, anchor: int, role: Role) -> Near | None:
        """Return the nearest assignment in which ``role`` plays the anchor, if any is near."""
        nodes = self.shape.pattern.nodes
        self.roles = [None] * len(nodes)
        self._play(anchor, role, tuple(i for i in range(len(nodes)) if i != anchor), 0)
        return self.best

    def _play(self, index: int, role: Role, left: tuple[int, ...], missed: int) -> bool:
        """Let ``role`` play a node, in every order of its operands that fits; True if any did."""
        node = self.shape.pattern.nodes[index]
        fits = False
        if not node.takes(role.op, role.inputs):
            return False
        for inputs in self._orders(node, role.inputs):
            new = self._bind(node, inputs, role.outputs)
            if new is None:
                continue
            fits = True
            self.roles[index] = role
            self.used.add(id(role.group))
            self._go_on(left, missed)
            self.used.discard(id(role.group))
            self.roles[index] = None
            for name in new:
                del self.bound[name]
        return fits

    def _go_on(self, left: tuple[int, ...], missed: int) -> None:
        self.tries += 1
        if missed > self.most or self._far(missed) or self.tries > _TRIES:
            return
        step = self._next(left)
        if step is None:
            self._judge(missed + len(left))
            return
        index, groups, inner = step
        rest = tuple(i for i in left if i != index)
        ops = self.shape.pattern.nodes[index].ops
        played = False
        for group in groups:
            if group.op in ops and self._free(group):
                played = self._play(index, Role(group, group.last), rest, missed) or played
        if missed < self.most:
            others = [g for g in groups if id(g) not in self.used] if inner else []
            self._miss(index, others, rest, missed + 1)

    def _far(self, missed: int, wrong: int = 0) -> bool:
        """Tell whether too few nodes match; one that something stands beside may count."""
        matched = len(self.roles) - missed + bool(self.behind)
        return matched - wrong < self.shape.least

    def _free(self, group: Group) -> bool:
        return id(group) not in self.used and not group.fused

    def _next(self, left: tuple[int, ...]) -> tuple[int, list[Group], bool] | None:
        """Choose an open node that touches a bound value: the groups that make or read it.

        Makers first, of which there is one. Readers of a value that comes from outside of the
        pattern come last: anything may read that, and what does stands in no gap.
        """
        nodes, bound, inner = self.shape.pattern.nodes, self.bound, self.shape.pattern.inner
        for index in left:
            for output in nodes[index].outputs:
                if output in bound:
                    maker = self.overlay.producers.get(bound[output])
                    return index, [] if maker is None else [maker], True
        late = None
        for index in left:
            for name in nodes[index].inputs:
                if name in bound:
                    if name in inner:
                        return index, self._readers(bound[name]), True
                    late = late or (index, name)
        if late is None:
            return None
        return late[0], self._readers(bound[late[1]]), False

    def _readers(self, value: str) -> list[Group]:
        if self.overlay.readers(value) > CROWD:
            return []
        return list(dict.fromkeys(g for g, _ in self.overlay.users(value)))

    def _miss(self, index: int, groups: list[Group], left: tuple[int, ...], missed: int) -> None:
        """Leave a node out and go on behind what stands in its place, or without anything."""
        node = self.shape.pattern.nodes[index]
        first = missed <= _BRANCHING
        for group in groups if first else groups[:1]:
            self.stand_ins[index] = group
            self.used.add(id(group))
            self._pass(index, group, left, missed)
            for inputs in self._guesses(node, group)[: 2 if first else 1]:
                new = self._bind_loosely(node, inputs, group.outputs)
                self._go_on(left, missed)
                for name in new:
                    del self.bound[name]
            self.used.discard(id(group))
            del self.stand_ins[index]
        name = "" if self.skipped or not first else self._skip(node)
        if name:
            self.skipped = True
            self._go_on(left, missed)
            self.skipped = False
            del self.bound[name]
        elif not groups:
            self._go_on(left, missed)

    def _skip(self, node: PatternNode) -> str:
        """Bind a node's operand and its result to one value, as if it were left out."""
        where = self.shape.pattern.where
        source = next((v for v in node.inputs if v and v not in where), "")
        made = node.outputs[0]
        if not source or (source in self.bound) == (made in self.bound):
            return ""
        name, known = (made, source) if source in self.bound else (source, made)
        self.bound[name] = self.bound[known]
        return name

    def _pass(self, index: int, first: Group, left: tuple[int, ...], missed: int) -> None:
        """Go on behind a node that stands in front of the right one, or right after it."""
        node = self.shape.pattern.nodes[index]
        value = next((self.bound[o] for o in node.outputs if o in self.bound), None)
        made = value is not None
        if value is None:
            value = next(self.bound[v] for v in node.inputs if self.bound.get(v) in first.inputs)
        gap, reached = first, value
        for _ in range(_REACH):
            passed = self.operators.barrier(gap.op) in _PASSED or gap.op == "Expand"
            if not passed or not gap.inputs or not gap.outputs:
                return
            reached = gap.inputs[0] if made else gap.outputs[0]
            users = self.overlay.users(reached)
            beyond = self.overlay.producers.get(reached)
            if not made:
                beyond = users[0][0] if len(users) == 1 else None
            if beyond is None or id(beyond) in self.used:
                return
            if beyond.op in node.ops and self._free(beyond):
                break
            gap = beyond
        else:
            return
        inputs, outputs = (
            tuple(value if v == reached else v for v in vs)
            for vs in (beyond.inputs, beyond.outputs)
        )
        self.behind[index] = beyond
        self.used.add(id(beyond))
        for order in self._orders(node, inputs):
            new = self._bind(node, order, outputs)
            if new is not None:
                self._go_on(left, missed)
                for name in new:
                    del self.bound[name]
        self.used.discard(id(beyond))
        del self.behind[index]

    def _orders(self, node: PatternNode, inputs: tuple[str, ...]) -> list[tuple[str, ...]]:
        if not node.commutative or len(inputs) != 2 or inputs[0] == inputs[1]:
            return [inputs]
        turned = (inputs[1], inputs[0])
        # Constants where the pattern has constants, if that is clear.
        straight, crossed = self._at_odds(node, inputs), self._at_odds(node, turned)
        return [inputs, turned] if straight <= crossed else [turned, inputs]

    def _at_odds(self, node: PatternNode, inputs: Sequence[str]) -> int:
        """Count the operands that are other values than the pattern has there."""
        where, odds = self.shape.pattern.where, 0
        for name, actual in zip(node.inputs, inputs, strict=False):
            if name in self.bound:
                odds += self.bound[name] != actual
            elif name in where:
                odds += where[name].const is not None and not self.overlay.is_constant(actual)
            elif name in self.shape.pattern.inner:
                odds += actual not in self.overlay.producers
        return odds

    def _guesses(self, node: PatternNode, group: Group) -> list[tuple[str, ...]]:
        """Return how what stands in a gap may read what the pattern's node would."""
        inputs = group.inputs
        if self.operators.kind(group.op) == "move" and group.op != "Concat":
            inputs = inputs[:1]  # the others are shapes and places
        if len(node.inputs) != 2:
            return [inputs]
        if len(inputs) == 1:
            orders = [inputs, ("", inputs[0])]
        elif len(inputs) == 2 and node.commutative:
            orders = [inputs, (inputs[1], inputs[0])]
        else:
            return [inputs]
        odds = [self._at_odds(node, o) for o in orders]
        return [o for o, n in zip(orders, odds, strict=True) if n == min(odds)]

    def _bind(
        self, node: PatternNode, inputs: Sequence[str], outputs: Sequence[str]
    ) -> list[str] | None:
        """Bind a node's values; returns what is new, or None where something contradicts."""
        new: list[str] = []
        bound, where = self.bound, self.shape.pattern.where
        for names, actuals, reads in ((node.inputs, inputs, True), (node.outputs, outputs, False)):
            for place, name in enumerate(names):
                if not name:
                    continue
                actual = actuals[place] if place < len(actuals) else ""
                fact = where.get(name)
                if not actual:
                    fine = not reads or (fact is not None and (fact.optional or fact.absent))
                elif name in bound:
                    fine = bound[name] == actual
                else:
                    fine = fact is None or not fact.absent
                    if fine:
                        bound[name] = actual
                        new.append(name)
                if not fine:
                    for undone in new:
                        del bound[undone]
                    return None
        return new

    def _bind_loosely(
        self, node: PatternNode, inputs: Sequence[str], outputs: Sequence[str]
    ) -> list[str]:
        """Bind what is not bound yet to what a stand-in reads and makes; returns what is new."""
        new = []
        for names, actuals in ((node.inputs, inputs), (node.outputs, outputs)):
            for name, actual in zip(names, actuals, strict=False):
                if name and actual and name not in self.bound:
                    self.bound[name] = actual
                    new.append(name)
        return new

    def _judge(self, missed: int) -> None:
        """Keep the assignment if it is the nearest one so far."""
        if not missed:
            # A whole match, of which another one that shares a node is told.
            self.best, self.most = None, 0
        if not missed or self._far(missed) or self._arbitrary(missed):
            return
        bound = self._certain()
        wrong = self._wrong(bound)
        if self._far(missed, wrong) or self.shape.pattern.edge not in bound:
            return
        odd, pinned = self._odd(bound)
        if self.shape.few and (odd or wrong or not pinned):
            return
        found = Near(
            self.shape.pattern, tuple(self.roles), bound,
            dict(self.stand_ins), dict(self.behind), self.skipped, wrong, odd,
        )  # fmt: skip
        if found.lacks <= self.most and (self.best is None or found.rank < self.best.rank):
            self.best = found
            self.most = found.lacks

    def _arbitrary(self, missed: int) -> bool:
        """Tell whether it rests on arithmetic or quantisers alone, which stand everywhere."""
        if missed == 1 and not self.shape.quantised and not self.shape.few:
            return False
        telling = [r for r, tells in zip(self.roles, self.shape.telling, strict=True) if tells]
        return bool(telling) and all(r is None for r in telling)

    def _certain(self) -> dict[str, str]:
        """Return the values of nodes that matched, and the edge: checks run on these alone."""
        pattern = self.shape.pattern
        names = {pattern.edge}
        for node, role in zip(pattern.nodes, self.roles, strict=True):
            if role is not None:
                names.update(node.inputs, node.outputs)
        return {n: v for n, v in self.bound.items() if n in names}

    def _odd(self, bound: dict[str, str]) -> tuple[int, bool]:
        """Count what stand-ins do not read of what they should; tell whether all are pinned.

        Pinned is a gap of which nodes that match make an operand and read the result.
        """
        odd, pinned = 0, not self.skipped and not self.behind and len(self.stand_ins) > 0
        for index, group in self.stand_ins.items():
            if index in self.behind:
                continue
            node = self.shape.pattern.nodes[index]
            known = [bound[v] for v in node.inputs if v in bound]
            odd += sum(v not in group.inputs for v in known)
            pinned = pinned and bool(known) and any(o in bound for o in node.outputs)
        return odd, pinned

    def _wrong(self, bound: dict[str, str]) -> int:
        """Count the pattern's constants that are bound to none, or to one of another value."""
        wrong = 0
        for name, fact in self.shape.pattern.where.items():
            value = bound.get(name)
            if fact.const is None or value is None:
                continue
            if not self.overlay.is_constant(value):
                wrong += 1
                continue
            wanted = fact.numbers
            if wanted is not None and len(wanted) == 1:
                scalar = self.overlay.scalar(value)
                slack = fact.abs + fact.rel * abs(wanted[0])
                wrong += scalar is None or abs(scalar - wanted[0]) > slack
        return wrong
