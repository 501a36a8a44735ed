"""Processes: what a model does to its worker happens to no other model."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fusectl
from fusectl import api
from fusectl.lint import pool
from tests.compare.models import PAIR, RETURNED, write

BAD = Path(__file__).with_name("bad_worker.py")
ROOT = Path(fusectl.__file__).parents[1]


@pytest.fixture
def bad(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pool, "WORKER", (str(BAD),))
    return repo


def test_a_model_that_crashes_or_hangs_costs_only_itself(bad: Path) -> None:
    for name in ("a", "bug", "crash", "hang", "memory", "noise", "z"):
        write(bad / f"{name}.onnxtxt", PAIR)
    (bad / "broken.onnxtxt").write_text("no model")
    api.lint_models("a.onnxtxt", "m.onnxtxt", "noise.onnxtxt", "z.onnxtxt", update_baseline=True)
    report = api.lint_models(jobs=2, timeout=5, cache=False)
    found = {f.model: (f.code, f.message) for f in report.findings}
    assert found == {
        "broken.onnxtxt": ("model-unusable", found["broken.onnxtxt"][1]),
        "bug.onnxtxt": (
            "model-crashed",
            "a bug in fusectl: RuntimeError in bad_worker.py:18: out of the \x1b[31mblue",
        ),
        "crash.onnxtxt": ("model-crashed", "the process that explained it died: SIGKILL"),
        "hang.onnxtxt": ("model-timeout", "no answer after 5 seconds; stopped"),
        "memory.onnxtxt": (
            "model-crashed",
            "out of memory: the model is too large for this machine",
        ),
    }
    assert "syntax error" in found["broken.onnxtxt"][1]
    assert [m.model for m in report.models if not m.error] == [
        "a.onnxtxt", "m.onnxtxt", "noise.onnxtxt", "z.onnxtxt",
    ]  # fmt: skip


def test_a_failed_model_keeps_its_section(bad: Path) -> None:
    write(bad / "crash.onnxtxt", PAIR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "WORKER", ("-P", "-m", "fusectl.lint.worker"))
        api.lint_models(update_baseline=True, cache=False)
    before = (bad / "fusion.lock.yaml").read_text()
    api.lint_models(update_baseline=True, cache=False)
    assert (bad / "fusion.lock.yaml").read_text() == before


def test_the_number_of_processes_changes_no_byte(repo: Path) -> None:
    for number in range(6):
        write(repo / f"{number}.onnxtxt", PAIR)
    api.lint_models(update_baseline=True)
    for number in range(0, 6, 2):
        write(repo / f"{number}.onnxtxt", RETURNED)
    made = [api.lint_models(jobs=jobs, cache=False).json() for jobs in (1, 2)]
    assert made[0] == made[1]
    assert api.lint_models().json() == made[0]


def test_killed_in_the_middle_the_lock_file_is_whole(bad: Path) -> None:
    write(bad / "n.onnxtxt", PAIR)
    api.lint_models(update_baseline=True)
    before = (bad / "fusion.lock.yaml").read_bytes()
    write(bad / "hang.onnxtxt", RETURNED)
    write(bad / "m.onnxtxt", RETURNED)
    script = (
        "from fusectl import api\nfrom fusectl.lint import pool\n"
        f"pool.WORKER = ({str(BAD)!r},)\n"
        "api.lint_models(update_baseline=True, cache=False, jobs=1, "
        "progress=lambda *a: print('one', flush=True))\n"
    )
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=bad,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    time.sleep(3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (bad / "fusion.lock.yaml").read_bytes() == before
    assert not [p for p in bad.iterdir() if p.suffix == ".tmp"]


def test_a_script_needs_no_guard(repo: Path) -> None:
    """Linting at the top of a script starts no process that runs the script again."""
    (repo / "script.py").write_text(
        "import fusectl\nprint(len(fusectl.lint_models(cache=False).models))\n"
    )
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=repo,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_file_of_the_user_takes_no_modules_place(repo: Path) -> None:
    (repo / "onnx.py").write_text("raise SystemExit('not this one')\n")
    (repo / "pickle.py").write_text("raise SystemExit('nor this one')\n")
    assert not [m for m in api.lint_models(cache=False).models if m.error]
