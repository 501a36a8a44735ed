"""The title line and the summary: counts, reasons by kind, what no rule covers."""

from __future__ import annotations

from fusectl.render.causes import KINDS
from fusectl.render.names import ending, escape
from fusectl.render.options import Options
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count
from fusectl.report.types import Report

_MEANING = {
    "legality": "in the model",
    "target": "on this machine",
    "policy": "by choice",
    "coverage": "no rule",
    "other": "other",
}
_PAIRS = 3
_DOMAINS = 2
_PATH = 16
"""Cells that a path gets at least."""


def add_title(sheet: Sheet, report: Report, options: Options) -> None:
    """Say which model, how large, and for which target."""
    model, target = report.model, report.target
    chosen = " (default)" if options.default_target else ""
    facts = f": {count(model.nodes, 'node')}, {opset(report)}, target "
    version = f" v{target.version}{chosen}"
    room = max(sheet.width - len(facts) - len(target.id) - len(version), _PATH)
    path = ending(escape(model.path, sheet.encoding), room, sheet.dots)
    sheet.add((path, "bold"), facts, (target.id, "bold"), version, hang=2)


def opset(report: Report) -> str:
    """Return ``opset 17`` and the other domains, by name if they are few."""
    versions = report.model.opset
    other = [f"{d} {v}" for d, v in sorted(versions.items()) if d not in ("", "ai.onnx")]
    own = versions.get("", versions.get("ai.onnx"))
    if len(other) > _DOMAINS:
        other = [f"{len(other)} other domains"]
    return " + ".join(([f"opset {own}"] if own is not None else []) + other) or "no opset"


def add_summary(sheet: Sheet, report: Report) -> None:
    """Add the counts, and the headline reasons told apart by what they mean."""
    summary = report.summary
    sheet.blank()
    if not summary.candidates:
        sheet.add(
            ("No candidate: ", "bold"),
            f"no rule of {report.target.id} has a place in this model, so nothing can fuse and "
            "nothing was refused.",
        )
    else:
        unknown = ""
        if summary.unknown:
            unknown = f" ({summary.unknown} of them unknown)" if summary.keep > 1 else " (unknown)"
        counted = ", by first reason:" if summary.keep > 1 else ""
        sheet.add(
            (count(summary.candidates, "candidate"), "bold"),
            f": {summary.fuse} fuse, {summary.keep} keep{unknown}{counted}",
            hang=2,
        )
        if summary.candidates != len(report.decisions):
            sheet.add(f"shown: {len(report.decisions)} of them", indent=2)
    for kind, reasons in reasons_by_kind(report):
        listed = (f"{slug} {number}" for slug, number in reasons)
        sheet.add_items((f"{_MEANING[kind]:<17}", "bold"), listed, indent=2, hang=17)
    if summary.uncovered_edges:
        title = f"{_MEANING['coverage']:<17}"
        sheet.add_items((title, "bold"), uncovered(report), indent=2, hang=17)


def reasons_by_kind(report: Report) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return headline counts, most frequent first, under what their class means."""
    classes = {f.reason: f.group for d in report.decisions for f in d.findings}
    found: dict[str, list[tuple[str, int]]] = {}
    for slug, number in report.summary.reasons.items():
        kind = KINDS.get(classes.get(slug, ""), "other")
        found.setdefault(kind, []).append((slug, number))
    return [
        (k, sorted(found[k], key=lambda item: (-item[1], item[0]))) for k in _MEANING if k in found
    ]


def uncovered(report: Report) -> list[str]:
    """Return how many edges no rule covers, and between which operators most of them are."""
    pairs = sorted(report.uncovered, key=lambda u: (-u.count, u.producer, u.consumer))
    top = [f"{_bare(u.producer)} -> {_bare(u.consumer)} {u.count}" for u in pairs[:_PAIRS]]
    edges = count(report.summary.uncovered_edges, "edge")
    if not top:
        return [edges]
    return [f"{edges}: {top[0]}", *top[1:], *["..."] * (len(pairs) > _PAIRS)]


def _bare(op: str) -> str:
    return op.rpartition(".")[2]
