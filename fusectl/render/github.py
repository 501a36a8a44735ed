"""Annotations for GitHub: workflow commands, one a finding.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from fusectl.render.lint_words import counted, paragraphs, place, tally, title
from fusectl.render.names import escape
from fusectl.render.options import LintOptions
from fusectl.report.lint import LintFinding, LintReport, Place, Severity

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
_SHOWN = 10
"""Annotations of one level that GitHub shows for one step; it drops the others silently."""


def to_github(report: LintReport, options: LintOptions) -> str:
    """Return the findings as annotations, errors first; nothing for a clean run.

    Where there are more of a level than GitHub shows, the last one that it shows counts the
    rest. They follow all the same: the log has them.
    """
    found = list(counted(report))
    lines: list[str] = []
    for severity in get_args(Severity):
        here = [f for f in found if f.severity == severity]
        lines += _level(severity, here, report, options)
    return "".join(f"{line}\n" for line in lines)


def _level(
    severity: Severity, found: Sequence[LintFinding], report: LintReport, options: LintOptions
) -> Iterator[str]:
    name = _COMMANDS[severity]
    most = _SHOWN if len(found) <= _SHOWN else _SHOWN - 1
    for index, finding in enumerate(found):
        if index == most:
            rest = found[most:]
            told = f"{len(rest)} more in the log: {tally(f.code for f in rest)}"
            yield _command(name, place(rest[0], report, options.folder), "fusectl", told)
        where = place(finding, report, options.folder)
        yield _command(name, where, title(finding), "\n".join(paragraphs(finding)))


def _command(name: str, where: Place, title: str, message: str) -> str:
    properties = {"file": escape(where.path), "line": str(where.line)}
    if where.column:
        properties["col"] = str(where.column)
    properties["title"] = title
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {told}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
