"""A target's passes, in order, over the overlay of each scope; each sees what the last one left."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from fusectl.checks.limits import holds
from fusectl.checks.users import duplicable, other_readers
from fusectl.decide.cleanup import Removed, eliminate, merge_equal, retype
from fusectl.decide.judge import Ruling, judge
from fusectl.graph.fold import fold
from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.view import GraphView, ModelView
from fusectl.match import Candidate, Role, find_near, find_whole, walk
from fusectl.tables.catalog import Catalog
from fusectl.tables.patterns import Pattern
from fusectl.tables.rules import Rule
from fusectl.tables.schema import Becomes, PassDoc, Range
from fusectl.tables.targets import Target

_QUANTIZE = "QuantizeLinear"
_ROUNDS = 50
"""A pass that repeats until nothing changes stops here; every round fuses something."""


@dataclass(slots=True)
class Run:
    """Everything that was decided in one scope, and the overlay as the passes left it."""

    view: GraphView
    overlay: Overlay
    rulings: list[Ruling] = field(default_factory=list)
    removed: list[Removed] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller asks for beside the target: equivalence, rules that are switched off."""

    equivalence: str = ""
    skip: frozenset[str] = frozenset()


def decide(
    model: ModelView,
    target: Target,
    catalog: Catalog,
    options: Options | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Run]:
    """Decide every candidate of every scope."""
    options = options or Options()
    if not options.equivalence and target.equivalence == "exact":
        options = Options("exact", options.skip)
    overlays: dict[int, Overlay] = {}
    runs = []
    for view in model.graphs:
        outer = overlays.get(id(view.parent)) if view.parent is not None else None
        overlay = Overlay(view, outer)
        overlays[id(view)] = overlay
        runs.append(_Scope(overlay, target, catalog, options, progress).run())
    return runs


def _runs(gate: Range, view: GraphView) -> bool:
    opset = view.opset("")
    return opset >= gate.min and (not gate.max or opset <= gate.max)


