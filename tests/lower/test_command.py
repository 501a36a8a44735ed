"""``fusectl lower`` as a user meets it."""

import json
from pathlib import Path

import msgspec
import pytest

from fusectl.lower.validate import VALIDATORS
from fusectl.program import Program
from fusectl.tables.schedule import read_schedule
from tests.run_cli import run_in_process

ROOT = Path(__file__).resolve().parents[2]
ACCEPT = ROOT / "samples" / "accept.onnxtxt"
GUIDE = (ROOT / "docs" / "guide" / "machine.md").read_text(encoding="utf-8")


def test_json_is_the_whole_program() -> None:
    done = run_in_process("lower", ACCEPT, "--target", "lut-npu", "--format", "json")
    assert done.code == 0
    assert done.err == ""
    program = msgspec.json.decode(done.stdout, type=Program)
    assert program.schema == "fusectl.program/1"
    assert list(json.loads(done.stdout)) == list(Program.__struct_fields__)
    assert program.json() == done.stdout


def test_the_unfused_program_has_the_function_of_its_own() -> None:
    one = run_in_process("lower", ACCEPT, "--target", "lut-npu")
    two = run_in_process("lower", ACCEPT, "--target", "lut-npu", "--unfused")
    assert "ACT" not in one.out
    assert "ACT" in two.out
    assert one.out == run_in_process("lower", ACCEPT, "--target", "lut-npu").out


@pytest.mark.parametrize(
    ("model", "target", "said"),
    [
        ("samples/bert.onnxtxt", "lut-npu", "static shapes"),
        ("samples/accept.onnxtxt", "ideal", "does not say how it runs a program"),
        ("samples/accept.onnxtxt", "lut", "unknown target"),
    ],
)
def test_what_cannot_be_lowered_ends_with_two(model: str, target: str, said: str) -> None:
    done = run_in_process("lower", ROOT / model, "--target", target)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_a_name_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    text = ACCEPT.read_text(encoding="utf-8").replace("[mm] ", '["m\x1b[2Jm"]')
    path.write_text(text, encoding="utf-8")
    done = run_in_process("lower", path, "--target", "lut-npu")
    assert done.code == 0
    assert "\x1b" not in done.out


def test_the_guide_lists_the_validators() -> None:
    table = GUIDE.partition("<!-- validators -->")[2].partition("\n\n")[0]
    listed = {line.split("|")[1].strip(" `"): line.split("|")[2].strip()
              for line in table.splitlines() if line.startswith("| `")}  # fmt: skip
    assert listed == {name: told for name, (told, _) in VALIDATORS.items()}


def test_the_schedule_of_the_guide_is_one(tmp_path: Path) -> None:
    block = GUIDE.partition("<!-- schedule -->\n```yaml\n")[2].partition("```")[0]
    path = tmp_path / "s.yaml"
    path.write_text(block, encoding="utf-8")
    assert set(read_schedule(path)) == {"mm", "act", "head"}
