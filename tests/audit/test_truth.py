"""Files of measured edges: read, matched to models, and broken in every way."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from fusectl.audit import truth
from fusectl.errors import TableError
from fusectl.report.schema import schemas
from tests.audit import models
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]


def line(verdict: str, model: str = "nets/pair.onnxtxt", moves: int = 0) -> str:
    edge = ["u", "y", 1, verdict, "MatMul", "Sigmoid", "Kernel", "epilogue", "", moves]
    return json.dumps({"model": model, "compiler": "ours-2", "level": "fast", "edges": [edge]})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "nets" / "pair.onnxtxt"
    path.parent.mkdir()
    path.write_text(models.PAIR, encoding="utf-8")
    return path


def edges(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "edges.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_file_instead_of_a_runtime(tmp_path: Path, model: Path, cli: Cli) -> None:
    other = line("F", "other.onnx")
    file = edges(tmp_path, line("K"), "", other)
    args = ("audit", model, "--target", "ideal", "--format", "json", "--truth")
    done = cli(*args, file)
    assert done.code == 1
    data = json.loads(done.out)
    jsonschema.validate(data, schemas()["audit"])
    assert data["summary"]["predicted_not_fused"] == 1
    assert data["against"] == {
        "runtime": "", "title": "ours-2", "version": "", "level": "fast", "truth": str(file)
    }  # fmt: skip
    assert cli(*args, edges(tmp_path, line("F"))).code == 0
    moved = cli(*args, edges(tmp_path, line("K", moves=1)))
    assert moved.code == 0
    assert json.loads(moved.out)["summary"]["not_comparable"]["moves_data"] == 1


def test_text_names_the_file(tmp_path: Path, model: Path, cli: Cli) -> None:
    done = cli("audit", model, "--target", "ideal", "--truth", edges(tmp_path, line("F")))
    assert done.code == 0
    assert "held against ours-2, level fast" in done.out
    assert "All 1 compared edge" in done.out


BROKEN = {
    "{": "1:2: no JSON",
    "[]": "1:1: a line is an object",
    '{"edges": []}': "1:1: the key model, a path, is missing",
    '{"model": "m.onnx"}': "1:1: the key edges, a list, is missing",
    '{"model": "m.onnx", "edges": [["u", "y", 0, "F", "MatMul"]]}': "1:1: edges[0]: an edge is [",
    '{"model": "m.onnx", "edges": [["u", "y", 0, "X", "MatMul", "Relu"]]}': "1:1: edges[0]: an",
    '{"model": "m.onnx", "edges": [["u", 7, 0, "F", "MatMul", "Relu"]]}': "1:1: edges[0]: an edge",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_line_has_file_and_line(tmp_path: Path, model: Path, cli: Cli, text: str) -> None:
    file = edges(tmp_path, text)
    done = cli("audit", model, "--truth", file)
    assert done.code == 2
    assert done.err.startswith(f"{file}:{BROKEN[text]}"), done.err


def test_every_broken_line_is_told(tmp_path: Path) -> None:
    file = edges(tmp_path, "{", line("F"), "[]")
    with pytest.raises(TableError) as error:
        truth.read(file)
    assert [p.span.line for p in error.value.problems] == [1, 3]


def test_short_edges_do(tmp_path: Path) -> None:
    file = edges(tmp_path, '{"model": "m", "edges": [["u", "y", 0, "F", "MatMul", "Relu", "K"]]}')
    ((edge,),) = (found.edges for found in truth.read(file))
    assert (edge.kernel, edge.moves, edge.between) == ("K", False, ())


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([line("F", "a.onnx")], "no line is about"),
        ([line("F", "x/pair.onnxtxt"), line("F", "y/pair.onnxtxt")], "2 lines could be about"),
    ],
)
def test_a_model_without_a_line(
    tmp_path: Path, model: Path, cli: Cli, lines: list[str], says: str
) -> None:
    done = cli("audit", model, "--truth", edges(tmp_path, *lines))
    assert done.code == 2
    assert says in done.err


def test_a_file_that_is_not_there(tmp_path: Path, model: Path, cli: Cli) -> None:
    done = cli("audit", model, "--truth", tmp_path / "none.jsonl")
    assert done.code == 2
    assert "cannot be read: No such file" in done.err
