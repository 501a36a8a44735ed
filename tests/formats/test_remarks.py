"""Remarks as LLVM's own tools read them, where they are installed, and as YAML everywhere."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fusectl.render import render
from fusectl.render.lint_formats import LintOptions, render_lint
from fusectl.report.lint import LintReport
from fusectl.report.types import Report
from tests.formats import reports
from tests.render import examples, factory

VIEWERS = sorted(Path("/usr/lib").glob("llvm-*/share/opt-viewer"))


class _Loader(yaml.SafeLoader):
    """Reads ``!Passed {...}`` as the kind beside the fields."""


def _field(loader: Any, suffix: str, node: yaml.MappingNode) -> dict[str, Any]:
    return {"kind": suffix, **loader.construct_mapping(node, deep=True)}


_Loader.add_multi_constructor("!", _field)


def _read(text: str) -> list[dict[str, Any]]:
    return list(yaml.load_all(text, Loader=_Loader))


def _lint(report: LintReport) -> str:
    made = render_lint(report, "remarks", LintOptions())
    assert isinstance(made, str)
    return made


def _explain(report: Report) -> str:
    made = render(report, "remarks")
    assert isinstance(made, str)
    return made


def _message(remark: dict[str, Any]) -> str:
    """What a viewer shows: the values end to end."""
    assert all(len(arg) == 1 for arg in remark["Args"])
    return "".join(value for arg in remark["Args"] for value in arg.values())


@pytest.mark.parametrize("name", ["chain", "three_blockers", "hostile", "encoder", "no_candidates"])
def test_one_remark_a_decision(name: str) -> None:
    report = getattr(examples, name)()
    found = _read(_explain(report))
    kinds = ["Passed" if d.verdict == "fuse" else "Missed" for d in report.decisions]
    assert [r["kind"] for r in found] == kinds
    assert [r["Pass"] for r in found] == [d.rule for d in report.decisions]
    assert [r["Name"] for r in found] == [d.headline or "fused" for d in report.decisions]


def test_a_missed_remark_names_every_blocker() -> None:
    report = examples.three_blockers()
    for decision, remark in zip(report.decisions, _read(_explain(report)), strict=True):
        assert all(f"{f.reason}" in _message(remark) for f in decision.blockers)


def test_the_exporters_line_is_the_place() -> None:
    decision = factory.decision("mm:MatMul", "act:Relu", source="model.py:157 in forward")
    found = _read(_explain(factory.report([decision])))
    assert found[0]["DebugLoc"] == {"File": "model.py", "Line": 157, "Column": 0}


def test_without_a_line_there_is_no_place() -> None:
    found = _read(_explain(factory.report([factory.decision("mm:MatMul", "act:Relu")])))
    assert "DebugLoc" not in found[0]


def test_kinds_of_findings() -> None:
    found = _read(_lint(reports.mixed()))
    assert [(r["kind"], r["Name"]) for r in found] == [
        ("Missed", "fusion-lost"),
        ("Missed", "unfused"),
        ("Passed", "fusion-gained"),
        ("Analysis", "unfused"),
        ("Analysis", "budget"),
        ("Analysis", "model-unusable"),
    ]
    assert found[1]["DebugLoc"] == {"File": "model.py", "Line": 157, "Column": 0}
    assert found[0]["DebugLoc"] == {"File": "fusion.lock.yaml", "Line": 7, "Column": 0}


@pytest.mark.parametrize("name", ["empty", "hostile", "many"])
def test_hostile_names_stay_inside_their_remark(name: str) -> None:
    report = getattr(reports, name)()
    found = _read(_lint(report))
    assert len(found) == len(report.findings)
    assert all(_message(r).strip() for r in found)


def _with_sources() -> str:
    """Remarks with a place, without which the viewers show nothing."""
    return _lint(reports.hostile()) + _lint(reports.mixed())


@pytest.mark.skipif(not shutil.which("llvm-opt-report"), reason="llvm-opt-report is not installed")
def test_llvm_reads_them(tmp_path: Path) -> None:
    """LLVM's own parser, which knows no quotes but single ones and refuses unknown keys."""
    path = tmp_path / "net.opt.yaml"
    for text, code in ((_with_sources(), 0), (_with_sources().replace("Name:", "Nom:", 1), 1)):
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["llvm-opt-report", "-no-demangle", str(path)], capture_output=True, check=False
        )
        assert done.returncode == code, done.stderr


@pytest.mark.skipif(not VIEWERS, reason="opt-viewer is not installed")
def test_opt_viewer_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.opt.yaml"
    path.write_text(_with_sources(), encoding="utf-8")
    monkeypatch.syspath_prepend(str(VIEWERS[-1]))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec = importlib.util.spec_from_file_location("optrecord", VIEWERS[-1] / "optrecord.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, remarks, files = module.get_remarks(str(path))
    findings = [*reports.hostile().findings, *reports.mixed().findings]
    assert len(remarks) == sum(bool(f.where.line or f.source) for f in findings)
    assert "model.py" in files
    assert all(r.message for r in remarks.values())
