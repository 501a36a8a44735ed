"""A target's passes, in order, over the overlay of each scope; each sees what the last one left."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fusectl.decide.become import become
from fusectl.decide.cleanup import Removed, eliminate, merge_equal, retype, share
from fusectl.decide.judge import Ruling, judge
from fusectl.decide.layout import assign_layout
from fusectl.decide.settle import own, quality, settled
from fusectl.decide.sink import sink_transposes
from fusectl.graph.fold import fold
from fusectl.graph.overlay import Overlay
from fusectl.graph.view import GraphView, ModelView
from fusectl.graph.walks import depth_first
from fusectl.match import Candidate, Role, find_near, find_whole, walk
from fusectl.tables.catalog import Catalog
from fusectl.tables.patterns import Pattern
from fusectl.tables.rules import Rule
from fusectl.tables.schema import Range
from fusectl.tables.target_schema import PassDoc
from fusectl.tables.targets import Target

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
    """What the caller asks for beside the target: equivalence, what is switched off.

    ``skip`` and ``only`` name rules, values (``U``) or edges (``U:CONSUMER``); with ``only``, all
    that is not named is off.
    """

    equivalence: str = ""
    skip: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()

    def off(self, found: Candidate) -> bool:
        """Tell whether a candidate is switched off."""
        if not self.skip and not self.only:
            return False
        consumer = found.consumer.node
        ends = (consumer.label, *(o for o in consumer.outputs[:1] if o))
        names = {found.rule.id}
        for value in (found.value, found.told_value):
            names |= {value, *(f"{value}:{end}" for end in ends)}
        return bool(names & self.skip) or bool(self.only and not names & self.only)


def decide(
    model: ModelView,
    target: Target,
    catalog: Catalog,
    options: Options | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Run]:
    """Decide every candidate of every scope."""
    options = options or Options()
    asked = options.equivalence or target.equivalence.ask
    # Nothing else is the matter of a decision: what is bounded is measured.
    options = replace(options, equivalence="bitwise" if asked == "bitwise" else "")
    overlays: dict[int, Overlay] = {}
    runs = []
    for view in model.graphs:
        outer = overlays.get(id(view.parent)) if view.parent is not None else None
        overlay = Overlay(view, outer, follows=target.follow_sizes)
        overlays[id(view)] = overlay
        runs.append(_Scope(overlay, target, catalog, options, progress).run())
    return runs


def unfused(model: ModelView, target: Target, catalog: Catalog) -> Run:
    """Return the main graph as the passes that fuse nothing leave it."""
    overlay = Overlay(model.graphs[0], follows=target.follow_sizes)
    return _Scope(overlay, target, catalog, Options(), None).unfused()


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
            self._clean(number, step)
            self._fuse(number, step)
            ran.update(t.value for t in step.fuse or ())
        for rule in self.catalog.rules.values():
            if rule.id not in ran and not rule.opt_in:
                self._sweep(rule, -1, gates.get(rule.id))
        rulings = settled(self.rulings.values())
        return Run(self.overlay.view, self.overlay, rulings, self.removed)

    def unfused(self) -> Run:
        for number, step in enumerate(self.target.passes):
            if _runs(step.opset, self.overlay.view):
                self._clean(number, step)
        return Run(self.overlay.view, self.overlay, removed=self.removed)

    def _fuse(self, number: int, step: PassDoc) -> None:
        rules = [self.catalog.rules[t.value] for t in step.fuse or ()]
        for _ in range(_ROUNDS if step.repeat == "fixpoint" else 1):
            # Every rule of the pass runs, also after one has fused something.
            fused = [self._sweep(rule, number) for rule in rules]
            if not any(fused):
                break

    def _clean(self, number: int, step: PassDoc) -> None:
        """Run what a pass does beside fusing."""
        overlay, operators = self.overlay, self.operators
        if step.eliminate is not None:
            names = [t.value for t in step.eliminate]
            self.removed += eliminate(overlay, names, number, step.tensors)
        if step.bind:
            overlay.bind()
        if step.fold is not None:
            how = step.fold
            fold(overlay, how.except_, how.shapes, how.types, how.also)
        if step.retype is not None:
            retype(overlay, step.retype, operators)
        if step.layout is not None:
            assign_layout(overlay, step.layout, operators)
        if step.transposes is not None:
            sink_transposes(overlay, step.transposes)
        if step.share is not None:
            share(overlay, step.share)
        if step.cse:
            merge_equal(overlay, step.apart)

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
        path = self.target.path(rule.id)
        live = [p for p in rule.patterns if self._occurs(p)]
        # Where a value is written for other readers, all its readers are met before others are.
        together = path is not None and bool(path.dual_output)
        for patterns in [live] if together and live else [[p] for p in live]:
            for role in self._producers(patterns[0], step):
                fused = self._from(rule, patterns, role, step, gate, told) or fused
        return fused

    def _occurs(self, pattern: Pattern) -> bool:
        there = any(self.overlay.count(op) for op in pattern.nodes[pattern.consumer].ops)
        return there and _runs(pattern.opset, self.overlay.view)

    def _producers(self, pattern: Pattern, step: int) -> list[Role]:
        ops = pattern.nodes[pattern.producer].ops
        groups = self.overlay.of_op(ops)
        if step >= 0 and self.target.passes[step].order == "depth-first" and len(groups) > 1:
            places = depth_first(self.overlay)
            groups.sort(key=lambda g: places[id(g)])
        roles = [Role(g, g.last) for g in groups]
        for op in ops:
            for group, node in self.overlay.held(op):
                visible = node.outputs and node.outputs[0] in group.outputs
                beside = visible and node.outputs[0] != group.outputs[0]
                if visible and (group.op not in ops or beside):
                    roles.append(Role(group, node, held=True))
        return roles

    def _from(
        self,
        rule: Rule,
        patterns: list[Pattern],
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
            reached = [
                found
                for pattern in patterns
                for found in walk(
                    rule, pattern, self.target, self.overlay, self.operators, producer
                )
            ]
            # Far ones first: a limit that is taken as a function would hide what lies behind it.
            reached.sort(key=lambda f: -len(f.between))
            for found in reached:
                if not producer.group.alive:
                    break
                if not found.consumer.group.alive:
                    continue
                ruling = self._preferred(found, step, gate)
                if not ruling.accepted and self._told(found, told):
                    continue
                self._record(ruling)
                told[found.consumer.outputs[0]] = ruling
                if ruling.accepted:
                    fused = True
                    made = become(ruling)
                    if any(made.op in p.nodes[p.producer].ops for p in patterns):
                        pending.append(Role(made, found.consumer.node))
                    if found.value in made.beside:
                        # Its other readers come before those of the group's other results.
                        pending.append(Role(made, producer.node, held=True))
                    break
        return fused

    def _preferred(self, found: Candidate, step: int, gate: Range | None) -> Ruling:
        """Of the two operand orders of a commutative producer, the one with fewer blockers."""
        ruling = self._judge(found, step, gate)
        if found.turned is None or ruling.accepted:
            return ruling
        return min(ruling, self._judge(found.turned, step, gate), key=quality)

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
            taken |= own(ruling.candidate)
            if all(g.alive for g in ruling.candidate.parts):
                self._record(ruling)
                if ruling.accepted:
                    become(ruling)
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
                    accepted |= own(found)
        taken: set[int] = set()
        best = []
        for ruling in sorted(rulings, key=quality):
            if ruling.accepted or not own(ruling.candidate) & taken:
                taken |= own(ruling.candidate)
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
        found = find_near(rule, patterns, self.target, self.overlay, self.operators, taken)
        return [self._judge(near, step, gate) for near in found]

    def _prepared(self, found: Candidate) -> Candidate:
        off = self.options.off(found)
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


def identity(*parts: str) -> str:
    """Return the id of a decision: a hash of rule, scope, value and the consumer's output."""
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).hexdigest()
