"""The formats of ``lint``: one entry a format, each loading what it needs when called."""

from __future__ import annotations

from collections.abc import Callable

from fusectl.report.lint import LintReport

__all__ = ["LINT_FORMATS", "LintRenderer", "render_lint"]

LintRenderer = Callable[[LintReport], str | bytes]


def _text(report: LintReport) -> str:
    from fusectl.render.lint_text import to_lint_text

    return to_lint_text(report)


def _concise(report: LintReport) -> str:
    from fusectl.render.lint_text import to_lint_concise

    return to_lint_concise(report)


def _json(report: LintReport) -> bytes:
    from fusectl.render.machine import lint_json

    return lint_json(report)


def _jsonl(report: LintReport) -> bytes:
    from fusectl.render.machine import lint_jsonl

    return lint_jsonl(report)


LINT_FORMATS: dict[str, LintRenderer] = {
    "text": _text,
    "concise": _concise,
    "json": _json,
    "jsonl": _jsonl,
}
"""Renderers by name, in the order in which ``--format`` offers them."""


def render_lint(report: LintReport, format: str) -> str | bytes:
    """Return what ``lint`` found in one of ``LINT_FORMATS``."""
    return LINT_FORMATS[format](report)
