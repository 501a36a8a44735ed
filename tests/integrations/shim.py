"""A scratch repository, and a `fusectl` on the PATH that is the code under test."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.run_cli import PACKAGE_ROOT

ROOT = Path(__file__).resolve().parents[2]
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float16[16,64] x, float16[64,32] w) => (float16[16,32] y) {
  [mm]  u = MatMul(x, w)
  [act] y = Sigmoid(u)
}
"""
BROKEN = MODEL.replace("(float16[16,32] y)", "(float16[16,32] y, float16[16,32] u)")
_LOCK: list[bytes] = []
"""The lock file of that model, once it was written."""
POLICY = "models: [nets/*.onnxtxt]\ntargets: [lut-npu]\n"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """This environment with a `fusectl` command in front, and nothing of the user's own."""
    bin = folder / "bin"
    bin.mkdir(parents=True, exist_ok=True)
    command = bin / "fusectl"
    python = f"{shlex.quote(sys.executable)} -m fusectl"
    command.write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    command.chmod(0o755)
    known = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "_FUSECTL"))}
    path = os.pathsep.join([str(bin), str(Path(sys.executable).parent), known.get("PATH", "")])
    return {
        **known,
        "PATH": path,
        "PYTHONPATH": str(PACKAGE_ROOT),
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        **more,
    }


def run(
    *command: str | Path, cwd: Path, env: dict[str, str], code: int | None = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if code is not None:
        assert done.returncode == code, done.stdout + done.stderr
    return done


def repository(folder: Path, env: dict[str, str]) -> Path:
    """A repository with one model that fuses, a policy, and a lock file that holds it."""
    top = folder / "top"
    (top / "nets").mkdir(parents=True)
    (top / "nets" / "net.onnxtxt").write_text(MODEL)
    (top / "fusectl.yaml").write_text(POLICY)
    run("git", "init", "-q", cwd=top, env=env)
    lock = top / "fusion.lock.yaml"
    if not _LOCK:
        run("fusectl", "lint", "--update-baseline", cwd=top, env=env)
        _LOCK.append(lock.read_bytes())
    lock.write_bytes(_LOCK[0])
    commit(top, env)
    return top


def commit(top: Path, env: dict[str, str]) -> None:
    run("git", "add", "-A", cwd=top, env=env)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    run("git", *who, "commit", "-q", "--no-verify", "-m", "a step", cwd=top, env=env)
