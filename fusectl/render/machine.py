"""JSON for machines: a whole report, or one decision, finding or change per line."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fusectl.render.options import Options
from fusectl.report.comparison import Comparison
from fusectl.report.lint import LintReport
from fusectl.report.types import Record, Report

_BATCH = 256
"""Decisions that are written at once: the text of a large report is many times its records."""
_OPEN = b'"decisions": ['


def to_json(report: Report, options: Options) -> Iterator[bytes]:
    """Yield the report as indented JSON, piece by piece."""
    decisions = report.decisions
    frame = msgspec.structs.replace(report, decisions=()).json(indent=2)
    if not decisions:
        yield visible(frame) + b"\n"
        return
    # The decisions are the last field of the report, so the frame ends with their empty list.
    head, _, tail = frame.rpartition(_OPEN)
    yield visible(head + _OPEN)
    for start in range(0, len(decisions), _BATCH):
        inner = msgspec.json.encode({"decisions": decisions[start : start + _BATCH]})
        # Formatted at the depth where it stands; the brackets around it are those of the frame.
        text = msgspec.json.format(inner, indent=2)
        body = text[text.index(b"[") + 1 : text.rindex(b"\n  ]")]
        yield visible(b"," + body if start else body)
    yield b"\n  " + tail + b"\n"


def to_jsonl(report: Report, options: Options) -> Iterator[bytes]:
    """Yield one decision per line: its own fields after the model's path and the target's id."""
    head = msgspec.json.encode({"model": report.model.path, "target": report.target.id})
    for decision in report.decisions:
        yield visible(head[:-1] + b"," + msgspec.json.encode(decision)[1:]) + b"\n"


def record_to_json(record: Record) -> bytes:
    """Return any record as indented JSON."""
    return visible(record.json(indent=2)) + b"\n"


def lint_jsonl(report: LintReport) -> bytes:
    """Return one finding per line."""
    return visible(b"".join(msgspec.json.encode(f) + b"\n" for f in report.findings))


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
