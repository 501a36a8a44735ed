"""`fusectl compare`: what it takes, what it prints, how it ends."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compare.models import PAIR, RETURNED, SHARED, write
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]
GOLDEN = Path(__file__).with_name("golden")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("pair", PAIR), ("returned", RETURNED), ("shared", SHARED)):
        write(tmp_path / f"{name}.onnxtxt", text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


def hold(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("FUSECTL_REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    assert path.read_bytes().decode("utf-8") == text


CASES = {
    "lost": ("pair.onnxtxt", "returned.onnxtxt", "--target", "lut-npu"),
    "lost-concise": ("pair.onnxtxt", "returned.onnxtxt", "--target", "lut-npu",
                     "--format", "concise"),
    "same": ("pair.onnxtxt", "pair.onnxtxt", "--target", "lut-npu"),
    "targets": ("lut-npu", "ideal", "--model", "shared.onnxtxt"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_output_is_the_reviewed_one(name: str, folder: Path, cli: Cli) -> None:
    done = cli("compare", *CASES[name])
    assert done.code == 0, done.err
    hold(name, done.out)


def test_exit_code_tells_scripts(folder: Path, cli: Cli) -> None:
    pair = ("compare", "pair.onnxtxt", "returned.onnxtxt", "--target", "lut-npu", "--exit-code")
    assert cli(*pair).code == 1
    same = ("compare", "pair.onnxtxt", "pair.onnxtxt", "--target", "lut-npu", "--exit-code")
    assert cli(*same).code == 0


def test_reports_are_read(folder: Path, cli: Cli) -> None:
    for name in ("pair", "returned"):
        done = cli("explain", f"{name}.onnxtxt", "--target", "lut-npu", "--format", "json")
        (folder / f"{name}.json").write_bytes(done.stdout)
    done = cli("compare", "pair.json", "returned.json", "--format", "json")
    assert [c["kind"] for c in json.loads(done.out)["changes"]] == ["lost"]
    lines = cli("compare", "pair.json", "returned.json", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["b"] for line in lines] == ["returned.json"]
    assert cli("compare", "pair.json", "returned.json", "-o", "out.txt").out == ""
    assert "u is now returned by the graph" in (folder / "out.txt").read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("pair.onnxtxt", "ideal"), "is a model and ideal is a target"),
        (("lut-npu", "ideal"), "give --model MODEL"),
        (("lut-nup", "ideal"), "did you mean lut-npu?"),
        (("pair.onnxtxt", "pair.onnxtxt", "--model", "x"), "--model goes with two targets"),
        (("lut-npu", "ideal", "--model", "pair.onnxtxt", "--target", "ideal"), "--target goes"),
        (("a.json", "b.json"), "a.json: No such file"),
        (("bad.json", "bad.json"), "bad.json: no report of explain --format json"),
        (("-", "-"), "not both"),
        (("nothing.onnx", "pair.onnxtxt"), "nothing.onnx: No such file"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(
    args: tuple[str, ...], said: str, folder: Path, cli: Cli
) -> None:
    (folder / "bad.json").write_text('{"schema": 1}')
    done = cli("compare", *args)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not done.out
