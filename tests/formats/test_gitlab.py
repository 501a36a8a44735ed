"""Code Quality as GitLab documents it."""

import json
from typing import Any

import pytest

from fusectl.render.lint_formats import LintOptions, render_lint
from fusectl.report.lint import LintReport
from tests.formats import reports

KEYS = {"description", "check_name", "fingerprint", "severity", "location"}
SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


def _issues(report: LintReport) -> Any:
    return json.loads(render_lint(report, "gitlab", LintOptions()))


@pytest.mark.parametrize("name", ["empty", "mixed", "hostile", "many"])
def test_every_finding_that_counts_is_an_issue(name: str) -> None:
    report = getattr(reports, name)()
    issues = _issues(report)
    assert len(issues) == sum(not f.suppressed for f in report.findings)
    assert len({i["fingerprint"] for i in issues}) == len(issues)
    for issue in issues:
        assert set(issue) == KEYS
        assert issue["severity"] in SEVERITIES
        assert issue["location"]["lines"]["begin"] >= 1
        assert not issue["location"]["path"].startswith(("/", "./"))
        assert issue["description"]


def test_severities_follow_the_policy() -> None:
    found = {i["check_name"]: i["severity"] for i in _issues(reports.mixed())}
    assert found == {
        "fusectl/fusion-lost": "major",
        "fusectl/unfused": "minor",
        "fusectl/fusion-gained": "info",
        "fusectl/budget": "major",
        "fusectl/model-unusable": "critical",
    }


def test_a_fingerprint_does_not_depend_on_what_else_is_found() -> None:
    whole = reports.mixed()
    alone = reports.report(whole.findings[1])
    assert _issues(alone)[0]["fingerprint"] in {i["fingerprint"] for i in _issues(whole)}
