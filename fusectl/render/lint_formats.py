"""The formats of ``lint``: one entry a format, each loading what it needs when called."""

from __future__ import annotations

from collections.abc import Callable

from fusectl.render.options import LintOptions
from fusectl.report.lint import LintReport

__all__ = ["LINT_FORMATS", "LintOptions", "LintRenderer", "render_lint"]

LintRenderer = Callable[[LintReport, LintOptions], str | bytes]


def _text(report: LintReport, options: LintOptions) -> str:
    from fusectl.render.lint_text import to_lint_text

    return to_lint_text(report)


def _concise(report: LintReport, options: LintOptions) -> str:
    from fusectl.render.lint_text import to_lint_concise

    return to_lint_concise(report)


def _json(report: LintReport, options: LintOptions) -> bytes:
    from fusectl.render.machine import record_to_json

    return record_to_json(report)


def _jsonl(report: LintReport, options: LintOptions) -> bytes:
    from fusectl.render.machine import lint_jsonl

    return lint_jsonl(report)


def _markdown(report: LintReport, options: LintOptions) -> str:
    from fusectl.render.lint_markdown import lint_markdown

    return lint_markdown(report, options)


def _github(report: LintReport, options: LintOptions) -> str:
    from fusectl.render.github import to_github

    return to_github(report, options)


def _gitlab(report: LintReport, options: LintOptions) -> bytes:
    from fusectl.render.gitlab import to_gitlab

    return to_gitlab(report, options)


def _sarif(report: LintReport, options: LintOptions) -> bytes:
    from fusectl.render.sarif import to_sarif

    return to_sarif(report, options)


def _junit(report: LintReport, options: LintOptions) -> bytes:
    from fusectl.render.junit import to_junit

    return to_junit(report, options)


def _remarks(report: LintReport, options: LintOptions) -> str:
    from fusectl.render.remarks import lint_remarks

    return lint_remarks(report, options)


LINT_FORMATS: dict[str, LintRenderer] = {
    "text": _text,
    "concise": _concise,
    "json": _json,
    "jsonl": _jsonl,
    "markdown": _markdown,
    "github": _github,
    "gitlab": _gitlab,
    "sarif": _sarif,
    "junit": _junit,
    "remarks": _remarks,
}
"""Renderers by name, in the order in which ``--format`` offers them."""


def render_lint(report: LintReport, format: str, options: LintOptions | None = None) -> str | bytes:
    """Return what ``lint`` found in one of ``LINT_FORMATS``."""
    return LINT_FORMATS[format](report, options or LintOptions())
