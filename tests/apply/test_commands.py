"""The commands `apply` and `verify`."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import onnx
import pytest

from fusectl.report.schema import schemas
from tests.apply.build import model, ops, save
from tests.run_cli import Outcome

pytest.importorskip("onnxruntime", minversion="1.20")
TEXT = (
    "g (float[2,5] x, float[5,6] w, float[6] b) => (float[2,6] y, float[2,6] z) "
    "{ [mm] m = MatMul(x, w)  [add] a = Add(m, b)  [relu] y = Relu(a)  [sig] s = Sigmoid(x2)  "
    "[mul] z = Mul(x2, s) }"
).replace("float[6] b)", "float[6] b, float[2,6] x2)")
WRONG = """
target: wrong
summary: Writes another function than the one it fuses.
passes:
  - fuse: [silu]
paths:
  silu:
    becomes: [{op: Tanh, writes: [{op: Tanh, inputs: [x]}]}]
    source: made up
"""
Cli = Callable[..., Outcome]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return save(model(TEXT, ("w", "b")), tmp_path)


def test_the_plan_and_the_model(cli: Cli, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    done = cli("apply", path, "-o", out, "--target", "onnxruntime-cpu", "--verify")
    assert done.code == 0
    assert "com.microsoft.FusedGemm  matmul-bias + matmul-activation" in done.out
    assert "5 nodes become 2: 2 operators, 0 functions" in done.out
    assert "2 of 2 agree" in done.out
    assert done.err == f"{out} written\n"
    assert ops(out) == ["FusedGemm", "QuickGelu"]


def test_a_dry_run_writes_nothing(cli: Cli, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    done = cli("apply", path, "-o", out, "--dry-run", "--full")
    assert done.code == 0
    assert "com.microsoft.FusedGemm relu <- mm, add, relu" in done.out
    assert not out.exists()


def test_the_plan_as_json(cli: Cli, path: Path) -> None:
    done = cli("apply", path, "--dry-run", "--format", "json")
    plan = json.loads(done.out)
    assert plan["schema"] == "fusectl.plan/1"
    assert [e["op_type"] for e in plan["edits"]] == ["FusedGemm", "QuickGelu"]
    assert plan["edits"][0]["replaces"] == ["mm", "add", "relu"]
    assert (plan["nodes_before"], plan["nodes_after"]) == (5, 2)
    jsonschema.validate(plan, schemas()["plan"])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--only", "matmul-bias"), ["Gemm", "Relu", "Sigmoid", "Mul"]),
        (("--skip", "matmul-activation"), ["Gemm", "Relu", "QuickGelu"]),
        (("--skip", "m:add"), ["MatMul", "Add", "Relu", "QuickGelu"]),
        (("--only", "s"), ["MatMul", "Add", "Relu", "QuickGelu"]),
        (("--only", "s:mul", "--only", "m"), ["Gemm", "Relu", "QuickGelu"]),
    ],
)
def test_only_and_skip(
    cli: Cli, path: Path, tmp_path: Path, options: tuple[str, ...], wanted: list[str]
) -> None:
    out = tmp_path / "out.onnx"
    assert cli("apply", path, "-o", out, *options).code == 0
    assert ops(out) == wanted


def test_words_that_name_nothing(cli: Cli, path: Path) -> None:
    done = cli("apply", path, "--dry-run", "--only", "matmul-bais")
    assert done.code == 2
    assert "'matmul-bais' is neither a rule nor a value of the model" in done.err
    assert "did you mean matmul-bias?" in done.err
    assert cli("apply", path).code == 2


def test_what_is_wrong_is_not_written(cli: Cli, path: Path, tmp_path: Path) -> None:
    target, out = tmp_path / "wrong.yaml", tmp_path / "out.onnx"
    target.write_text(WRONG)
    done = cli("apply", path, "-o", out, "--target", target, "--verify")
    assert done.code == 1
    assert "FAIL mul (Tanh) by silu: the results lie too far apart" in done.out
    assert "nothing is written" in done.err
    assert not out.exists()


def test_verify_tells_the_worst_witness(cli: Cli, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "wrong.yaml"
    target.write_text(WRONG)
    good = cli("verify", path, "--target", "onnxruntime-cpu", "--format", "json")
    assert good.code == 0
    found = json.loads(good.out)
    jsonschema.validate(found, schemas()["verification"])
    assert {c["outcome"] for c in (*found["nodes"], found["whole"])} == {"pass"}
    bad = cli("verify", path, "--target", target, "--format", "json")
    assert bad.code == 1
    witness = json.loads(bad.out)["nodes"][0]["witness"]
    assert witness["output"] == "z"
    assert witness["relative"] > 0.1


def test_standard_input(cli_process: Cli, path: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    out = tmp_path / "out.onnx"
    command = [sys.executable, "-m", "fusectl", "apply", "-", "-o", str(out)]
    subprocess.run(command, input=path.read_bytes(), check=True, capture_output=True)
    onnx.checker.check_model(onnx.load(out))


def test_equal_constants_are_written_once(cli: Cli, tmp_path: Path) -> None:
    """A target may read one of them for both; a second round must still find a valid model."""
    text = (
        "g (float[2,6] x) => (float[2,6] y, float[2,6] z) {"
        " [c1] r1 = Constant <value = float {1.4142135}> ()"
        " [c2] r2 = Constant <value = float {1.4142135}> ()"
        " [o1] one1 = Constant <value = float {1.0}> ()"
        " [o2] one2 = Constant <value = float {1.0}> ()"
        " [h1] half1 = Constant <value = float {0.5}> ()"
        " [h2] half2 = Constant <value = float {0.5}> ()"
        " [d1] d = Div(x, r1) [e1] e = Erf(d) [a1] a = Add(e, one1) [m1] m = Mul(x, a)"
        " [g1] y = Mul(m, half1)"
        " [n] n = Neg(x)"
        " [d2] dd = Div(n, r2) [e2] ee = Erf(dd) [a2] aa = Add(ee, one2) [m2] mm = Mul(n, aa)"
        " [g2] z = Mul(mm, half2) }"
    )  # fmt: skip
    out = tmp_path / "out.onnx"
    done = cli("apply", save(model(text), tmp_path), "-o", out, "--verify")
    assert done.code == 0, done.err
    assert ops(out) == ["Gelu", "Neg", "Gelu"]


def test_what_cannot_be_run_is_not_verified(cli: Cli, tmp_path: Path) -> None:
    huge = "float[1099511627776,4]"
    text = (
        f"g ({huge} x, float[4,4] w) => ({huge} y) {{ [mm] u = MatMul(x, w) [act] y = Sigmoid(u) }}"
    )
    out = tmp_path / "out.onnx"
    done = cli("apply", save(model(text), tmp_path), "-o", out, "--verify", "--target", "ideal")
    assert done.code == 1
    assert "none of them was run by itself" in done.out
    assert "nothing is written" in done.err
    assert not out.exists()


def test_a_function_of_the_model_as_loaded_is_not_lost(cli: Cli, tmp_path: Path) -> None:
    """Between codes a FusedConv looks like a Conv; QLinearConv has no place for its function."""
    text = (
        "g (uint8[1,3,8,8] xq, uint8[4,3,3,3] wq) => (uint8[1,4,6,6] y) "
        "<float s = {0.1}, uint8 z = {3}> { x = DequantizeLinear(xq, s, z)  "
        "w = DequantizeLinear(wq, s, z)  u = Conv(x, w)  "
        "c = Clip(u, low, high)  y = QuantizeLinear(c, s, z) }"
    ).replace("uint8 z = {3}", "uint8 z = {3}, float low = {0}, float high = {1.5}")
    path, out = save(model(text, ("wq",)), tmp_path), tmp_path / "out.onnx"
    done = cli("apply", path, "-o", out, "--target", "onnxruntime-cpu", "--verify")
    assert done.code == 0
    assert "FusedConv" in ops(out)
    assert cli("apply", out, "-o", tmp_path / "again.onnx", "--target", "onnxruntime-cpu").code == 0
    assert ops(tmp_path / "again.onnx") == ops(out)
