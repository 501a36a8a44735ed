"""The lock file: whole or not at all, the same bytes for the same decisions, readable."""

import os
import re
from pathlib import Path

import pytest

from fusectl.errors import TableError, UsageError
from fusectl.lint import lockfile
from fusectl.lint.lockfile import lock_text, read_lock
from fusectl.lint.program import cache_folder
from tests.compare.models import PAIR, RETURNED, SHARED, layers, write
from tests.lint.conftest import Lint

GOLDEN = Path(__file__).with_name("golden")


def test_text_is_the_reviewed_one(repo: Path, lint: Lint) -> None:
    write(repo / "a.onnxtxt", SHARED)
    write(
        repo / "with 'odd: name.onnxtxt",
        PAIR.replace("mm", "mm: 1").replace("[mm: 1]", '["mm: 1"]'),
    )
    lint(update_baseline=True)
    text = (repo / "fusion.lock.yaml").read_text(encoding="utf-8")
    text = re.sub(r"tables: \w+", "tables: 0123456789ab", text)
    path = GOLDEN / "fusion.lock.yaml"
    if os.environ.get("FUSECTL_REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_what_is_read_is_what_was_written(repo: Path, lint: Lint) -> None:
    names = ["null", "1e5", "yes", "a: b", "x # y", "\u00e9\u202e", "- a", "/b/mm", "2026-01-01"]
    for number, name in enumerate(names):
        renamed = PAIR.replace("u =", f'"{name}" =').replace("(u)", f'("{name}")')
        write(repo / f"{number}.onnxtxt", renamed)
    lint(update_baseline=True)
    path = repo / "fusion.lock.yaml"
    lock = read_lock(path, "lock")
    assert lock is not None
    assert lock_text(lock) == path.read_text(encoding="utf-8")
    models = (s["lut-npu"] for m, s in sorted(lock.models.items()) if m != "m.onnxtxt")
    assert [found.decisions[0].from_[2] for found in models] == names
    assert not lint().findings


def test_a_changed_node_makes_a_small_difference(repo: Path, lint: Lint) -> None:
    write(repo / "m.onnxtxt", layers(9))
    lint(update_baseline=True)
    before = (repo / "fusion.lock.yaml").read_text().splitlines()
    write(repo / "m.onnxtxt", layers(9, "x0 = Neg(x)"))
    lint(update_baseline=True)
    after = (repo / "fusion.lock.yaml").read_text().splitlines()
    assert len(before) == len(after)
    changed = [a for a, b in zip(before, after, strict=True) if a != b]
    # The digest of the model, and the surroundings of the first two layers.
    assert len(changed) <= 4, changed


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("lock: 1", "lock: 2", ":3:7: version 2 of the lock file"),
        ("- fuse: matmul-activation", "- fused: matmul-activation", ":12:9: unknown key fused"),
        ("- fuse: matmul-activation", "- value: v", ":12:9: a decision is either fuse or keep"),
        ("- fuse: matmul-activation", "- {}", ":13:9: YAML syntax"),
        ("from: [MatMul, mm, u]", "from: [MatMul]", ":12:9: from and to are"),
        ("lock: 1", "<<<<<<< ours\nlock: 1", ":4:5: YAML syntax"),
        ("- fuse: matmul-activation", "- keep: matmul-activation", ":12:9: a keep says why"),
    ],
)
def test_an_edited_lock_file_is_refused_with_the_place(
    old: str, new: str, said: str, repo: Path, lint: Lint
) -> None:
    lint(update_baseline=True)
    path = repo / "fusion.lock.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(TableError) as refused:
        lint()
    assert said in str(refused.value)
    assert "--update-baseline" in str(refused.value)


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_crash_while_writing_leaves_the_old_file(
    step: str, repo: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    lint(update_baseline=True)
    path = repo / "fusion.lock.yaml"
    before = path.read_bytes()
    write(repo / "m.onnxtxt", RETURNED)

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, killed)
    with pytest.raises(KeyboardInterrupt):
        lint(update_baseline=True)
    assert path.read_bytes() == before
    assert [p.name for p in repo.iterdir() if p.name.endswith(".tmp")] == []


def test_a_folder_that_cannot_be_written_is_said(repo: Path, lint: Lint) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        lint(baseline="nowhere/fusion.lock.yaml", update_baseline=True)


def test_an_unchanged_lock_file_is_not_touched(repo: Path, lint: Lint) -> None:
    lint(update_baseline=True)
    path = repo / "fusion.lock.yaml"
    os.utime(path, ns=(1, 1))
    lint(update_baseline=True)
    assert path.stat().st_mtime_ns == 1


def test_a_lock_file_is_parsed_once(repo: Path, lint: Lint) -> None:
    lint(update_baseline=True)
    write(repo / "m.onnxtxt", RETURNED)
    first = lint()
    folder = cache_folder()
    assert folder is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lockfile, "_read", None)
        assert lint() == first, "with the same places"
    for path in (folder / "locks").iterdir():
        path.write_bytes(b"harmed")
    assert lint() == first
