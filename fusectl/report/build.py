"""Rulings to the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from fusectl import __version__
from fusectl.checks import Check, Outcome
from fusectl.decide import Ruling, Run
from fusectl.decide.judge import Checked
from fusectl.errors import Span
from fusectl.graph.repeat import mark
from fusectl.graph.view import GraphView, ModelView, Node, Step
from fusectl.reasons import REASONS
from fusectl.report.layers import STRUCTURE, Item, Layers
from fusectl.report.programs import instructions, programs
from fusectl.report.structure import Neighbourhoods, structures
from fusectl.report.types import (
    SCHEMA,
    Decision,
    Edge,
    Eliminated,
    Finding,
    FusedNode,
    Missing,
    ModelRef,
    NodeRef,
    NoteRecord,
    Report,
    StepRecord,
    Summary,
    TargetRef,
    Tool,
)
from fusectl.report.uncovered import open_edges, uncovered
from fusectl.tables.operators import Operators
from fusectl.tables.targets import Target

if TYPE_CHECKING:
    from fusectl.lower.difference import Difference, Lines


def build(
    model: ModelView,
    target: Target,
    operators: Operators,
    runs: Iterable[Run],
    lowered: Difference | None = None,
) -> Report:
    """Make the report of all scopes; ``lowered`` is what the fusions change in the program.

    Raises UnequalError where equal layers were taken out of the model and it has to be whole.
    """
    runs = list(runs)
    layers = Layers(model.graphs[0], model.repeat) if model.repeat else None
    builder = _Builder(layers, lowered.lines if lowered is not None else {})
    decisions = builder.decisions(runs)
    pairs = uncovered(open_edges(runs, operators, builder.node), layers)
    notes = [NoteRecord(n.level, n.text, n.subject) for n in model.notes]  # type: ignore[arg-type]
    notes += _calls(model)
    return Report(
        SCHEMA,
        Tool("fusectl", __version__),
        ModelRef(model.path, model.sha256, dict(model.opsets), model.node_count),
        TargetRef(target.id, target.version),
        _summary(decisions, sum(p.count for p in pairs)),
        tuple(notes),
        builder.eliminated(runs),
        pairs,
        decisions,
        programs(lowered) if lowered is not None else None,
    )


def _calls(model: ModelView) -> list[NoteRecord]:
    return [
        NoteRecord(
            "info",
            f"the function {g.scope[-1].function} is called {g.calls} times in the same way; "
            "explained once",
            g.scope[-1].call,
        )
        for g in model.graphs
        if g.calls > 1
    ]


def _summary(decisions: tuple[Decision, ...], open_edges: int) -> Summary:
    keeps = [d for d in decisions if d.verdict == "keep"]
    unknown = sum(all(f.status != "fail" for f in d.findings) for d in keeps)
    reasons = Counter(d.headline for d in keeps if d.headline)
    ordered = {slug: reasons[slug] for slug in REASONS if slug in reasons}
    return Summary(
        len(decisions), len(decisions) - len(keeps), len(keeps), unknown, ordered, open_edges
    )


def _likeness(around: Neighbourhoods, ruling: Ruling) -> str:
    """What a decision looks like apart from names."""
    found = ruling.candidate
    between = ",".join(n.op for n in ruling.between)
    ends = f"{around.of(found.producer.node)}|{around.of(found.consumer.node)}"
    return f"{found.rule.id}|{ends}|{between}"


def _written(ruling: Ruling) -> tuple[str, ...]:
    """What is still written: by the fused form, or by the original of a node that was copied."""
    if not ruling.accepted:
        return ruling.materialises
    makers = ruling.candidate.overlay.producers
    originals = (v for v in ruling.swallows if makers.get(v, ruling.group) is not ruling.group)
    return tuple(dict.fromkeys((*ruling.materialises, *originals)))


class _Builder:
    def __init__(self, layers: Layers | None, lines: Mapping[str, Lines]) -> None:
        self._layers = layers
        self._lines = lines
        self._nodes: dict[int, NodeRef] = {}
        self._scopes: dict[int, tuple[StepRecord, ...]] = {}
        self._passes: dict[int, Finding] = {}
        self._kept: list[Checked] = []
        self._spans: dict[Span, str] = {}

    def decisions(self, runs: list[Run]) -> tuple[Decision, ...]:
        keys: list[str] = []
        makers: list[Callable[[str], Decision]] = []
        for run in runs:
            around = Neighbourhoods(run.view)
            if self._layers is None:
                keys += [_likeness(around, r) for r in run.rulings]
                makers += [partial(self._decision, run.view, r) for r in run.rulings]
                continue
            for ruling in run.rulings:
                self._layers.learn(ruling.id, ruling.key)
            items = [self._item(run.view, around, r) for r in run.rulings]
            for found in self._layers.spread(items):
                keys.append(str(found.item.rest[-1]))
                makers.append(found.fill)
        return tuple([make(name) for make, name in zip(makers, structures(keys), strict=True)])

    def _item(self, view: GraphView, around: Neighbourhoods, ruling: Ruling) -> Item[Decision]:
        found = ruling.candidate
        ends = found.producer.node.index, found.consumer.node.index
        rest = (ruling.step, found.rule.id, _likeness(around, ruling))
        return Item(ends[1], ends, rest, self._decision(view, ruling, mark(STRUCTURE)))

    def eliminated(self, runs: list[Run]) -> tuple[Eliminated, ...]:
        """Return what passes removed, pass by pass."""
        found = [
            (r, Eliminated(self.node(r.node, run.view), r.step, r.why))
            for run in runs
            for r in run.removed
        ]
        if self._layers is None:
            return tuple(e for _, e in found)
        items = [Item(r.node.index, (r.node.index,), (r.step,), e) for r, e in found]
        spread = [s.fill("") for s in self._layers.spread(items)]
        return tuple(sorted(spread, key=lambda e: e.pass_))

    def _decision(self, view: GraphView, ruling: Ruling, structure: str) -> Decision:
        found = ruling.candidate
        producer, consumer = found.told_producer, found.told_consumer
        source = consumer.source or producer.source
        return Decision(
            self._id(ruling.id),
            structure,
            found.rule.id,
            ruling.step,
            tuple([self._id(b) for b in ruling.builds_on]),
            Edge(found.told_value, self.node(producer, view), self.node(consumer, view)),
            tuple(self.node(n, view) for n in ruling.nodes),
            tuple(self.node(n, view) for n in ruling.between),
            self._missing(ruling),
            ruling.swallows,
            _written(ruling),
            "fuse" if ruling.accepted else "keep",
            ruling.headline or None,
            tuple([self._finding(checked) for checked in ruling.checked]),
            self._fused(ruling),
            source or None,
            instructions=instructions(self._lines.get(ruling.id)),
        )

    def _id(self, known: str) -> str:
        return known if self._layers is None else self._layers.identity(known)

    @staticmethod
    def _missing(ruling: Ruling) -> tuple[Missing, ...]:
        return tuple(
            Missing(m.role, m.expected, m.observed, m.group.label if m.group else "")
            for m in ruling.candidate.missing
        )

    @staticmethod
    def _fused(ruling: Ruling) -> FusedNode | None:
        group = ruling.group
        if group is None:
            return None
        domain, _, op_type = group.op.rpartition(".")
        function = group.function or ruling.candidate.told_op
        return FusedNode(op_type, domain, group.inputs, group.outputs, function)

    def _finding(self, checked: Checked) -> Finding:
        """Return the record of what a check found; the same one where it found nothing."""
        check, outcome, span = checked
        if outcome is not None:
            return self._make(check, outcome, span)
        known = self._passes.get(id(checked))
        if known is None:
            known = self._make(check, Outcome("pass", "", "holds"), span)
            self._passes[id(checked)] = known
            self._kept.append(checked)  # keeps the identity alive
        return known

    def _make(self, check: Check, outcome: Outcome, span: Span) -> Finding:
        where = self._spans.get(span)
        if where is None:
            where = self._spans[span] = f"{span.file}:{span.line}" if span.line else span.file
        reason = outcome.reason or check.reason
        return Finding(
            reason,
            REASONS[reason].group,
            outcome.status,
            outcome.subject,
            check.requirement,
            outcome.observed,
            outcome.help,
            where,
        )

    def node(self, node: Node, view: GraphView) -> NodeRef:
        """Return the record of a node, made once."""
        known = self._nodes.get(id(node))
        if known is None:
            output = next((o for o in node.outputs if o), "")
            scope = self._scope(view)
            known = NodeRef(node.name, node.op_type, node.domain, output, scope)
            self._nodes[id(node)] = known
        return known

    def _scope(self, view: GraphView) -> tuple[StepRecord, ...]:
        known = self._scopes.get(id(view))
        if known is None:
            known = self._scopes[id(view)] = tuple(map(_step, view.scope))
        return known


def _step(step: Step) -> StepRecord:
    return StepRecord(step.node, step.attr, step.function, step.call)
