"""What ``lint`` found, for people: each finding with its cause and what would accept it."""

from __future__ import annotations

import io
from itertools import groupby

from rich.console import Console
from rich.text import Text

from fusectl.render.changes import ends, grep_edge, state
from fusectl.render.names import escape
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count
from fusectl.report.lint import LintFinding, LintReport

_ALIKE = 4
"""Findings like the one before that are shown; the other formats have all."""
_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold"}


def render_lint_text(report: LintReport, console: Console) -> None:
    """Print what was found for people."""
    sheet = Sheet(console)
    told = [f for f in report.findings if f.suppressed is None]
    for (model, target), findings in groupby(told, key=lambda f: (f.model, f.target)):
        sheet.blank()
        if model:
            sheet.add((model, "bold"), f" on {target}" if target else "")
        _add_findings(sheet, list(findings))
    sheet.blank()
    _add_sums(sheet, report)
    sheet.trim()
    sheet.print()


def to_lint_text(report: LintReport, width: int = 80) -> str:
    """Return the text for people as a string, without colour."""
    file = io.StringIO()
    render_lint_text(report, Console(file=file, width=width, color_system=None))
    return file.getvalue()


def to_lint_concise(report: LintReport) -> str:
    """Return one line per finding, made for grep: ``PLACE: severity: code: message``."""
    told = (f for f in report.findings if f.suppressed is None)
    return "".join(f"{escape(_line(f))}\n" for f in told)


def _line(finding: LintFinding) -> str:
    name = finding.model or finding.where.path
    edge = f" {grep_edge(finding.edge)}:" if finding.edge is not None else ""
    on = f" [{finding.target}]" if finding.target else ""
    text = finding.message
    if finding.before is not None or (finding.after is not None and finding.matched):
        text = f"{state(finding.before)} -> {state(finding.after)}"
    cause = f": {finding.cause}" if finding.cause else ""
    rule = f" {finding.rule}" if finding.rule else ""
    head = f"{name}:{edge} {finding.severity} {finding.code}{rule}{on}"
    return f"{head}: {text}{cause} ({finding.fingerprint})"


def _add_findings(sheet: Sheet, findings: list[LintFinding]) -> None:
    """Tell findings that are alike once, with the other edges below."""
    groups: dict[object, list[LintFinding]] = {}
    for finding in findings:
        groups.setdefault(_kind(finding), []).append(finding)
    for first, *alike in groups.values():
        _add_finding(sheet, first, 1 + len(alike))
        for other in alike[:_ALIKE]:
            tail = f"  --accept {other.fingerprint}" if other.accept else f"  {other.fingerprint}"
            if other.edge is not None:
                edge = ends(other.edge, sheet.width - 8 - len(tail), sheet.encoding)
                sheet.add("also ", edge, (tail, "dim"), indent=4, hang=2)
        if len(alike) > _ALIKE:
            more = f"and {len(alike) - _ALIKE} more; --format concise lists all"
            sheet.add(more, indent=4, hang=2)


def _kind(finding: LintFinding) -> object:
    """Return what findings share that are told together; those without an edge stand alone."""
    if finding.edge is None:
        return finding.fingerprint
    answers = (finding.before, finding.after)
    states = tuple((a.verdict, a.blockers) if a is not None else None for a in answers)
    return finding.code, finding.severity, finding.rule, finding.matched, states


def _add_finding(sheet: Sheet, finding: LintFinding, count: int) -> None:
    head = (f"{finding.severity} {finding.code}", _STYLES[finding.severity])
    times = f"  {count}x" if count > 1 else ""
    if finding.edge is not None:
        edge = ends(finding.edge, sheet.width - 4, sheet.encoding)
        rule = f"  {finding.rule}" if finding.rule else ""
        sheet.add(head, f"{rule}{times}", indent=2, hang=2)
        sheet.add(edge, indent=4, hang=2)
    else:
        sheet.add(head, indent=2)
    if finding.before is not None or (finding.after is not None and not _is_demand(finding)):
        way = f"{state(finding.before)} -> {state(finding.after)}"
        by = f"; matched by {finding.matched}" if finding.matched else ""
        sheet.add(f"{way}{by}", indent=4, hang=2)
    else:
        sheet.add(f"{finding.message}.", indent=4, hang=2)
    if finding.cause:
        sheet.add(("cause: ", "cyan"), f"{finding.cause}.", indent=4, hang=2)
    if finding.help:
        sheet.add(("help: ", "green"), f"{finding.help}.", indent=4, hang=2)
    if finding.source:
        sheet.add(f"source: {finding.source}", indent=4, hang=2)
    if finding.where.line:
        place = f"{finding.where.path}:{finding.where.line}:{finding.where.column}"
        sheet.add(f"at {place}", indent=4, hang=2)
    if finding.accept:
        # Never wrapped: it is there to be copied.
        command = escape(finding.accept, sheet.encoding)
        sheet.lines.append(Text.assemble("    ", ("accept: ", "dim"), command))
    elif finding.severity != "info":
        sheet.add((f"fingerprint: {finding.fingerprint}", "dim"), indent=4, hang=2)


def _is_demand(finding: LintFinding) -> bool:
    """Tell whether a finding is about what the policy asks, and not about a change."""
    return finding.code in ("unfused", "must-fuse", "must-not-fuse", "budget")


def _add_sums(sheet: Sheet, report: LintReport) -> None:
    summary = report.summary
    counts = [
        count(number, noun) if noun != "info" else f"{number} info"
        for number, noun in (
            (summary.error, "error"),
            (summary.warning, "warning"),
            (summary.info, "info"),
        )
        if number
    ]
    if summary.suppressed:
        counts.append(f"{summary.suppressed} suppressed")
    candidates = sum(m.candidates for m in report.models)
    fused = sum(m.fuse for m in report.models)
    targets = ", ".join(dict.fromkeys(m.target for m in report.models))
    style = "bold red" if summary.error else "bold yellow" if summary.warning else "bold green"
    sheet.add((", ".join(counts) or "No findings", style))
    held = f", held to {report.baseline}" if report.baseline else ""
    where = f" on {targets}" if targets else ""
    sheet.add(
        f"{count(summary.models, 'model')}{where}: {fused} of {count(candidates, 'candidate')} "
        f"fused{held}",
        hang=2,
    )