class _Scope:
    def __init__(
        self,
        overlay: Overlay,
        target: Target,
        catalog: Catalog,
        options: Options,
        progress: Callable[[str], None] | None,
    ) -> None:
        self.overlay = overlay
        self.target = target
        self.catalog = catalog
        self.operators = catalog.operators
        self.options = options
        self.progress = progress
        self.rulings: dict[tuple[str, str, str], Ruling] = {}
        self.removed: list[Removed] = []
        self.missed: set[str] = set()
        self.swept: dict[str, tuple[int, int]] = {}
        scope = "/".join(f"{s.node}.{s.attr}" if s.node else s.function for s in overlay.view.scope)
        self.scope = scope

    def run(self) -> Run:
        ran: set[str] = set()
        gates: dict[str, Range] = {}
        for number, step in enumerate(self.target.passes):
            if not _runs(step.opset, self.overlay.view):
                gates.update({t.value: step.opset for t in step.fuse or ()})
                continue
            self._step(number, step)
            ran.update(t.value for t in step.fuse or ())
        for rule in self.catalog.rules.values():
            if rule.id not in ran and not rule.opt_in:
                self._sweep(rule, -1, gates.get(rule.id))
        rulings = sorted(_settled(self.rulings.values()), key=_place)
        return Run(self.overlay.view, self.overlay, rulings, self.removed)

    def _step(self, number: int, step: PassDoc) -> None:
        if step.eliminate is not None:
            names = [t.value for t in step.eliminate]
            self.removed += eliminate(self.overlay, names, number)
        elif step.fold is not None:
            fold(self.overlay, step.fold.except_, step.fold.shapes)
        elif step.retype is not None:
            retype(self.overlay, step.retype, self.operators)
        elif step.cse:
            merge_equal(self.overlay)
        rules = [self.catalog.rules[t.value] for t in step.fuse or ()]
        for _ in range(_ROUNDS if step.repeat == "fixpoint" else 1):
            # Every rule of the pass runs, also after one has fused something.
            fused = [self._sweep(rule, number) for rule in rules]
            if not any(fused):
                break

    def _sweep(self, rule: Rule, step: int, gate: Range | None = None) -> bool:
        """Run one rule once over the graph; True where it fused something."""
        if not self._worth_looking(rule):
            return False
        if self.progress is not None:
            self.progress(rule.id)
        if rule.two_node:
            return self._sweep_edges(rule, step, gate)
        return self._sweep_patterns(rule, step, gate)

    def _worth_looking(self, rule: Rule) -> bool:
        """Tell whether a rule can find what it did not find the last time.

        Only where a node was taken out since, or a fusion made an operator that can play in it.
        """
        overlay = self.overlay
        seen = self.swept.get(rule.id)
        self.swept[rule.id] = (len(overlay.made), overlay.removals)
        if seen is None or seen[1] != overlay.removals:
            return True
        return not rule.ops.isdisjoint(overlay.made[seen[0] :])

    def _sweep_edges(self, rule: Rule, step: int, gate: Range | None) -> bool:
        fused = False
        told: dict[str, Ruling] = {}
        for pattern in rule.patterns:
            there = any(self.overlay.count(op) for op in pattern.nodes[pattern.consumer].ops)
            if not there or not _runs(pattern.opset, self.overlay.view):
                continue
            for role in self._producers(pattern):
                fused = self._from(rule, pattern, role, step, gate, told) or fused
        return fused

    def _producers(self, pattern: Pattern) -> list[Role]:
        ops = pattern.nodes[pattern.producer].ops
        roles = [Role(g, g.last) for g in self.overlay.of_op(ops)]
        for op in ops:
            for group, node in self.overlay.held(op):
                visible = node.outputs and node.outputs[0] in group.outputs
                if group.op not in ops and visible:
                    roles.append(Role(group, node, held=True))
        return roles

    def _from(
        self,
        rule: Rule,
        pattern: Pattern,
        role: Role,
        step: int,
        gate: Range | None,
        told: dict[str, Ruling],
    ) -> bool:
        """Judge what one producer reaches; a group that comes of it is a producer again."""
        fused = False
        pending = [role]
        while pending:
            producer = pending.pop()
            if not producer.group.alive:
                continue
            reached = walk(rule, pattern, self.target, self.overlay, self.operators, producer)
            # Far ones first: a limit that is taken as a function would hide what lies behind it.
            reached.sort(key=lambda f: -len(f.between))
            for found in reached:
                if not producer.group.alive:
                    break
                if not found.consumer.group.alive or self._told(found, told):
                    continue
                ruling = self._preferred(found, step, gate)
                self._record(ruling)
                told[found.consumer.outputs[0]] = ruling
                if ruling.accepted:
                    fused = True
                    made = self._apply(ruling)
                    if made.op in pattern.nodes[pattern.producer].ops:
                        pending.append(Role(made, found.consumer.node))
                    break
        return fused

    def _preferred(self, found: Candidate, step: int, gate: Range | None) -> Ruling:
        """Of the two operand orders of a commutative producer, the one with fewer blockers."""
        ruling = self._judge(found, step, gate)
        if found.turned is None or ruling.accepted:
            return ruling
        return min(ruling, self._judge(found.turned, step, gate), key=_quality)

    def _told(self, found: Candidate, told: dict[str, Ruling]) -> bool:
        """Tell whether this sweep told about the consumer, from a product in front of this one."""
        earlier = told.get(found.consumer.outputs[0] if found.consumer.outputs else "")
        if earlier is None or earlier.accepted:
            return False
        mine = {id(m) for m in found.producer.group.members}
        return any(id(n) in mine for n in earlier.between)

    def _sweep_patterns(self, rule: Rule, step: int, gate: Range | None) -> bool:
        """Fuse whole matches; the first time, tell about near misses where there is none."""
        fused = False
        taken: set[int] = set()
        patterns = [p for p in rule.patterns if _runs(p.opset, self.overlay.view)]
        for ruling in self._whole(rule, patterns, step, gate):
            taken |= _own(ruling.candidate)
            if all(g.alive for g in ruling.candidate.parts):
                self._record(ruling)
                if ruling.accepted:
                    self._apply(ruling)
                    fused = True
        if rule.id not in self.missed and self.target.path(rule.id) is not None:
            self.missed.add(rule.id)
            for ruling in self._near(rule, patterns, step, gate, taken):
                self._record(ruling)
        return fused

    def _whole(
        self, rule: Rule, patterns: list[Pattern], step: int, gate: Range | None
    ) -> list[Ruling]:
        """The best whole match for each place: spellings overlap, and one of them is meant."""
        accepted: set[int] = set()
        rulings: list[Ruling] = []
        for pattern in sorted(patterns, key=lambda p: -len(p.nodes)):
            for found in find_whole(
                rule, pattern, self.target, self.overlay, self.operators, accepted
            ):
                ruling = self._judge(found, step, gate)
                rulings.append(ruling)
                if ruling.accepted:
                    accepted |= _own(found)
        taken: set[int] = set()
        best = []
        for ruling in sorted(rulings, key=_quality):
            if ruling.accepted or not _own(ruling.candidate) & taken:
                taken |= _own(ruling.candidate)
                best.append(ruling)
        return sorted(best, key=lambda r: r.candidate.producer.group.order)

    def _near(
        self,
        rule: Rule,
        patterns: list[Pattern],
        step: int,
        gate: Range | None,
        taken: set[int],
    ) -> list[Ruling]:
        """The nearest miss for each place."""
        found = [
            f
            for p in patterns
            for f in find_near(rule, p, self.target, self.overlay, self.operators, taken)
        ]
        taken = set(taken)
        best = []
        for near in sorted(found, key=lambda f: (len(f.missing), -len(f.pattern.nodes))):
            if not _own(near) & taken:
                taken |= _own(near)
                best.append(self._judge(near, step, gate))
        return best

    def _prepared(self, found: Candidate) -> Candidate:
        off = found.rule.id in self.options.skip
        if not self.options.equivalence and not off:
            return found
        return replace(found, equivalence=self.options.equivalence, off=off)

    def _judge(self, found: Candidate, step: int, gate: Range | None) -> Ruling:
        ruling = judge(self._prepared(found), step, gate)
        rule, value, consumer = ruling.key
        ruling.id = identity(rule, self.scope, value, consumer)
        return ruling

    def _record(self, ruling: Ruling) -> None:
        """Keep a ruling; a later one on the same candidate takes its place unless that fused."""
        known = self.rulings.get(ruling.key)
        if known is None or not known.accepted:
            self.rulings[ruling.key] = ruling

    def _apply(self, ruling: Ruling) -> Group:
        """Put the fused form into the overlay."""
        found = ruling.candidate
        form = _form(found)
        main = found.consumer if found.rule.becomes == "consumer" else found.producer
        op = form.op or _own_op(found, main)
        gone = set(ruling.swallows)
        outputs = [o for o in found.consumer.outputs if o] if found.rule.two_node else []
        if not found.rule.two_node:
            every = (o for r in found.roles if r is not None for o in r.outputs if o)
            outputs = [o for o in dict.fromkeys(every) if o not in gone]
        outputs += ruling.materialises
        inputs = _inputs(found, main, gone)
        lead = main.group.lead if form.op in ("", main.group.op) or _alike(found, form.op) else None
        stays = [] if ruling.materialises else _copied(found)
        made = tuple(dict.fromkeys(outputs))
        group = self.overlay.fuse(found.parts, op, inputs, made, lead, stays)
        group.decision = ruling.id
        group.function = form.function
        group.sealed = form.sealed
        if not found.rule.two_node and found.operators.acts_as(found.consumer.op) == _QUANTIZE:
            group.core = (found.value, found.producer.node, found.consumer.node)
        if found.rule.slots.takes:
            taker = f"{found.consumer.node.label} ({found.consumer.op})"
            group.slots[found.rule.slots.takes] = taker
        ruling.group = group
        return group


