"""A whole run is remembered, and forgotten as soon as anything that it read is another."""

import datetime
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import fusectl
from fusectl.lint import prepare
from fusectl.lint.asked import Asked
from fusectl.lint.front import lint_asked
from fusectl.lint.program import cache_folder
from tests.compare.models import PAIR, RETURNED, write
from tests.lint.conftest import Lint
from tests.lint.test_cache import external_model


def age(folder: Path) -> None:
    """Make the files as old as files of a repository are."""
    past = time.time() - 60
    for path in folder.rglob("*"):
        os.utime(path, (past, past))


@pytest.fixture
def settled(repo: Path, lint: Lint) -> Path:
    """A repository whose last run is remembered."""
    rules = repo / "rules"
    rules.mkdir()
    (rules / "npu.yaml").write_text("target: my-npu\nsummary: A machine.\nextends: lut-npu\n")
    (repo / "fusectl.yaml").write_text("models: ['*.onnx*']\ntargets: [my-npu]\nrules: [rules]\n")
    external_model(repo / "e.onnx", 1.0)
    lint(update_baseline=True)
    age(repo)
    lint()
    assert remembered(lint)
    return repo


def remembered(lint: Lint) -> bool:
    """Whether a run needs nothing that explains a model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "prepare", None)
        try:
            lint()
        except TypeError:
            return False
        return True


CHANGES: dict[str, Callable[[Path], object]] = {
    "model": lambda repo: write(repo / "m.onnxtxt", RETURNED),
    "new model": lambda repo: write(repo / "n.onnxtxt", PAIR),
    "lock": lambda repo: (repo / "fusion.lock.yaml").unlink(),
    "policy": lambda repo: (repo / "fusectl.yaml").write_text("models: ['*.onnxtxt']\n"),
    "table": lambda repo: (repo / "rules" / "npu.yaml").write_text(
        "target: my-npu\nsummary: A machine.\nextends: ideal\n"
    ),
    "new table": lambda repo: (repo / "rules" / "other.yml").write_text(
        "target: other\nsummary: A machine.\nextends: ideal\n"
    ),
    "another policy": lambda repo: (repo / "fusectl.yml").write_text("models: [m.onnxtxt]\n"),
    "data beside": lambda repo: (repo / "weights.bin").write_bytes(bytes(12)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_was_read_counts(change: str, settled: Path, lint: Lint) -> None:
    if change == "another policy":
        (settled / "fusectl.yaml").rename(settled / "sub.yaml")
    CHANGES[change](settled)
    assert not remembered(lint)


def test_the_same_bytes_are_the_same_run(settled: Path, lint: Lint) -> None:
    first = lint()
    write(settled / "m.onnxtxt", PAIR)
    assert lint() == first
    assert lint(cache=False) == first


def test_another_day_is_another_run(settled: Path, lint: Lint) -> None:
    tomorrow = datetime.date.today() + datetime.timedelta(days=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "prepare", None)
        with pytest.raises(TypeError):
            lint(today=tomorrow)


def test_files_that_changed_just_now_are_not_trusted(settled: Path, lint: Lint) -> None:
    write(settled / "m.onnxtxt", RETURNED)
    lint()
    assert not remembered(lint)
    age(settled)
    lint()
    assert remembered(lint)


def test_a_harmed_memory_is_ignored(settled: Path, lint: Lint) -> None:
    folder = cache_folder()
    assert folder is not None
    for path in (folder / "runs").iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    assert not remembered(lint)


def test_remembering_loads_nothing_heavy(settled: Path) -> None:
    root = str(Path(fusectl.__file__).parents[1])
    script = (
        "import sys\nfrom fusectl.lint.asked import Asked\nfrom pathlib import Path\n"
        "from fusectl.lint.memo import recall\nassert recall(Asked(Path()))\n"
        "print(sorted({'onnx', 'numpy', 'yaml', 'rich'} & set(sys.modules)))\n"
    )
    lint_asked(Asked(Path()))
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
