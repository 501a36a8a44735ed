"""Compared edges to the records of an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fusectl import __version__
from fusectl.audit.lay import Compared
from fusectl.audit.work import Apart, End
from fusectl.errors import Span
from fusectl.report.audit import (
    SCHEMA,
    Against,
    Audit,
    AuditedEdge,
    AuditSummary,
    Incomparable,
    Outcome,
    Witness,
)
from fusectl.report.types import Decision, Edge, NodeRef, Report, StepRecord, Tool
from fusectl.tables import Catalog, Target


def build(
    report: Report,
    target: Target,
    catalog: Catalog,
    against: Against,
    compared: Iterable[Compared],
    witness: Witness | None,
    notes: Iterable[str],
) -> Audit:
    """Make the records of an audit from a report and the edges that were laid beside it."""
    compared = tuple(compared)
    edges = tuple(_edge(c, target, catalog) for c in compared)
    return Audit(
        SCHEMA,
        Tool("fusectl", __version__),
        report.model,
        report.target,
        against,
        _summary(edges, _nested(report, compared)),
        edges,
        witness,
        tuple(notes),
    )


def witness_of(found: Apart, file: str) -> Witness:
    """Return the record of what was found by running both models."""
    return Witness(
        found.tried,
        found.differs,
        found.inputs,
        found.output,
        found.index,
        found.plain,
        found.optimised,
        file if found.differs else "",
    )


def _outcome(compared: Compared) -> Outcome:
    if not compared.scored:
        return "not-comparable"
    if compared.illegal:
        return "fused-although-illegal"
    if compared.fused == compared.predicted:
        return "agree"
    return "predicted-not-fused" if compared.predicted else "fused-not-predicted"


def _edge(compared: Compared, target: Target, catalog: Catalog) -> AuditedEdge:
    measured, decision, outcome = compared.edge, compared.decision, _outcome(compared)
    quiet = outcome in ("agree", "not-comparable")
    return AuditedEdge(
        Edge(
            measured.value,
            _node(measured.producer, measured.scope),
            _node(measured.consumer, measured.scope),
        ),
        outcome,
        measured.fate,
        measured.moves,
        measured.kernel,
        measured.node,
        measured.between,
        decision.id if decision else None,
        decision.rule if decision else None,
        decision.verdict if decision else None,
        decision.headline if decision else None,
        () if quiet or decision is None else decision.blockers,
        () if quiet else _where(decision, target, catalog),
        "" if quiet else _hint(outcome, decision, target),
    )


def _node(end: End, scope: tuple[tuple[str, str], ...]) -> NodeRef:
    domain, _, op_type = end.op_type.rpartition(".")
    steps = tuple(StepRecord(node, attr) for node, attr in scope)
    return NodeRef(end.name, op_type, domain, end.output, steps)


def _where(decision: Decision | None, target: Target, catalog: Catalog) -> tuple[str, ...]:
    """Return the places that a person has to look at: the path first, then the rule."""
    if decision is None:
        return (_place(target.span),)
    if decision.verdict == "keep":
        return tuple(dict.fromkeys(f.where for f in decision.blockers if f.where))
    path, rule = target.path(decision.rule), catalog.rules.get(decision.rule)
    spans = [path.span if path else None, rule.span if rule else None]
    return tuple(_place(span) for span in spans if span is not None)


def _place(span: Span) -> str:
    return f"{span.file}:{span.line}" if span.line else span.file


def _hint(outcome: Outcome, decision: Decision | None, target: Target) -> str:
    if outcome == "fused-although-illegal":
        return (
            "the fused form is another function: report it to the compiler's makers, or show that "
            "the rule asks for too much"
        )
    if decision is None:
        return f"no rule of {target.id} is about this edge: it lacks a rule, a path or a pattern"
    if outcome == "predicted-not-fused":
        return f"the path {decision.rule} of {target.id} promises too much: state its condition"
    if any(f.group in ("target", "state", "policy") for f in decision.blockers):
        return f"{target.id} promises too little: widen the path {decision.rule} or its passes"
    return (
        f"another pattern or rule may cover what the compiler does here; {decision.rule} does not"
    )


def _summary(edges: tuple[AuditedEdge, ...], nested: int) -> AuditSummary:
    outcomes = Counter(e.outcome for e in edges)
    seen = Counter(_why(e) for e in edges if e.outcome == "not-comparable")
    fused = sum(e.outcome == "agree" and e.fate == "fused" for e in edges)
    kept = outcomes["agree"] - fused
    extra, missed = outcomes["predicted-not-fused"], outcomes["fused-not-predicted"]
    compared = outcomes["agree"] + extra + missed
    return AuditSummary(
        compared,
        fused,
        kept,
        extra,
        missed,
        outcomes["fused-although-illegal"],
        Incomparable(
            seen["folded"], seen["eliminated"], seen["unresolved"], seen["moves-data"], nested
        ),
        _share(fused + kept, compared),
        _share(fused, fused + extra),
        _share(fused, fused + missed),
    )


def _why(edge: AuditedEdge) -> str:
    return "moves-data" if edge.fate in ("fused", "kept") else edge.fate


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _nested(report: Report, compared: tuple[Compared, ...]) -> int:
    """Count the edges in bodies and functions that decisions are about and nothing was seen of."""
    seen = {(c.edge.scope, c.edge.value) for c in compared if c.edge.scope}
    found = {
        (d.edge.consumer.graph, d.edge.value, d.edge.consumer.output)
        for d in report.decisions
        if d.edge.consumer.graph
    }
    return sum(
        (tuple((s.node, s.attr) for s in graph), value) not in seen for graph, value, _ in found
    )
