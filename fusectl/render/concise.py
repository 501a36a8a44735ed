"""One line per decision, made for grep."""

from __future__ import annotations

from fusectl.render.edges import scope
from fusectl.render.names import escape
from fusectl.render.options import Options
from fusectl.render.wording import count
from fusectl.report.types import Decision, Report


def to_concise(report: Report, options: Options) -> str:
    """Return ``model.onnx: u -> act: keep [multi-user] matmul-activation (1 blocker)`` lines."""
    return "".join(f"{escape(_line(report.model.path, d))}\n" for d in report.decisions)


def _line(path: str, decision: Decision) -> str:
    ends = decision.edge
    place = scope(ends.producer)
    edge = f"{place + ': ' if place else ''}{ends.value} -> {ends.consumer.label}"
    blockers = decision.blockers
    if decision.verdict == "fuse":
        return f"{path}: {edge}: fuse {decision.rule}"
    slugs = dict.fromkeys(f.reason + "?" * (f.status == "unknown") for f in blockers)
    told = f"[{', '.join(slugs)}] {decision.rule} ({count(len(blockers), 'blocker')})"
    return f"{path}: {edge}: {decision.verdict} {told}"
