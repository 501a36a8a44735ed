"""A scratch repository, its cache beside it, and a way to lint without processes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from fusectl import api
from fusectl.lint import pool
from fusectl.lint.cache import Cache
from fusectl.lint.task import Task
from fusectl.lint.worker import answer
from fusectl.report.lint import LintFinding, LintReport
from tests.compare.models import PAIR, write

Lint = Callable[..., LintReport]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one model that fuses, a policy and no lock file."""
    folder = tmp_path / "repo"
    folder.mkdir()
    write(folder / "m.onnxtxt", PAIR)
    (folder / "fusectl.yaml").write_text("models: ['*.onnxtxt']\ntargets: [lut-npu]\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run in this process: a worker needs a second to start."""

    def run(
        tasks: Sequence[Task], processes: int, seconds: float, cache: Path | None
    ) -> Iterator[pool.Answer]:
        for number, task in enumerate(tasks):
            yield number, answer(task, Cache(cache))

    monkeypatch.setattr(pool, "run", run)


@pytest.fixture
def lint(repo: Path, here: None) -> Lint:
    """Lints the scratch repository as it is."""
    return api.lint_models


def only(report: LintReport) -> LintFinding:
    """The one finding of a report."""
    (finding,) = report.findings
    return finding


def codes(report: LintReport) -> list[str]:
    return [f.code for f in report.findings if f.suppressed is None]
