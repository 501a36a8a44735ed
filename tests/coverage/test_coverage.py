"""Every reason alone, with a twin that fuses; and no check that nobody would miss.

FUSECTL_REGENERATE=1 writes the `#|` lines of the cases anew; the marks are never touched.
"""

import difflib
import os
from dataclasses import replace

import onnx
import pytest

from fusectl.checks import CHECKS, Check
from fusectl.cli.cases import Mark
from fusectl.decide import judge
from fusectl.reasons import REASONS
from fusectl.report.types import Report
from tests.coverage.cases import DATA, TWIN, Case, complaints, load_cases, report_of

CASES = load_cases()
PAIRS = {name: f"{name}{TWIN}" for name in CASES if f"{name}{TWIN}" in CASES}
MOST = 3
"""Lines in which a twin may differ: the fact, what declares it, what reads it."""


def _marked(name: str) -> object:
    bug = CASES[name].flags.get("bug")
    return pytest.param(name, marks=[pytest.mark.xfail(strict=True, reason=bug)] if bug else [])


@pytest.mark.parametrize("name", [_marked(name) for name in CASES])
def test_marks(name: str) -> None:
    """What was written by hand beside the lines."""
    assert not complaints(CASES[name], report_of(name))


@pytest.mark.parametrize("name", CASES)
def test_output_is_the_reviewed_one(name: str) -> None:
    case = CASES[name]
    if os.environ.get("FUSECTL_REGENERATE"):
        case.regenerate(report_of(name))
        return
    assert case.concise(report_of(name)) == case.printed


@pytest.mark.parametrize("name", CASES)
def test_model_is_valid(name: str) -> None:
    """The file loads as it stands; only a case that says so is not valid."""
    case = CASES[name]
    with pytest.warns(UserWarning, match="experimental"):
        model = onnx.load(case.path)
    if "invalid" in case.flags:
        with pytest.raises(onnx.shape_inference.InferenceError):
            onnx.checker.check_model(model, full_check=True)
    else:
        onnx.checker.check_model(model, full_check=True)


@pytest.mark.parametrize("name", CASES)
def test_case_says_what_it_is_for(name: str) -> None:
    case = CASES[name]
    head = case.text.partition("\n<")[0].splitlines()
    assert case.marks, "no mark: it would pass whatever the tool says"
    assert head[-1].endswith((".", "?")), "a sentence says why the case exists"
    assert head[-1].count("#") == 1


def _told(mark: Mark) -> tuple[str, str, str]:
    return (mark.value, mark.node, mark.rule)


@pytest.mark.parametrize("name", PAIRS)
def test_twin_differs_in_one_fact(name: str) -> None:
    case, twin = CASES[name], CASES[PAIRS[name]]
    accepted = {_told(m) for m in twin.marks if m.kind == "accept"}
    rejected = {_told(m) for m in case.marks if m.kind == "reject"}
    assert any(m.kind == "uncovered" for m in case.marks) or accepted & rejected
    changed = [line[0] for line in difflib.ndiff(case.facts, twin.facts)]
    assert 0 < max(changed.count("-"), changed.count("+")) <= MOST


def test_twins_have_a_case() -> None:
    assert {c.twin for c in CASES.values() if c.twin} == set(PAIRS)


def test_files_beside_the_cases_are_in_use() -> None:
    used = {value for case in CASES.values() for value in case.flags.values()}
    assert {path.name for path in DATA.glob("*.yaml")} <= used


def _alone(case: Case, twin: Case, uncovered: int) -> set[str]:
    """The reasons that are alone against an edge of the case which the twin fuses."""
    accepted = {_told(m) for m in twin.marks if m.kind == "accept"}
    rejects = [m for m in case.marks if m.kind == "reject" and _told(m) in accepted]
    alone = {slug for m in rejects if len(m.slugs) == 1 for slug in m.slugs}
    if any(m.kind == "uncovered" for m in case.marks) and not uncovered:
        alone.add("no-rule")
    return alone


def test_every_reason_is_alone_against_some_case() -> None:
    covered = {
        slug
        for name, twin in PAIRS.items()
        for slug in _alone(CASES[name], CASES[twin], report_of(twin).summary.uncovered_edges)
    }
    assert {slug for slug in covered if not slug.endswith("?")} == set(REASONS)


def _says(report: Report, check: Check) -> bool:
    """Whether a check speaks against something in a report."""
    found = (f for d in report.decisions for f in d.blockers)
    return any(f.required == check.requirement for f in found)


@pytest.mark.parametrize("name", CHECKS)
def test_no_check_can_be_removed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a check that always passes, some mark of some case fails."""
    check = CHECKS[name]
    concerned = [case for case in CASES.values() if _says(report_of(case.name), check)]
    monkeypatch.setitem(CHECKS, name, replace(check, run=lambda candidate, args: None))
    monkeypatch.setattr(judge, "_PLANS", {})
    if name == "path-exists":
        # It decides as well whether the target's other checks run at all.
        monkeypatch.setattr(judge, "path_outcome", lambda candidate: None)
    missed = [wrong for case in concerned for wrong in complaints(case, case.explain())]
    assert missed, f"{len(concerned)} cases meet {name}, and without it all their marks still hold"


def test_requirements_tell_checks_apart() -> None:
    """The test above finds the cases of a check by its requirement."""
    told = [check.requirement for check in CHECKS.values()]
    assert len(set(told)) == len(told)
