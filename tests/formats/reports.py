"""What lint found, built by hand: a mixed report, a hostile one, an empty one, a large one."""

from typing import get_args

from fusectl.report.comparison import SCHEMA as COMPARISON_SCHEMA
from fusectl.report.comparison import Answer, Cause, Change, Comparison, Kind, Side
from fusectl.report.lint import (
    SCHEMA,
    Code,
    LintedModel,
    LintFinding,
    LintReport,
    LintSummary,
    Place,
    Severity,
    Suppression,
)
from fusectl.report.types import Edge, NodeRef, StepRecord, Tool

TOOL = Tool("fusectl", "0.1.0")
LOCK = "fusion.lock.yaml"
POLICY = "fusectl.yaml"
BODY = (StepRecord(node="if_12", attr="then_branch"),)

HOSTILE = (
    "a\nb", "a\r\nb", "100%0A", "::error::x", "a,b=c:d", 'q"q\'q', "]]></failure>", "<b>&amp;",
    "\x1b[2J\x07", "\u202egnp", "größe/日本語", "🙂" * 3, "{0}", "[x](1)", "`` ``` |", "@team #1",
    "--- !Passed", "x" * 5000, "\x85\u2028", "",
)  # fmt: skip
"""Names that would break out of some format, each in its own way."""


def edge(value: str, producer: str, consumer: str, graph: tuple[StepRecord, ...] = ()) -> Edge:
    return Edge(
        value,
        NodeRef(producer, "MatMul", "", value, graph),
        NodeRef(consumer, "Sigmoid", "", f"{consumer}_out", graph),
    )


def finding(
    code: Code,
    severity: Severity,
    *,
    message: str = "",
    about: Edge | None = None,
    where: Place | None = None,
    cause: str = "",
    reason: str = "",
    model: str = "models/net.onnx",
    suppressed: Suppression | None = None,
    fingerprint: str = "",
    source: str = "",
) -> LintFinding:
    named = f"{about.value}" if about else model
    return LintFinding(
        code=code,
        severity=severity,
        model=model,
        target="lut-npu",
        message=message or f"{named}: {code}.",
        cause=cause,
        help="keep it, or take the other reader away" if about else "",
        accept=f"fusectl lint --accept {fingerprint or named}" if about else "",
        rule="matmul-activation" if about else "",
        reason=reason,
        edge=about,
        matched="id" if about else None,
        before=None,
        after=None,
        where=where or Place(LOCK, 7),
        source=source,
        fingerprint=fingerprint or f"{code}/{named}",
        suppressed=suppressed,
    )


def report(*findings: LintFinding, models: tuple[LintedModel, ...] = ()) -> LintReport:
    counts = {
        s: sum(f.severity == s and not f.suppressed for f in findings) for s in get_args(Severity)
    }
    found = models or (LintedModel("models/net.onnx", "lut-npu", 9, 5, 4, len(findings)),)
    summary = LintSummary(
        len(found), counts["error"], counts["warning"], counts["info"],
        sum(f.suppressed is not None for f in findings),
    )  # fmt: skip
    return LintReport(SCHEMA, TOOL, POLICY, LOCK, summary, found, findings)


def empty() -> LintReport:
    return report()


