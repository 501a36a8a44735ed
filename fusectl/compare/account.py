"""One model on one target, reduced to what a comparison looks at.

A report holds every requirement that was met, for every decision; an account holds what stands
in the way, and once for each rule the line on which a requirement is written.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fusectl.graph.view import ModelView
from fusectl.reasons import ORDER
from fusectl.report.comparison import Answer
from fusectl.report.types import Decision, NodeRef, Record, Report


class Wire(Record, frozen=True, gc=False, array_like=True):
    """A node of a model: what it is called, what it is, what it reads and makes, and where."""

    label: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scope: str = ""


class Account(Record, frozen=True, gc=False):
    """What was decided about a model on a target.

    ``tables`` is a digest of the rules and the target, empty where it is not known. ``sources``
    are the exporter's lines, one for each answer. ``lines`` has for a rule and a reason where the
    requirement is written. ``swallowed`` are scope and name of values that are gone in what fuses.
    ``wiring`` has every node, or nothing where the model is not at hand;
    ``removed`` says of a value why a pass removed the node that makes it. ``beside`` are the files
    in the model's folder that were asked, apart from the model.
    """

    model: str
    sha256: str
    opset: dict[str, int]
    nodes: int
    target: str
    version: str
    tables: str
    answers: tuple[Answer, ...]
    sources: tuple[str, ...] = ()
    lines: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    swallowed: tuple[tuple[str, str], ...] = ()
    wiring: tuple[Wire, ...] = ()
    removed: dict[str, str] = msgspec.field(default_factory=dict)
    beside: tuple[str, ...] = ()


def account(report: Report, tables: str = "", wires: Iterable[Wire] = ()) -> Account:
    """Return the account of a report."""
    lines: dict[str, dict[str, str]] = {}
    for decision in report.decisions:
        known = lines.setdefault(decision.rule, {})
        for finding in decision.findings:
            known.setdefault(finding.reason, finding.where)
    return Account(
        report.model.path,
        report.model.sha256,
        report.model.opset,
        report.model.nodes,
        report.target.id,
        report.target.version,
        tables,
        tuple(map(_answer, report.decisions)),
        tuple(d.source or "" for d in report.decisions),
        lines,
        tuple(
            (scope_of(d.edge.consumer), value)
            for d in report.decisions
            if d.verdict == "fuse"
            for value in d.swallows
        ),
        tuple(wires),
        {e.node.output: e.why for e in report.eliminated},
    )


def _answer(decision: Decision) -> Answer:
    found = decision.blockers
    return Answer(
        decision.id,
        decision.structure.partition(":")[0],
        decision.rule,
        decision.edge,
        decision.verdict,
        decision.headline,
        slugs(decision.headline, ((f.reason, f.status) for f in found)),
        found,
    )


def slugs(headline: str | None, found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the reasons of blockers, ``shape?`` where it is not known.

    The headline comes first; the others follow in the order of the reasons, wherever they are from.
    """
    told = {f"{reason}?" if status == "unknown" else reason for reason, status in found}
    return tuple(sorted(told, key=lambda slug: (slug.rstrip("?") != headline, _place(slug))))


def _place(slug: str) -> tuple[int, str]:
    return ORDER.get(slug.rstrip("?"), len(ORDER)), slug


def wiring(model: ModelView) -> tuple[Wire, ...]:
    """Return every node of a model in reading order."""
    return tuple(
        Wire(n.label, n.op, tuple(n.inputs), tuple(n.outputs), place(_steps(graph.scope)))
        for graph in model.graphs
        for n in graph.nodes
    )


def _steps(scope: Iterable[object]) -> Iterable[tuple[str, str]]:
    for step in scope:
        inner = getattr(step, "attr", "") or getattr(step, "function", "")
        yield getattr(step, "node", "") or getattr(step, "call", ""), inner


def place(steps: Iterable[tuple[str, str]]) -> str:
    """Return where a node stands in a few words: ``if_12.then_branch``; nothing for the top."""
    return "/".join(f"{node}.{inner}" for node, inner in steps)


def scope_of(node: NodeRef) -> str:
    """Return where a node stands, as ``wiring`` calls it."""
    return place(_steps(node.graph))
