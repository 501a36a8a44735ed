"""The text for people: what matters first, then the summary, the decisions, the notes."""

from __future__ import annotations

import io

from rich.console import Console

from fusectl.render.causes import fixes, kept_groups
from fusectl.render.difference import add_programs
from fusectl.render.fused import add_fused
from fusectl.render.kept import add_kept
from fusectl.render.matters import add_matters, first_causes
from fusectl.render.options import Options
from fusectl.render.sheet import Sheet
from fusectl.render.single import add_single
from fusectl.render.summary import add_summary, add_title
from fusectl.render.tail import add_tail, add_uncovered
from fusectl.report.types import Report

_FEW = 8
"""Up to so many decisions are told one by one."""
_SHORT, _LONG = 40, 60
"""Lines that the default text takes for a small and for a large model."""
_MANY = 100


def render_text(report: Report, console: Console, options: Options | None = None) -> None:
    """Print a report for people."""
    options = options or Options()
    sheet = Sheet(console)
    add_title(sheet, report, options)
    groups = kept_groups(report.decisions)
    single = options.why or options.full or len(report.decisions) <= _FEW
    shown = None if options.full else 3
    if report.decisions and not report.summary.keep:
        sheet.blank()
        sheet.add(("Every candidate fuses.", "bold green"))
    elif report.decisions:
        add_matters(sheet, groups, shown, brief=single)
    add_summary(sheet, report)
    tail = Sheet(console)
    if options.uncovered:
        add_uncovered(tail, report)
    listed = len(tail)
    add_programs(tail, report, single)
    add_tail(tail, report)
    if single:
        for decision in report.decisions:
            add_single(sheet, decision, report, options.why)
    else:
        limit = _SHORT if len(report.decisions) <= _MANY else _LONG
        add_fused(sheet, report, lines=max(min((limit - len(sheet)) // 2, 16), 5))
        ranked = first_causes(fixes(groups), shown)
        add_kept(sheet, groups, ranked, lines=limit - len(sheet) - (len(tail) - listed) - 1)
    sheet.blank()
    sheet.lines.extend(tail.lines)
    sheet.trim()
    sheet.print()


def to_text(report: Report, options: Options) -> str:
    """Return the text for people as a string, without colour."""
    file = io.StringIO()
    render_text(report, Console(file=file, width=options.width, color_system=None), options)
    return file.getvalue()
