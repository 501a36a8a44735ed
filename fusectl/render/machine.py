"""JSON for machines: a whole report, or one decision, finding or change per line."""

from __future__ import annotations

import msgspec

from fusectl.render.options import Options
from fusectl.report.comparison import Comparison
from fusectl.report.lint import LintReport
from fusectl.report.types import Report


def to_json(report: Report, options: Options) -> bytes:
    """Return the report as indented JSON."""
    return visible(report.json(indent=2)) + b"\n"


def to_jsonl(report: Report, options: Options) -> bytes:
    """Return one decision per line: its own fields after the model's path and the target's id."""
    head = {"model": report.model.path, "target": report.target.id}
    lines = (msgspec.json.encode(head | msgspec.to_builtins(d)) + b"\n" for d in report.decisions)
    return visible(b"".join(lines))


def lint_json(report: LintReport) -> bytes:
    """Return what ``lint`` found as indented JSON."""
    return visible(report.json(indent=2)) + b"\n"


def lint_jsonl(report: LintReport) -> bytes:
    """Return one finding per line."""
    return visible(b"".join(msgspec.json.encode(f) + b"\n" for f in report.findings))


def comparison_json(comparison: Comparison) -> bytes:
    """Return a comparison as indented JSON."""
    return visible(comparison.json(indent=2)) + b"\n"


def comparison_jsonl(comparison: Comparison) -> bytes:
    """Return one change per line: its own fields after the labels of both sides."""
    head = {"a": comparison.a.label, "b": comparison.b.label}
    lines = (msgspec.json.encode(head | msgspec.to_builtins(c)) + b"\n" for c in comparison.changes)
    return visible(b"".join(lines))


def visible(encoded: bytes) -> bytes:
    """Return JSON with escapes for what a terminal would obey: DEL, C1, bidi marks.

    JSON itself may carry them as they are.
    """
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    text = encoded.decode("utf-8")
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text).encode("utf-8")


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
