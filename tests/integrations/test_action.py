"""The GitHub Action: its steps run by bash, with inputs as the runner gives them."""

import json
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integrations.shim import BROKEN, ROOT, environment, repository, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which("bash") or not shutil.which("git"), reason="bash or git is not installed"
    ),
]
PATHS = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
VENV = """#!/bin/sh
{python} "$@" && printf '{paths}\\n' > "$(echo "$3"/lib/python*/site-packages)/here.pth"
"""
"""A Python whose environments see the packages of this one, so that pip fetches none."""
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


@cache
def _action() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def _step(name: str) -> dict[str, Any]:
    (step,) = (s for s in _action()["runs"]["steps"] if s["id"] == name)
    assert isinstance(step, dict)
    return step


@dataclass
class Ran:
    code: int
    log: str
    outputs: dict[str, str]
    summary: str


def _run(name: str, folder: Path, cwd: Path, known: Mapping[str, str]) -> Ran:
    """Run one step as the runner does: ``bash -eo pipefail`` on a file, expressions filled in."""
    step = _step(name)
    inputs = {f"inputs.{key}": value["default"] for key, value in _action()["inputs"].items()}
    context = {**inputs, **known}
    files = {key: folder / key for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    env = environment(folder, RUNNER_TEMP=str(folder), **{k: str(f) for k, f in files.items()})
    env |= {key: _EXPRESSION.sub(lambda m: context[m[1]], v) for key, v in step["env"].items()}
    script = folder / "step.sh"
    script.write_text(step["run"])
    done = run(
        "bash", "--noprofile", "--norc", "-eo", "pipefail", script, cwd=cwd, env=env, code=None
    )
    lines = files["GITHUB_OUTPUT"].read_text().splitlines()
    outputs = dict(line.split("=", 1) for line in lines)
    summary = files["GITHUB_STEP_SUMMARY"].read_text()
    return Ran(done.returncode, done.stdout + done.stderr, outputs, summary)


def _lint(folder: Path, top: Path, **inputs: str) -> Ran:
    known = {f"inputs.{key.replace('_', '-')}": value for key, value in inputs.items()}
    known["steps.install.outputs.bin"] = str(folder / "bin")
    return _run("lint", folder, top, known)


def test_no_input_is_pasted_into_a_script() -> None:
    """What a pull request can choose must not become code."""
    for step in _action()["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_every_expression_names_something_that_is_there() -> None:
    steps = {s["id"] for s in _action()["runs"]["steps"]}
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name in _EXPRESSION.findall(text):
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            assert rest in _action()["inputs"]
        elif kind == "steps":
            assert rest.split(".")[0] in steps
        else:
            assert name == "github.action_path"


def test_later_steps_keep_their_python() -> None:
    assert _step("python")["with"]["update-environment"] is False


def test_a_clean_run_passes(tmp_path: Path) -> None:
    top = repository(tmp_path, environment(tmp_path))
    ran = _lint(tmp_path, top)
    assert (ran.code, ran.outputs) == (0, {"exit-code": "0"}), ran.log
    assert ran.summary.startswith("### Fusion lint: no findings in 1 model")


def test_a_lost_fusion_fails_with_an_annotation_and_sarif(tmp_path: Path) -> None:
    top = repository(tmp_path, environment(tmp_path))
    (top / "nets" / "net.onnxtxt").write_text(BROKEN)
    ran = _lint(tmp_path, top, sarif="found here.sarif", args="--no-cache\n--strict\n")
    assert ran.code == 1
    assert ran.outputs == {"exit-code": "1", "sarif": "found here.sarif"}
    assert re.search(r"^::error file=nets/net.onnxtxt,line=4,", ran.log, re.MULTILINE)
    log = json.loads((top / "found here.sarif").read_text(encoding="utf-8"))
    assert log["runs"][0]["results"][0]["ruleId"] == "fusion-lost"
    assert "fusion-lost" in ran.summary


def test_models_are_lines_and_not_code(tmp_path: Path) -> None:
    top = repository(tmp_path, environment(tmp_path))
    hostile = "a b; $(touch gone) `touch gone`.onnxtxt"
    (top / "nets" / "net.onnxtxt").rename(top / hostile)
    ran = _lint(tmp_path, top, models=f"{hostile}\r\n\n", summary="false", sarif="")
    assert not (top / "gone").exists()
    assert "model-unlocked" in ran.log or "fusion" in ran.log
    assert "no such file" not in ran.log
    assert ran.summary == ""


def test_unusable_configuration_leaves_no_old_sarif(tmp_path: Path) -> None:
    top = repository(tmp_path, environment(tmp_path))
    (top / "old.sarif").write_text("{}")
    ran = _lint(tmp_path, top, sarif="old.sarif", config="missing.yaml")
    assert ran.code == 2
    assert ran.outputs == {"exit-code": "2"}


def test_it_installs_from_its_own_checkout(tmp_path: Path) -> None:
    """The step of the action; what fusectl depends on is that of this environment."""
    python = tmp_path / "python"
    python.write_text(VENV.format(python=shlex.quote(sys.executable), paths="\\n".join(PATHS)))
    python.chmod(0o755)
    env = {"steps.python.outputs.python-path": str(python), "github.action_path": str(ROOT)}
    ran = _run("install", tmp_path, tmp_path, env)
    assert ran.code == 0, ran.log
    assert (Path(ran.outputs["bin"]) / "fusectl").exists()
