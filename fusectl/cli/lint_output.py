"""Where the formats of ``lint`` go, and what they are told beside the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fusectl.cli.options import lint_formats
from fusectl.cli.output import show, write

if TYPE_CHECKING:
    from rich.console import Console

    from fusectl.render.options import LintOptions
    from fusectl.report.lint import LintReport


def pairs(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Return format and file of each ``FORMAT=FILE``. Raises BadParameter."""
    found: list[tuple[str, str]] = []
    known = lint_formats() if values else ()
    for value in values:
        form, equals, path = value.partition("=")
        if form not in known or not equals or not path:
            formats = ", ".join(known)
            raise click.BadParameter(f"{value!r} is not FORMAT=FILE; formats: {formats}")
        found.append((form, path))
    return tuple(found)


def emit(
    report: LintReport, form: str, output: str, also: tuple[tuple[str, str], ...], start: Path
) -> None:
    """Write a report in one format, and in others to files; ``start``: where its paths start."""
    from fusectl.render.lint_formats import render_lint

    options = _options(start)
    for other, path in also:
        write(render_lint(report, other, options), path)
    if form == "text" and output in ("", "-"):

        def draw(console: Console) -> None:
            from fusectl.render.lint_text import render_lint_text

            render_lint_text(report, console)

        show(draw)
        return
    write(render_lint(report, form, options), output)


def _options(start: Path) -> LintOptions:
    from fusectl.reasons import page
    from fusectl.render.options import LintOptions

    folder = start.relative_to(_top(start)).as_posix()
    return LintOptions(page, "" if folder == "." else folder)


def _top(start: Path) -> Path:
    """Return the top of the repository; outside of one, where the paths start."""
    folders = (start, *start.parents)
    return next((f for f in folders if (f / ".git").exists()), start)
