"""Reports built by hand: short words in, full records out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
    Uncovered,
)

CLASSES = {
    "requantize": "adjacency", "clip": "adjacency", "cast": "adjacency", "layout": "adjacency",
    "multi-user": "users", "graph-output": "users", "already-fused": "state", "claimed": "state",
    "op-mismatch": "pattern", "constant-value": "pattern", "not-constant": "pattern",
    "shape": "pattern",
    "unsupported-op": "target", "unsupported-activation": "target", "unsupported-dtype": "target",
    "inexact": "numerics", "not-profitable": "policy",
}  # fmt: skip


def node(text: str, graph: tuple[StepRecord, ...] = ()) -> NodeRef:
    """`mm:MatMul` or `mm:MatMul:u`: name, operator, output (else the name with `_out`)."""
    name, op, *output = text.split(":")
    domain, _, op_type = op.rpartition(".")
    return NodeRef(name, op_type, domain, output[0] if output else f"{name}_out", graph)


def blocker(
    reason: str,
    subject: str,
    observed: str,
    required: str = "The intermediate value has one user",
    help: str = "",
    status: str = "fail",
    where: str = "rules/fusions/activation.yaml:14",
) -> Finding:
    return Finding(
        reason,
        CLASSES[reason],
        status,  # type: ignore[arg-type]
        subject,
        required,
        observed,
        help,
        where,
    )


def passed(reason: str, subject: str, observed: str, required: str) -> Finding:
    return blocker(reason, subject, observed, required, status="pass")


def multi_user(value: str, act: str, *others: str) -> Finding:
    names = ", ".join(others)
    return blocker(
        "multi-user",
        value,
        f"{value} also feeds {names}",
        help=f"keep it, or compute {value} a second time for {names}, so that {act} has its own",
    )


def decision(
    producer: str,
    consumer: str,
    *findings: Finding,
    rule: str = "matmul-activation",
    between: Sequence[str] = (),
    missing: Sequence[Missing] = (),
    nodes: Sequence[str] = (),
    builds_on: Sequence[Decision] = (),
    becomes: str = "",
    graph: tuple[StepRecord, ...] = (),
    source: str | None = None,
) -> Decision:
    """A decision that fuses exactly if no finding blocks; its headline is the first blocker."""
    first, last = node(producer, graph), node(consumer, graph)
    blockers = [f for f in findings if f.status != "pass"]
    domain, _, op_type = becomes.rpartition(".")
    form = FusedNode(op_type, domain, (), (), "")
    verdict = "keep" if blockers else "fuse"
    before = [n for d in builds_on for n in d.nodes]
    own = [node(n, graph) for n in nodes] or [first, last]
    return Decision(
        id=f"{rule}/{first.output}/{last.output}",
        structure="0:0",
        rule=rule,
        pass_=1,
        builds_on=tuple(d.id for d in builds_on),
        edge=Edge(first.output, first, last),
        nodes=tuple(dict.fromkeys([*before, *own])),
        between=tuple(node(b, graph) for b in between),
        missing=tuple(missing),
        swallows=(first.output,),
        materialises=(),
        verdict=verdict,  # type: ignore[arg-type]
        headline=blockers[0].reason if blockers else None,
        findings=findings,
        fused_node=form if becomes and not blockers else None,
        source=source,
    )


@dataclass
class Extras:
    """What a report may hold beside its decisions."""

    path: str = "model.onnx"
    target: str = "ideal"
    nodes: int = 12
    uncovered: Sequence[Uncovered] = ()
    notes: Sequence[NoteRecord] = ()
    eliminated: Sequence[Eliminated] = field(default_factory=tuple)


def report(decisions: Iterable[Decision], extras: Extras | None = None) -> Report:
    decisions = tuple(decisions)
    extras = extras or Extras()
    kept = [d for d in decisions if d.verdict == "keep"]
    unknown = [d for d in kept if next(b for b in d.blockers).status == "unknown"]
    summary = Summary(
        candidates=len(decisions),
        fuse=len(decisions) - len(kept),
        keep=len(kept),
        unknown=len(unknown),
        reasons=dict(sorted(Counter(d.headline or "" for d in kept).items())),
        uncovered_edges=sum(u.count for u in extras.uncovered),
    )
    return Report(
        schema=SCHEMA,
        tool=Tool("fusectl", "0.1.0"),
        model=ModelRef(extras.path, "0" * 64, {"": 17}, extras.nodes),
        target=TargetRef(extras.target, "1"),
        summary=summary,
        notes=tuple(extras.notes),
        eliminated=tuple(extras.eliminated),
        uncovered=tuple(extras.uncovered),
        decisions=decisions,
    )