def _copied(found: Candidate) -> list[Group]:
    """Groups that the target may copy and that others still read."""
    overlay = found.overlay
    copied = []
    for group in found.parts:
        for value in group.outputs:
            if value and duplicable(found, value):
                needed = value in overlay.returned or value in overlay.captured
                if needed or other_readers(found, value):
                    copied.append(group)
    return copied


def _alike(found: Candidate, op: str) -> bool:
    return found.operators.acts_as(op) == found.operators.acts_as(found.producer.op)


def _own_op(found: Candidate, main: Role) -> str:
    named = found.rule.becomes
    return named if named not in ("", "producer", "consumer") else main.group.op


def _form(found: Candidate) -> Becomes:
    """Choose what a match becomes on this target: the first form whose condition holds."""
    for form in found.path.becomes if found.path else ():
        if form.when is None or holds(found, form.when.rank, form.when.static):
            return form
    return Becomes()


def _inputs(found: Candidate, main: Role, gone: set[str]) -> tuple[str, ...]:
    """The fused form's inputs: those of the main node first, in its order."""
    if found.rule.operands:
        named = (found.bound.get(o, "") for o in found.rule.operands)
        return tuple(v for v in named if v)
    first: list[str] = []
    for value in main.group.inputs:
        if value in gone and main is found.consumer:
            # The producer's own operand takes the place of what it made.
            first.append(found.bound[found.pattern.nodes[found.pattern.producer].inputs[0]])
        elif value not in gone:
            first.append(value)
    if found.rule.slots.takes not in ("", "bias"):
        # A slot is known by the number of an input, so further operands come behind them all.
        first += [""] * (4 - len(first))
    rest = [v for g in found.parts for v in g.inputs if v and v not in gone]
    known = set(first)
    return (*first, *(v for v in dict.fromkeys(rest) if v not in known))


