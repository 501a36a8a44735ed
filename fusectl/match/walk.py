"""Two-node rules: from each producer forward through barriers to the first fitting consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.view import Node
from fusectl.match.candidate import Barrier, Candidate, Role
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import Pattern
from fusectl.tables.rules import Rule
from fusectl.tables.schema import Where
from fusectl.tables.target_schema import PathDoc
from fusectl.tables.targets import Target

REACH = 4
"""Barriers that may stand between a product and its consumer for it to be a candidate."""
FAN_OUT = 64
"""Candidates of one producer and rule; a value read everywhere would drown the report."""


@dataclass(frozen=True, slots=True)
class _Hit:
    role: Role
    slot: int
    between: tuple[Barrier, ...]


def walk(
    rule: Rule,
    pattern: Pattern,
    target: Target,
    overlay: Overlay,
    operators: Operators,
    producer: Role,
) -> list[Candidate]:
    """Return the candidates of one producer, the nearest consumer first."""
    made = pattern.nodes[pattern.producer]
    number = made.outputs.index(pattern.edge)
    if number >= len(producer.outputs) or not producer.outputs[number]:
        return []
    value = producer.outputs[number]
    path = target.path(rule.id)
    reach = REACH if operators.kind(producer.op) == "product" else 0
    used = pattern.nodes[pattern.consumer].ops
    if not reach and not any(g.op in used or g.decision for g, _ in overlay.users(value)):
        return []
    both = made.commutative and len(producer.inputs) == 2 and len(set(producer.inputs)) == 2
    both = both and _told_apart(rule, pattern, path, made.inputs)
    found: list[Candidate] = []
    for hit in _Walker(pattern, path, overlay, operators).hits(value, reach):
        roles: list[Role | None] = [None, None]
        roles[pattern.producer], roles[pattern.consumer] = producer, hit.role
        turned: Candidate | None = None
        for swap in (True, False) if both else (False,):
            bound = _bind(pattern, overlay, producer, hit, value, swap)
            if bound is None:
                continue
            turned = Candidate(
                rule,
                pattern,
                target,
                path,
                overlay,
                operators,
                tuple(roles),
                bound,
                value,
                producer,
                hit.role,
                hit.slot,
                hit.between,
                turned=turned,
            )
        if turned is not None:
            found.append(turned)
        if len(found) == FAN_OUT:
            break
    return found


_TOLD: dict[tuple[int, int], tuple[Pattern, PathDoc | None, bool]] = {}


def _told_apart(rule: Rule, pattern: Pattern, path: PathDoc | None, names: tuple[str, ...]) -> bool:
    """Tell whether anything asks for one operand and not for the other."""
    used = pattern.nodes[pattern.consumer].inputs
    key = (id(pattern), id(path))
    known = _TOLD.get(key)
    if known is not None and known[0] is pattern and known[1] is path:
        return known[2]
    told = {*pattern.where, *used, *rule.operands}
    told.update(str(v) for r in rule.require for v in r.args.values())
    if path is not None:
        told.update(c.rstrip("?") for c in path.const)
        for limit in path.shapes:
            told.update((*limit.rank, *limit.elements, *limit.more_than))
            told.update((*limit.forms, *limit.static))
        told.update((*path.where, *path.types))
    answer = any(name in told for name in names)
    _TOLD[key] = (pattern, path, answer)
    return answer


def _bind(
    pattern: Pattern, overlay: Overlay, producer: Role, hit: _Hit, value: str, swap: bool
) -> dict[str, str] | None:
    """Bind the pattern's values; None where a value it needs is not there or is another one."""
    made, used = pattern.nodes[pattern.producer], pattern.nodes[pattern.consumer]
    produced, consumed = list(producer.inputs), list(hit.role.inputs)
    if swap:
        produced[:2] = reversed(produced[:2])
    if used.commutative and hit.slot != pattern.slot and len(consumed) > 1:
        consumed[:2] = reversed(consumed[:2])
    bound: dict[str, str] = {}
    for node, inputs, role in ((made, produced, producer), (used, consumed, hit.role)):
        for place, name in enumerate(node.inputs):
            if not name or name == pattern.edge:
                continue
            actual = inputs[place] if place < len(inputs) else ""
            if not _binds(
                pattern.where.get(name), actual, overlay, role is producer or hit.between
            ):
                return None
            if actual and bound.setdefault(name, actual) != actual:
                return None
        for place, name in enumerate(node.outputs):
            if place < len(role.outputs) and role.outputs[place]:
                bound[name] = role.outputs[place]
    bound[pattern.edge] = value
    return bound