def mixed() -> LintReport:
    """One of each kind of finding that renderers treat differently."""
    u, v = edge("u", "mm", "act"), edge("v", "mm2", "act2", BODY)
    users = "u is now returned by the graph"
    held = Suppression("the debug output goes in June", "2026-12-31", Place(POLICY, 21, 5))
    return report(
        finding("fusion-lost", "error", about=u, cause=users, reason="graph-output",
                message="mm -> act was fused and is kept now: graph-output."),
        finding("unfused", "warning", about=v, reason="multi-user",
                where=Place("models/net.onnxtxt", 12, 3),
                message="mm2 -> act2 is kept: multi-user.", source="model.py:157 in forward"),
        finding("fusion-gained", "info", about=edge("w", "mm3", "act3"),
                message="mm3 -> act3 was kept and is fused now."),
        finding("unfused", "warning", about=edge("z", "mm4", "act4"), reason="multi-user",
                message="mm4 -> act4 is kept: multi-user.", suppressed=held),
        finding("budget", "error", where=Place(POLICY, 30),
                message="4 edges are kept; 3 are allowed."),
        finding("model-unusable", "error", model="models/torn.onnx", where=Place("", 0),
                message="models/torn.onnx: the file ends early."),
        models=(
            LintedModel("models/net.onnx", "lut-npu", 9, 5, 4, 4),
            LintedModel("models/good.onnx", "lut-npu", 3, 3, 0, 0),
            LintedModel("models/torn.onnx", "lut-npu", 0, 0, 0, 1, "the file ends early"),
        ),
    )  # fmt: skip


def hostile() -> LintReport:
    """Every hostile name in every field that a model, a path or a policy can fill."""
    found = []
    for number, name in enumerate(HOSTILE):
        graph = (StepRecord(node=name, attr="then_branch"),)
        held = Suppression(name, name, Place(f"{name}.yaml", 2)) if number % 4 == 3 else None
        found.append(
            finding(
                "unfused",
                "warning",
                message=f"{name} is kept.",
                about=edge(name, name, name, graph),
                where=Place(f"models/{name}.onnxtxt", 3),
                cause=name,
                reason="multi-user",
                model=f"models/{name}.onnx",
                suppressed=held,
                fingerprint=name,
            )
        )
    models = tuple(LintedModel(f"models/{n}.onnx", n, 1, 0, 1, 1, n) for n in HOSTILE)
    return report(*found, models=models)


def many(number: int = 700) -> LintReport:
    """Hundreds of findings with four causes, some with equal fingerprints, none short."""
    found = []
    for i in range(number):
        at = f"/encoder/layer.{i}/attention"
        found.append(
            finding(
                "fusion-lost" if i % 3 else "unfused",
                "error" if i % 3 else "warning",
                message=f"{at}/mm -> {at}/act is kept.",
                about=edge(f"{at}/mm_out", f"{at}/mm", f"{at}/act"),
                cause=f"cause {i % 4}",
                reason="multi-user",
                fingerprint=f"f{i // 2}",
            )
        )
    return report(*found)


def answer(name: str, verdict: str, *blockers: str) -> Answer:
    return Answer(
        name, "0:0", "matmul-activation", edge(name, f"{name}_mm", f"{name}_act"),
        verdict,  # type: ignore[arg-type]
        blockers[0] if blockers else None, blockers,
    )  # fmt: skip


def comparison(names: tuple[str, ...] = ("u", "v"), cause: str = "a second reader") -> Comparison:
    """Each kind of change for each name."""
    sides = {
        "lost": (True, False), "gained": (False, True), "rule": (True, True),
        "reason": (False, False), "new": (None, False), "gone": (False, None),
    }  # fmt: skip
    changes: list[Change] = []
    causes = []
    for kind in get_args(Kind):
        first = len(changes)
        for name in names:
            before, after = (
                None
                if fused is None
                else answer(name, "fuse")
                if fused
                else answer(name, "keep", "clip")
                for fused in sides[kind]
            )
            changes.append(Change(kind, before, after, "id" if before and after else None, cause))
        causes.append(Cause(kind, cause, tuple(range(first, len(changes)))))
    return Comparison(
        COMPARISON_SCHEMA, TOOL,
        Side("old.onnx", "old.onnx", "lut-npu", "1", 9, 5, 4),
        Side("new.onnx", "new.onnx", "lut-npu", "1", 9, 4, 5),
        3, {"id": 7, "structure": 0, "alignment": 0}, tuple(changes), tuple(causes), ("a note",),
    )  # fmt: skip
