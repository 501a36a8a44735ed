"""The formats of ``compare``: one entry a format, each loading what it needs when called."""

from __future__ import annotations

from collections.abc import Callable

from fusectl.report.comparison import Comparison

__all__ = ["COMPARISON_FORMATS", "ComparisonRenderer", "render_comparison"]

ComparisonRenderer = Callable[[Comparison], str | bytes]


def _text(comparison: Comparison) -> str:
    from fusectl.render.comparison_text import to_comparison_text

    return to_comparison_text(comparison)


def _concise(comparison: Comparison) -> str:
    from fusectl.render.comparison_text import to_comparison_concise

    return to_comparison_concise(comparison)


def _json(comparison: Comparison) -> bytes:
    from fusectl.render.machine import record_to_json

    return record_to_json(comparison)


def _jsonl(comparison: Comparison) -> bytes:
    from fusectl.render.machine import comparison_jsonl

    return comparison_jsonl(comparison)


def _markdown(comparison: Comparison) -> str:
    from fusectl.render.comparison_markdown import comparison_markdown

    return comparison_markdown(comparison)


COMPARISON_FORMATS: dict[str, ComparisonRenderer] = {
    "text": _text,
    "concise": _concise,
    "json": _json,
    "jsonl": _jsonl,
    "markdown": _markdown,
}
"""Renderers by name, in the order in which ``--format`` offers them."""


def render_comparison(comparison: Comparison, format: str) -> str | bytes:
    """Return a comparison in one of ``COMPARISON_FORMATS``."""
    return COMPARISON_FORMATS[format](comparison)