def _binds(fact: Where | None, actual: str, overlay: Overlay, strict: object) -> bool:
    """Tell whether a value may be bound at all, apart from what checks find about it.

    A constant with a value of its own makes a producer what it is: 1/x is a reciprocal, a/x is not
    one that went wrong. And behind a barrier a product is not looked for where no constant is.
    """
    if not actual:
        return fact is not None and (fact.optional or fact.absent)
    if fact is not None and fact.absent:
        return False
    if fact is None or fact.const is None or not strict or overlay.is_constant(actual):
        return True
    return fact.numbers is None and not isinstance(strict, tuple)


class _Walker:
    def __init__(
        self, pattern: Pattern, path: PathDoc | None, overlay: Overlay, operators: Operators
    ) -> None:
        self.used = pattern.nodes[pattern.consumer]
        self.slot = pattern.slot
        self.overlay = overlay
        self.operators = operators
        self.functions = path.functions if path else None
        self.any_function = path is not None and path.functions is None

    def hits(self, value: str, reach: int) -> Iterator[_Hit]:
        """Yield consumers breadth-first; a limit that nothing follows is itself the consumer."""
        queue: deque[tuple[str, tuple[Barrier, ...]]] = deque([(value, ())])
        seen: set[int] = set()
        weak: list[_Hit] = []
        reached: set[int] = set()
        while queue:
            current, trail = queue.popleft()
            for group, slot in list(self.overlay.users(current)):
                if id(group) in seen:
                    continue
                seen.add(id(group))
                hit, strength = self._hit(group, slot, current, trail)
                if hit is not None and strength == "weak":
                    weak.append(hit)
                elif hit is not None:
                    yield hit
                if strength == "strong":
                    reached.update(id(b.group) for b in trail)
                elif len(trail) < reach and self._passable(group, slot):
                    step = Barrier(group, current, self.operators.barrier(group.op))
                    queue.append((group.outputs[0], (*trail, step)))
        yield from (hit for hit in weak if id(hit.role.group) not in reached)

    def _hit(
        self, group: Group, slot: int, value: str, trail: tuple[Barrier, ...]
    ) -> tuple[_Hit | None, str]:
        """Return a group as consumer and how strongly it is one, or None."""
        role = self._fits(group, slot, value)
        if role is None or (trail and self._drowns(role, slot, trail)):
            return None, ""
        return _Hit(role, slot, trail), self._strength(role)

    def _drowns(self, role: Role, slot: int, trail: tuple[Barrier, ...]) -> bool:
        """Tell whether a far consumer joins another stream: nobody expects a product to take it."""
        if all(b.reason in ("requantize", "clip", "cast") for b in trail):
            return False
        others = (v for i, v in enumerate(role.inputs) if v and i != slot)
        return not all(self.overlay.is_constant(v) for v in others)

    def _fits(self, group: Group, slot: int, value: str) -> Role | None:
        used = self.used
        fits = group.op in used.ops and used.takes(group.op, group.inputs)
        if fits and self._slot_fits(slot, group) and self._function(group, slot):
            return Role(group, group.last)
        if group.fused:
            for node in group.members:
                if (
                    node.op in used.ops
                    and value in node.inputs
                    and used.takes(node.op, node.inputs)
                ):
                    held = node.inputs.index(value)
                    if self._slot_fits(held, node):
                        return Role(group, node, held=True)
        return None

    def _slot_fits(self, slot: int, node: Group | Node) -> bool:
        if slot == self.slot or node.op in ("Max", "Min"):
            return True
        return self.used.commutative and slot < 2 and len(node.inputs) == 2

    def _function(self, group: Group, slot: int) -> bool:
        """Tell whether a Max or Min is a function of one operand: the others are constants."""
        if group.op not in ("Max", "Min"):
            return True
        others = (v for i, v in enumerate(group.inputs) if i != slot)
        return all(self.overlay.is_constant(v) for v in others)

    def _strength(self, role: Role) -> str:
        """Tell how a consumer counts: strong, or weak/both where it only limits a range."""
        op = role.op
        if self.any_function:
            return "both" if op in self.operators.limits() else "strong"
        if self.operators.barrier(op) != "clip":
            return "strong"
        if self.functions is not None and op in self.functions:
            return "strong"
        return "weak"

    def _passable(self, group: Group, slot: int) -> bool:
        """Tell whether a node may stand between: one run-time input, no product, one result."""
        if self.operators.kind(group.op) == "product" or not group.outputs or not group.outputs[0]:
            return False
        if group.op in ("Shape", "Size"):
            return False  # what is behind it reads no element
        facts = self.operators.facts.get(group.op)
        if facts is not None and facts.unary:
            return slot == 0
        others = (v for i, v in enumerate(group.inputs) if i != slot and v)
        return all(self._fixed(group, v) for v in others)

    def _fixed(self, group: Group, value: str) -> bool:
        # The bounds of a limit and the parameters of a quantiser do not make it binary, even
        # where they arrive at run time.
        return self.overlay.is_constant(value) or self.operators.barrier(group.op) in (
            "requantize",
            "clip",
            "layout",
            "cast",
        )
