"""``--extract``: the smallest model with the same decision, checked before it is written."""

from __future__ import annotations

from collections.abc import Callable

from fusectl.cli.output import write
from fusectl.errors import FusectlError, ModelError, UsageError
from fusectl.graph.read import parse
from fusectl.graph.view import Step
from fusectl.report import Decision, Report
from fusectl.rewrite.extract import check_ending, encode
from fusectl.rewrite.shrink import Holds, Wanted, smallest
from fusectl.rewrite.source import Model, open_source
from fusectl.tables.operators import Operators

_SHOWN = 3


def extract_decision(
    path: str,
    selected: Report,
    whole: Report,
    explain: Callable[[Model], Report],
    operators: Operators,
    target: str,
) -> str:
    """Write the smallest model with the one decision that is selected; return what to say.

    Raises UsageError where more than one is selected, or where no smaller model has it.
    """
    check_ending(target)
    decision = _only(selected)
    if path == "-":
        raise UsageError("--extract reads the model again: give a file, not standard input")
    wanted = _wanted(decision, whole)
    source = open_source(path, operators, wanted.scope, decision.edge.consumer.output)
    model = smallest(source, wanted, _same(decision, explain))
    if model is None:
        raise UsageError(
            f"{path}: cut out, {_told(decision)} is not decided as it is in the whole model; "
            "--extract cannot help here"
        )
    data = encode(model, target)
    try:
        written = parse(target, data)
    except ModelError:
        raise UsageError(
            f"{target}: ONNX text cannot say what is in this model; use .onnx"
        ) from None
    after = explain(written)
    if not _has(after, decision):
        raise UsageError(f"{target}: as text the model decides otherwise; use .onnx")
    write(data, target)
    size = f"{after.model.nodes} of {whole.model.nodes} nodes"
    return f"{target}: {size}, the same decision: {_told(decision)}"


def _only(report: Report) -> Decision:
    found = report.decisions
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError("--extract needs one decision, and none matches")
    shown = "; ".join(
        f"--edge {d.edge.value}:{d.edge.consumer.label} --rule {d.rule}" for d in found[:_SHOWN]
    )
    raise UsageError(
        f"--extract needs one decision, and {len(found)} match; narrow it down, for example with "
        f"{shown}"
    )


def _told(decision: Decision) -> str:
    ends = decision.edge
    reasons = ", ".join(dict.fromkeys(f.reason for f in decision.blockers))
    verdict = f"keep [{reasons}]" if reasons else "fuse"
    return f"{ends.value} -> {ends.consumer.label}: {verdict} by {decision.rule}"


def _wanted(decision: Decision, report: Report) -> Wanted:
    scope = decision.edge.consumer.graph
    nodes = (decision.edge.producer, *decision.nodes, *decision.between, decision.edge.consumer)
    named = [n for f in decision.blockers for n in (f.subject, *f.subject.split(", "))]
    named += [m.node for m in decision.missing]
    return Wanted(
        tuple(Step(s.node, s.attr, s.function, s.call) for s in scope),
        frozenset(n.output for n in nodes),
        frozenset((decision.edge.value, *decision.swallows)),
        frozenset(named) - {""},
        frozenset(e.node.output for e in report.eliminated if e.node.graph == scope),
    )


def _key(decision: Decision) -> tuple[object, ...]:
    """What makes two decisions the same, in whichever model they stand."""
    return (
        decision.rule,
        decision.edge.value,
        decision.edge.producer.output,
        decision.edge.consumer.output,
        decision.verdict,
        decision.headline,
        frozenset((f.reason, f.status) for f in decision.blockers),
        frozenset(n.output for n in decision.nodes),
        frozenset(n.output for n in decision.between),
        frozenset(m.role for m in decision.missing),
        frozenset(decision.materialises),
    )


def _has(report: Report, decision: Decision) -> bool:
    key = _key(decision)
    return any(_key(d) == key for d in report.decisions)


def _same(decision: Decision, explain: Callable[[Model], Report]) -> Holds:
    """Return a test of models: whether the decision is there."""

    def holds(model: Model) -> bool:
        try:
            return _has(explain(model), decision)
        except FusectlError:
            return False

    return holds
