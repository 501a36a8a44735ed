"""What is remembered, and when it no longer counts."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from fusectl.lint import cache as remembered
from fusectl.lint import pool
from fusectl.lint.cache import Cache
from fusectl.lint.program import cache_folder
from fusectl.lint.task import Task
from tests.compare.models import PAIR, RETURNED, write
from tests.lint.conftest import Lint


@pytest.fixture
def asked(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were not remembered, as they come."""
    told: list[str] = []
    inner = pool.run

    def counted(tasks: list[Task], *rest: object) -> Iterator[pool.Answer]:
        told.extend(t.model for t in tasks)
        return inner(tasks, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "run", counted)
    return told


def test_an_unchanged_model_is_explained_once(repo: Path, lint: Lint, asked: list[str]) -> None:
    first = lint()
    assert asked == ["m.onnxtxt"]
    assert lint() == first
    assert asked == ["m.onnxtxt"]
    lint(cache=False)
    assert asked == ["m.onnxtxt"] * 2


def test_a_changed_model_is_explained_again(repo: Path, lint: Lint, asked: list[str]) -> None:
    lint()
    write(repo / "m.onnxtxt", RETURNED)
    assert lint().models[0].fuse == 0
    write(repo / "m.onnxtxt", PAIR)
    assert lint().models[0].fuse == 1
    assert asked == ["m.onnxtxt"] * 2


def test_another_name_of_the_same_model_is_remembered(
    repo: Path, lint: Lint, asked: list[str]
) -> None:
    lint()
    (repo / "m.onnxtxt").rename(repo / "n.onnxtxt")
    assert [m.model for m in lint().models] == ["n.onnxtxt"]
    assert asked == ["m.onnxtxt"]


def test_rules_and_targets_are_part_of_the_key(repo: Path, lint: Lint, asked: list[str]) -> None:
    target = repo / "my-npu.yaml"
    target.write_text("target: my-npu\nsummary: A machine.\nextends: lut-npu\n")
    lint("m.onnxtxt", target="my-npu.yaml")
    lint("m.onnxtxt", target="my-npu.yaml")
    assert len(asked) == 1
    target.write_text("target: my-npu\nsummary: Another machine.\nextends: ideal\n")
    lint("m.onnxtxt", target="my-npu.yaml")
    assert len(asked) == 2
    lint("m.onnxtxt", target="ideal")
    assert len(asked) == 3
    rules = repo / "rules"
    rules.mkdir()
    shutil.copy(target, rules / "other.yaml")
    lint("m.onnxtxt", target="ideal", rules=["rules"])
    assert len(asked) == 4
    lint("m.onnxtxt", target="ideal", rules=["rules"])
    assert len(asked) == 4


def test_the_program_is_part_of_the_key(
    repo: Path, lint: Lint, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lint()
    monkeypatch.setattr(remembered, "program", lambda: "another version")
    lint()
    assert len(asked) == 2


@pytest.mark.parametrize("harm", ["empty", "cut", "flip", "other"])
def test_harmed_entries_are_ignored_and_mended(
    harm: str, repo: Path, lint: Lint, asked: list[str]
) -> None:
    first = lint()
    (path,) = entries()
    data = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "cut": data[:-7],
            "flip": data[:60] + bytes([data[60] ^ 1]) + data[61:],
            "other": b"something else",
        }[harm]
    )
    assert lint() == first
    assert len(asked) == 2
    assert path.read_bytes() == data
    lint()
    assert len(asked) == 2


def entries() -> list[Path]:
    folder = cache_folder()
    assert folder is not None
    return [p for p in folder.rglob("*") if p.is_file()]


def test_a_folder_that_cannot_be_made_is_no_trouble(
    repo: Path, lint: Lint, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(repo / "m.onnxtxt"))
    assert lint().models[0].fuse == 1
    assert lint().models[0].fuse == 1
    assert len(asked) == 2


def test_without_a_home_nothing_is_remembered(
    repo: Path, lint: Lint, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    lint()
    lint()
    assert len(asked) == 2


def test_the_oldest_entries_go_first(
    repo: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        write(repo / f"{number}.onnxtxt", PAIR + "#" * number)
    lint()
    kept = sorted(entries())
    assert len(kept) == 4, "the same contents are kept once"
    for age, path in enumerate(kept):
        os.utime(path, (1000 + age, 1000 + age))
    sizes = [p.stat().st_size for p in kept]
    monkeypatch.setattr(remembered, "BOUND", sum(sizes[2:]))
    Cache(cache_folder()).prune()
    assert sorted(entries()) == kept[2:]


def external_model(path: Path, value: float) -> None:
    """A Gelu whose constants lie in a file beside the model: whether it fuses depends on them."""
    names = {"root": 1.41421356, "one": value, "half": 0.5}
    nodes = [
        helper.make_node("Div", ["x", "root"], ["d"]),
        helper.make_node("Erf", ["d"], ["e"]),
        helper.make_node("Add", ["e", "one"], ["a"]),
        helper.make_node("Mul", ["x", "a"], ["m"]),
        helper.make_node("Mul", ["m", "half"], ["y"]),
    ]
    tensors = [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in names.items()]
    value_info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 8]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", value_info[:1], value_info[1:], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)


def test_data_beside_a_model_counts_too(repo: Path, lint: Lint, asked: list[str]) -> None:
    (repo / "weights.bin").unlink(missing_ok=True)
    external_model(repo / "e.onnx", 1.0)
    before = (repo / "e.onnx").read_bytes()
    assert lint("e.onnx", target="ideal").models[0].keep == 0
    assert lint("e.onnx", target="ideal").models[0].keep == 0
    assert len(asked) == 1
    (repo / "weights.bin").unlink()
    external_model(repo / "e.onnx", 3.0)
    assert (repo / "e.onnx").read_bytes() == before, "only the data beside it changed"
    assert lint("e.onnx", target="ideal").models[0].keep > 0
    (repo / "weights.bin").unlink()
    assert lint("e.onnx", target="ideal").models[0].keep > 0
    assert len(asked) == 3


def test_too_much_data_beside_a_model_is_not_remembered(
    repo: Path, lint: Lint, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "_EXTERNAL", 2)
    external_model(repo / "e.onnx", 1.0)
    lint("e.onnx", target="ideal")
    lint("e.onnx", target="ideal")
    assert len(asked) == 2


def test_remembered_models_need_no_process(repo: Path, lint: Lint) -> None:
    lint()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "run", None)
        lint()
