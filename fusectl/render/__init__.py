"""Renderers: from the report to text for people and formats for machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fusectl.program import Program
from fusectl.render.options import Options
from fusectl.report.types import Report

__all__ = ["FORMATS", "Options", "Renderer", "pieces", "program_text", "render"]

Renderer = Callable[[Report, Options], str | Iterable[bytes]]


def _text(report: Report, options: Options) -> str:
    from fusectl.render.text import to_text

    return to_text(report, options)


def _concise(report: Report, options: Options) -> str:
    from fusectl.render.concise import to_concise

    return to_concise(report, options)


def _json(report: Report, options: Options) -> Iterable[bytes]:
    from fusectl.render.machine import to_json

    return to_json(report, options)


def _jsonl(report: Report, options: Options) -> Iterable[bytes]:
    from fusectl.render.machine import to_jsonl

    return to_jsonl(report, options)


def _markdown(report: Report, options: Options) -> str:
    from fusectl.render.markdown import to_markdown

    return to_markdown(report, options)


def _remarks(report: Report, options: Options) -> str:
    from fusectl.render.remarks import to_remarks

    return to_remarks(report, options)


def program_text(program: Program, full: bool = False) -> str:
    """Return a program for people as a string, without colour."""
    import io

    from rich.console import Console

    from fusectl.render.program import render_program

    file = io.StringIO()
    render_program(program, Console(file=file, width=80, color_system=None), full)
    return file.getvalue()


FORMATS: dict[str, Renderer] = {
    "text": _text,
    "concise": _concise,
    "json": _json,
    "jsonl": _jsonl,
    "markdown": _markdown,
    "remarks": _remarks,
}
"""Renderers by name. Each loads what it needs when called: JSON needs no ``rich``."""


def render(report: Report, format: str, options: Options | None = None) -> str | bytes:
    """Return a report in one of ``FORMATS``; text for a terminal is ``text.render_text``."""
    made = pieces(report, format, options or Options())
    return made if isinstance(made, str) else b"".join(made)


def pieces(report: Report, format: str, options: Options) -> str | Iterable[bytes]:
    """Return a report as text, or as the pieces of a machine format that may be very long."""
    return FORMATS[format](report, options)
