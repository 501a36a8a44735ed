"""Small models with hand-written answers: each expectation is one test."""

from pathlib import Path

import pytest

from fusectl import api
from tests.cases.expectations import (
    DATA,
    Case,
    complaint,
    load_cases,
    load_files,
    load_met_needs,
    load_pending,
    reason_to_skip,
    report_for,
)

CASES = load_cases()
PENDING = load_pending()


def _parameters() -> list[object]:
    return [pytest.param(case, id=case.id, marks=_marks(case)) for case in CASES]


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    """Arguable expectations may fail; pending ones must, so that they are seen when they pass."""
    pending = PENDING.get(case.id) or PENDING.get(case.file)
    if pending:
        return [pytest.mark.xfail(strict=True, reason=pending)]
    if not case.expectation.sure:
        return [pytest.mark.xfail(strict=False, reason=case.expectation.note or "arguable")]
    return []


@pytest.mark.parametrize("case", _parameters())
def test_expectation(case: Case, tmp_path: Path) -> None:
    skip = reason_to_skip(case)
    if skip:
        pytest.skip(skip)
    expectation = case.expectation
    wrong = complaint(report_for(case, tmp_path), expectation)
    assert wrong is None, (
        f"{case.file}, {expectation.target}, {expectation.value} -> {expectation.consumer}: "
        f"expected {expectation.summary()}, {wrong}"
    )


@pytest.mark.parametrize("file", [entry.file for entry in load_files()])
def test_report_is_sound(file: str) -> None:
    """Also models about which nothing is asserted must be read."""
    report = api.explain(DATA / file, target="ideal")
    for decision in report.decisions:
        blocked = any(finding.status != "pass" for finding in decision.findings)
        assert blocked == (decision.verdict == "keep"), decision.id
        assert (decision.headline is None) == (decision.verdict == "fuse"), decision.id


def test_every_model_has_its_entry() -> None:
    assert sorted(entry.file for entry in load_files()) == sorted(
        path.name for path in DATA.glob("*.onnxtxt")
    )


def test_pending_names_something() -> None:
    known = {case.id for case in CASES} | {case.file for case in CASES}
    assert set(PENDING) <= known


def test_needs_are_spelled_as_in_the_expectations() -> None:
    assert set(load_met_needs()) <= {case.expectation.needs for case in CASES}


def test_no_decision_where_nothing_can_fuse() -> None:
    """Two functions in a row that no rule covers: no candidate, one uncovered edge."""
    report = api.explain(DATA / "123-no-rule.onnxtxt", target="ideal")
    assert not report.decisions
    assert report.summary.uncovered_edges == 1
