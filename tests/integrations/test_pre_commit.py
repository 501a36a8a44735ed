"""The hook, run by pre-commit itself on a scratch repository."""

import shutil
import sys
from pathlib import Path

import pytest
import yaml

from tests.integrations.shim import BROKEN, MODEL, ROOT, environment, repository, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("git"), reason="git is not installed"),
]
HOOKS = ROOT / ".pre-commit-hooks.yaml"


def _pre_commit(*args: str | Path) -> list[str | Path]:
    return [sys.executable, "-m", "pre_commit", *args]


def test_the_manifest_is_valid(tmp_path: Path) -> None:
    run(*_pre_commit("validate-manifest", HOOKS), cwd=tmp_path, env=environment(tmp_path))


def test_a_lost_fusion_stops_a_commit(tmp_path: Path) -> None:
    """All that the manifest says holds, but the hook's own environment: that would download."""
    env = environment(tmp_path, PRE_COMMIT_HOME=str(tmp_path / "home"))
    top = repository(tmp_path, env)
    (hook,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    config = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    (top / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    run("git", "add", "-A", cwd=top, env=env)

    (top / "readme.txt").write_text("nothing about models")
    run("git", "add", "-A", cwd=top, env=env)
    told = run(*_pre_commit("run", "--files", "readme.txt"), cwd=top, env=env)
    assert "Skipped" in told.stdout

    (top / "nets" / "net.onnxtxt").write_text(BROKEN)
    run("git", "add", "-A", cwd=top, env=env)
    told = run(*_pre_commit("run"), cwd=top, env=env, code=1)
    assert "Failed" in told.stdout
    assert "u is now returned by the graph" in told.stdout

    (top / "nets" / "net.onnxtxt").write_text(MODEL)
    run("git", "add", "-A", cwd=top, env=env)
    told = run(*_pre_commit("run", "--all-files"), cwd=top, env=env)
    assert "Passed" in told.stdout
