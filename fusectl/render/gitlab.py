"""A Code Quality report for GitLab.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib

import msgspec

from fusectl.render.lint_codes import UNANSWERED
from fusectl.render.lint_words import identities, paragraphs, place
from fusectl.render.machine import visible
from fusectl.render.options import LintOptions
from fusectl.report.lint import LintFinding, LintReport, Severity
from fusectl.report.types import Record

_SEVERITIES: dict[Severity, str] = {"error": "major", "warning": "minor", "info": "info"}


class _Lines(Record, frozen=True, gc=False):
    begin: int


class _Location(Record, frozen=True, gc=False):
    path: str
    lines: _Lines


class _Issue(Record, frozen=True, gc=False):
    description: str
    check_name: str
    fingerprint: str
    severity: str
    location: _Location


def to_gitlab(report: LintReport, options: LintOptions) -> bytes:
    """Return the findings that count as issues; those that are suppressed are left out.

    GitLab merges issues with equal fingerprints, so each has one of its own.
    """
    found = [
        _issue(finding, identity, report, options)
        for finding, identity in identities(report)
        if finding.suppressed is None
    ]
    return visible(msgspec.json.format(msgspec.json.encode(found), indent=2)) + b"\n"


def _issue(finding: LintFinding, identity: str, report: LintReport, options: LintOptions) -> _Issue:
    where = place(finding, report, options.folder)
    severity = "critical" if finding.code in UNANSWERED else _SEVERITIES[finding.severity]
    return _Issue(
        " ".join(paragraphs(finding)),
        f"fusectl/{finding.code}",
        hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest(),
        severity,
        _Location(where.path, _Lines(where.line)),
    )
