"""What the guide about CI tells people to paste agrees with what is there."""

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from fusectl.cli.lint import lint
from fusectl.render.lint_formats import LINT_FORMATS
from tests.integrations.shim import ROOT

GUIDE = (ROOT / "docs" / "guide" / "ci.md").read_text(encoding="utf-8")


def _blocks(mark: str) -> list[Any]:
    texts = re.findall(rf"^<!-- {mark} -->\n```yaml\n(.*?)^```$", GUIDE, re.M | re.S)
    return [yaml.safe_load(text) for text in texts]


def test_the_action_has_the_inputs_that_are_used_and_told() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    blocks = _blocks("action")
    assert len(blocks) == 2
    for block in blocks:
        for step in block["jobs"]["fusion"]["steps"]:
            if "/fusectl@" in step["uses"]:
                assert set(step.get("with", {})) <= set(action["inputs"])
    section = GUIDE.partition("| input | meaning |")[2].partition("\n\n")[0]
    told = {name for row in section.splitlines() for name in re.findall(r"`([a-z-]+)`", row[:60])}
    assert set(action["inputs"]) <= told


def test_the_hook_is_the_one_of_the_manifest() -> None:
    (manifest,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (block,) = _blocks("pre-commit")
    assert block["repos"][0]["hooks"] == [{"id": manifest["id"]}]


def test_the_gitlab_job_publishes_what_it_writes(tmp_path: Path) -> None:
    (block,) = _blocks("gitlab")
    job = block["fusion"]
    command = shlex.split(job["script"][1])
    assert command[:2] == ["fusectl", "lint"]
    context = lint.make_context("lint", command[2:])
    written = {path for _, path in context.params["also"]}
    assert written == set(job["artifacts"]["reports"].values())


def test_every_format_is_told() -> None:
    table = GUIDE.partition("| format | what it holds |")[2].partition("\n\n")[0]
    told = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row[:25])}
    assert told == set(LINT_FORMATS)
