"""Markdown of ``lint`` for a pull request: counts, a table by cause, the findings folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from fusectl.render.comment import Fold, compose
from fusectl.render.lint_words import counted, ends
from fusectl.render.markup import code, prose
from fusectl.render.names import shorten
from fusectl.render.options import LintOptions
from fusectl.render.wording import count
from fusectl.report.lint import LintFinding, LintReport, Severity

_ROWS = 25
_ROOM = 400
"""Cells of a sentence: a message quotes names, and names can be very long."""

_WHOLE = "`fusectl lint --format json` has all of it."

_Groups = Sequence[tuple[str, list[LintFinding]]]


def lint_markdown(report: LintReport, options: LintOptions) -> str:
    """Return what ``lint`` found for a pull-request comment, short enough to be one."""
    groups = _groups(report)
    head = [_heading(report), *_table(groups)]
    folds = [Fold(_named(cause, found), tuple(map(_item, found))) for cause, found in groups]
    held = tuple(_held(f) for f in report.findings if f.suppressed is not None)
    if held:
        folds.append(Fold(f"Suppressed ({len(held)})", held))
    folds.append(_models(report))
    return compose(head, folds, "line", _WHOLE)


def _heading(report: LintReport) -> str:
    summary = report.summary
    told = [
        count(n, noun) for n, noun in ((summary.error, "error"), (summary.warning, "warning")) if n
    ]
    if summary.info:
        told.append(f"{summary.info} for information")
    if summary.suppressed:
        told.append(f"{summary.suppressed} suppressed")
    return (
        f"### Fusion lint: {', '.join(told) or 'no findings'} in {count(summary.models, 'model')}"
    )


def _groups(report: LintReport) -> _Groups:
    """Return the findings that count by severity, code and cause, the most frequent first."""
    order = {severity: place for place, severity in enumerate(get_args(Severity))}
    found: dict[tuple[int, str, str], list[LintFinding]] = {}
    for finding in counted(report):
        key = (order[finding.severity], finding.code, finding.cause or finding.reason)
        found.setdefault(key, []).append(finding)
    ranked = sorted(found.items(), key=lambda pair: (pair[0][0], -len(pair[1])))
    return [(key[2], members) for key, members in ranked]


def _named(cause: str, found: Sequence[LintFinding]) -> str:
    told = f": {cause}" if cause else ""
    return f"{found[0].code} ({len(found)}){told}"


def _table(groups: _Groups) -> Iterator[str]:
    if not groups:
        return
    lines = ["| severity | what | findings | cause |", "|---|---|---:|---|"]
    for cause, found in groups[:_ROWS]:
        first = found[0]
        told = _sentence(cause or first.message)
        lines.append(f"| {first.severity} | {first.code} | {len(found)} | {told} |")
    if len(groups) > _ROWS:
        rest = sum(len(found) for _, found in groups[_ROWS:])
        lines.append(f"| | and {count(len(groups) - _ROWS, 'other cause')} | {rest} | |")
    yield "\n".join(lines)


def _sentence(text: str) -> str:
    return prose(shorten(" ".join(text.split()), _ROOM))


def _item(finding: LintFinding) -> str:
    lines = [f"- {_subject(finding)}", _sentence(finding.message)]
    if finding.help:
        lines.append(f"**help:** {_sentence(finding.help)}")
    if finding.accept:
        lines.append(f"**accept:** {code(finding.accept)}")
    return "<br>\n  ".join(lines)


def _subject(finding: LintFinding) -> str:
    by = f" {code(finding.rule)}" if finding.rule else ""
    where = " on ".join(code(t) for t in (finding.model, finding.target) if t)
    if finding.edge is None:
        return f"{where or code(finding.where.path)}{by}"
    return f"{code(ends(finding.edge))}{by} in {where}"


def _held(finding: LintFinding) -> str:
    held = finding.suppressed
    why = _sentence(held.reason) if held else ""
    until = f" (until {prose(held.expires)})" if held and held.expires else ""
    return f"- {finding.code}: {_subject(finding)}<br>\n  {why}{until}"


def _models(report: LintReport) -> Fold:
    lines = [
        "| model | target | candidates | fuse | keep | findings |\n|---|---|---:|---:|---:|---:|"
    ]
    for model in report.models:
        names = f"{code(model.model, cell=True)} | {code(model.target, cell=True)}"
        if model.error:
            lines.append(f"| {names} | {_sentence(model.error)} | | | {model.findings} |")
            continue
        numbers = (model.candidates, model.fuse, model.keep, model.findings)
        lines.append(f"| {names} | {' | '.join(map(str, numbers))} |")
    return Fold(f"Models ({len(report.models)})", tuple(lines) if report.models else ())