def _own(found: Candidate) -> set[int]:
    return {id(r.node) for r in found.roles if r is not None}


def _quality(ruling: Ruling) -> tuple[bool, int, bool, int, int]:
    """Order for overlapping candidates: accepted, then the largest spelling the path knows."""
    blockers = sum(o is not None and o.status != "pass" for _, o, _ in ruling.checked)
    found = ruling.candidate
    known = found.path is None or not found.path.patterns
    foreign = not known and found.pattern.name not in found.path.patterns  # type: ignore[union-attr]
    size = -len(found.pattern.nodes)
    return (not ruling.accepted, len(found.missing), foreign, size, blockers)


def _place(ruling: Ruling) -> tuple[int, int, int, str]:
    found = ruling.candidate
    return (found.producer.node.index, found.consumer.node.index, ruling.step, found.rule.id)


def _settled(rulings: Iterable[Ruling]) -> list[Ruling]:
    """Drop what another decision has overtaken.

    Where a rule only wanted a node of another group and some rule decides the edge itself, and
    where a near miss lies inside what another rule fused, there is nothing left to explain.
    """
    rulings = list(rulings)
    swallowed = {v for r in rulings if r.accepted for v in r.swallows}
    decided = {_edge(r) for r in rulings if not _held(r)}
    return [
        r
        for r in rulings
        if r.accepted
        or (
            not (_held(r) and _edge(r) in decided)
            and not (r.candidate.missing and r.candidate.value in swallowed)
        )
    ]


def _held(ruling: Ruling) -> bool:
    return any(r is not None and r.held for r in ruling.candidate.roles)


def _edge(ruling: Ruling) -> tuple[str, int]:
    return ruling.candidate.value, id(ruling.candidate.consumer.node)


def identity(*parts: str) -> str:
    """Return the id of a decision: a hash of rule, scope, value and the consumer's output."""
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).hexdigest()


def rules_of(passes: Iterable[PassDoc]) -> set[str]:
    """Return the rules that some pass names."""
    return {t.value for p in passes for t in p.fuse or ()}
