"""The extracted model is small, valid, and decided as the whole one."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from fusectl import api
from fusectl.cli.extract import _key
from fusectl.graph.read import parse
from fusectl.report import Decision
from tests.cli.models import CASES, SHARED
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]


def extracted(cli: Cli, model: Path, out: Path, *options: str) -> onnx.ModelProto:
    """The model that --extract writes; it has to be valid and say the same."""
    args = ["explain", str(model), "--target", "ideal", "--format", "json", *options]
    outcome = cli(*args, "--extract", out)
    assert outcome.code == 0, outcome.err
    assert "the same decision" in outcome.err
    small = parse(str(out), out.read_bytes())
    onnx.checker.check_model(small)
    before = _only(outcome.stdout)
    after = api.explain(out, target="ideal").decisions
    assert _key(before) in [_key(d) for d in after]
    return small


def _only(stdout: bytes) -> Decision:
    import msgspec

    from fusectl.report import Report

    (decision,) = msgspec.json.decode(stdout, type=Report).decisions
    return decision


def ops(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def inputs(model: onnx.ModelProto) -> set[str]:
    return {i.name for i in model.graph.input}


@pytest.mark.parametrize("ending", ["onnx", "onnxtxt"])
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("001-direct", ["MatMul", "Sigmoid"]),
        ("004-requantize-between", ["MatMul", "QuantizeLinear", "DequantizeLinear", "Sigmoid"]),
        ("009-cast-between", ["MatMul", "Cast", "Sigmoid"]),
        ("013-multi-user", ["MatMul", "Sigmoid", "Neg"]),
        ("016-returned", ["MatMul", "Sigmoid"]),
        ("018-captured", ["Gemm", "Sigmoid", "Loop"]),
        ("032-identity-between", ["MatMul", "Identity", "Sigmoid"]),
    ],
)
def test_cases(cli: Cli, tmp_path: Path, file: str, expected: list[str], ending: str) -> None:
    out = tmp_path / f"small.{ending}"
    small = extracted(cli, CASES / f"{file}.onnxtxt", out, "--rule", "matmul-activation")
    assert ops(small) == expected


def test_every_decision_of_the_cases_can_be_cut_out(cli: Cli, tmp_path: Path) -> None:
    names = (
        "019-three-blockers",
        "075-gelu-wrong-constant",
        "116-earlier-rule",
        "120-conv-add-relu",
    )
    for name in names:
        model = CASES / f"{name}.onnxtxt"
        for d in api.explain(model, target="ideal").decisions:
            edge = f"{d.edge.value}:{d.edge.consumer.output}"
            extracted(cli, model, tmp_path / "s.onnx", "--edge", edge, "--rule", d.rule)


LARGE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] x, float[8,64] w, float[64] k) => (float[2,64] out, float[2,64] p)
{
  [first]  a = MatMul(x, w)
  [second] b = Relu(a)
  [mul]    c = Mul(b, k)
  [norm]   d = Softmax(c)
  [mm]     u = MatMul(d, big)
  [act]    y = Sigmoid(u)
  [neg]    n = Neg(u)
  [exp]    e = Exp(n)
  [other]  p = Cos(u)
  [sum]    out = Add(y, e)
}"""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A product with a big weight in the middle of other things; its result has three users."""
    model = parser.parse_model(LARGE)
    weight = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weight, "big"))
    path = tmp_path / "large.onnx"
    onnx.save(model, path)
    return path


def test_the_rest_becomes_inputs_of_known_types(cli: Cli, tmp_path: Path, large: Path) -> None:
    small = extracted(cli, large, tmp_path / "s.onnxtxt", "--edge", "u:act")
    assert ops(small)[:2] == ["MatMul", "Sigmoid"]
    assert len(ops(small)) == 3, "one other user is enough"
    shapes = {
        i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in small.graph.input
    }
    assert shapes == {"d": [2, 64], "big": [64, 64]}
    assert not small.graph.initializer
    assert small.ir_version == 8
    assert [(o.domain, o.version) for o in small.opset_import] == [("", 17)]


def test_big_constants_stay_where_the_rule_needs_them(cli: Cli, tmp_path: Path) -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1,2048,1,1] x, float[2048,1,1,1] w) => (float[1,2048,1,1] z) {
          [conv] u = Conv <group = 2048> (x, w)
          [bn]   y = BatchNormalization(u, scale, bias, mean, var)
          [end]  z = Relu(y)
        }"""
    )
    for name in ("scale", "bias", "mean", "var"):
        values = np.linspace(1, 2, 2048, dtype=np.float32)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    path = tmp_path / "bn.onnx"
    onnx.save(model, path)
    args = ("explain", path, "--target", "ideal", "--format", "json")
    report = api.explain(path, target="ideal")
    decision = next(d for d in report.decisions if d.rule == "conv-batchnorm")
    outcome = cli(*args, "--rule", "conv-batchnorm", "--extract", tmp_path / "s.onnx")
    assert outcome.code == 0, outcome.err
    small = onnx.load(tmp_path / "s.onnx")
    assert ops(small) == ["Conv", "BatchNormalization"]
    kept = {t.name: numpy_helper.to_array(t) for t in small.graph.initializer}
    assert bool(kept) == (decision.verdict == "fuse")
    for values in kept.values():
        assert np.array_equal(values, np.linspace(1, 2, 2048, dtype=np.float32))


def test_constants_that_are_computed_come_along(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1,2,3] x) => (float[1,2,3] y) <float[1] h = {2.0}> {
          r2 = Sqrt(h)
          d = Div(x, r2)
          e = Erf(d)
          one = Constant <value = float[1] {1.0}> ()
          a = Add(e, one)
          m = Mul(x, a)
          half = Constant <value_float = 0.5> ()
          y = Mul(m, half)
        }"""
    )
    small = extracted(cli, path, tmp_path / "s.onnxtxt", "--rule", "gelu-erf")
    assert ops(small) == ["Sqrt", "Div", "Erf", "Add", "Mul", "Mul"]
    assert inputs(small) == {"x"}


BODIES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] x, float[8,4] w, bool go) => (float[2,4] z)
{
  [if] z = If (go) <
    then_branch = yes () => (float[2,4] y) {
      [mm] u = MatMul(x, w)
      [act] y = Sigmoid(u)
    },
    else_branch = no () => (float[2,4] v) {
      [mm2] t = MatMul(x, w)
      [act2] s = Sigmoid(t)
      [neg2] v = Add(s, t)
    }>
}"""


def test_a_body_becomes_a_graph_of_its_own(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bodies.onnxtxt"
    path.write_text(BODIES)
    small = extracted(
        cli, path, tmp_path / "s.onnxtxt", "--edge", "u", "--rule", "matmul-activation"
    )
    assert ops(small) == ["MatMul", "Sigmoid"]
    assert inputs(small) == {"x", "w"}
    small = extracted(
        cli, path, tmp_path / "s.onnx", "--edge", "t:act2", "--rule", "matmul-activation"
    )
    assert ops(small) == ["MatMul", "Sigmoid", "Add"]


def test_a_function_becomes_a_graph_with_the_types_of_its_call(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "functions.onnxtxt"
    path.write_text(
        """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
        g (float[2,8] x, float[8,4] w) => (float[2,4] z) {
          [call] z = own.block(x, w)
        }
        <domain: "own", opset_import: ["" : 17]>
        block (a, b) => (c) {
          [mm] u = MatMul(a, b)
          [act] s = Sigmoid(u)
          [sum] c = Mul(s, u)
        }"""
    )
    small = extracted(
        cli, path, tmp_path / "s.onnx", "--edge", "u:act", "--rule", "matmul-activation"
    )
    assert ops(small) == ["MatMul", "Sigmoid", "Mul"]
    assert inputs(small) == {"a", "b"}
    assert not small.functions


def test_a_function_that_reads_the_value_comes_along(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "reader.onnxtxt"
    path.write_text(
        """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
        g (float[2,8] x, float[8,4] w) => (float[2,4] y, float[2,4] z) {
          [mm] u = MatMul(x, w)
          [act] y = Sigmoid(u)
          [call] z = own.other(u)
        }
        <domain: "own", opset_import: ["" : 17]>
        other (a) => (c) { c = Neg(a) }"""
    )
    small = extracted(
        cli, path, tmp_path / "s.onnx", "--edge", "u:act", "--rule", "matmul-activation"
    )
    assert ops(small) == ["MatMul", "Sigmoid", "other"]
    assert [f.name for f in small.functions] == ["other"]


def test_an_if_that_captures_the_value_is_emptied(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "capture.onnxtxt"
    path.write_text(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,8] x, float[8,4] w, bool go, float[4] b) => (float[2,4] y, float[2,4] z) {
          [mm] u = MatMul(x, w)
          [act] y = Sigmoid(u)
          [if] z = If (go) <
            then_branch = yes () => (float[2,4] p) { q = Add(u, b)  r = Exp(q)  p = Neg(r) },
            else_branch = no () => (float[2,4] o) { i = Cos(u)  o = Sin(i) }>
        }"""
    )
    small = extracted(
        cli, path, tmp_path / "s.onnxtxt", "--edge", "u:act", "--rule", "matmul-activation"
    )
    assert ops(small) == ["MatMul", "Sigmoid", "If"]
    bodies = [a.g for a in small.graph.node[2].attribute]
    assert [[n.op_type for n in body.node] for body in bodies] == [["Identity"], ["Identity"]]
    assert inputs(small) == {"x", "w", "go"}


def test_nodes_that_were_not_in_order(cli: Cli, tmp_path: Path) -> None:
    graph = helper.make_graph(
        [
            helper.make_node("Sigmoid", ["u"], ["y"], "act"),
            helper.make_node("MatMul", ["x", "w"], ["u"], "mm"),
        ],
        "g",
        [helper.make_tensor_value_info(n, 1, s) for n, s in (("x", [2, 8]), ("w", [8, 4]))],
        [helper.make_tensor_value_info("y", 1, [2, 4])],
    )
    path = tmp_path / "unsorted.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    small = extracted(cli, path, tmp_path / "s.onnx", "--edge", "u")
    assert ops(small) == ["MatMul", "Sigmoid"]


def test_names_that_need_quotes_survive_text(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "quoted.onnxtxt"
    path.write_text(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,8] "/x:0", float[8,4] w) => (float[2,4] "y.1") {
          ["/b.0/mm"] "/u:0" = MatMul("/x:0", w)
          ["/b.0/act"] "y.1" = Sigmoid("/u:0")
        }"""
    )
    small = extracted(cli, path, tmp_path / "s.onnxtxt", "--edge", "/u:0:/b.0/act")
    assert inputs(small) == {"/x:0", "w"}


def refused(cli: Cli, *args: str | Path) -> str:
    outcome = cli("explain", *args)
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert len(outcome.err.splitlines()) == 1
    return outcome.err


def test_more_than_one_decision(cli: Cli, tmp_path: Path) -> None:
    model = CASES / "120-conv-add-relu.onnxtxt"
    message = refused(cli, model, "--target", "ideal", "--extract", tmp_path / "s.onnx")
    count = len(api.explain(model, target="ideal").decisions)
    assert f"{count} match" in message
    assert "--edge" in message
    assert not list(tmp_path.iterdir())


def test_no_decision(cli: Cli, tmp_path: Path) -> None:
    options = ("--target", "ideal", "--verdict", "fuse", "--extract", tmp_path / "s.onnx")
    assert "none matches" in refused(cli, SHARED, *options)


def test_an_ending_that_says_nothing(cli: Cli, tmp_path: Path) -> None:
    options = ("--target", "ideal", "--extract", tmp_path / "s.json")
    assert ".onnxtxt" in refused(cli, SHARED, *options)


def test_standard_input(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = SHARED.open("rb")

    monkeypatch.setattr("sys.stdin", Stdin)
    options = ("--target", "ideal", "--edge", "u:act", "--extract", tmp_path / "s.onnx")
    assert "standard input" in refused(cli, "-", *options)
    Stdin.buffer.close()


def test_what_text_cannot_say(cli: Cli, tmp_path: Path) -> None:
    model = parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]>
        g (float[2,2] x) => (float[2,2] y) <float s = {0.5}> {
          w = DequantizeLinear(codes, s)
          u = MatMul(x, w)
          y = Sigmoid(u)
        }"""
    )
    codes = helper.make_tensor("codes", onnx.TensorProto.INT4, [2, 2], [1, 2, 3, 4])
    model.graph.initializer.append(codes)
    path = tmp_path / "int4.onnx"
    onnx.save(model, path)
    options = ("--target", "ideal", "--edge", "w", "--rule", "weight-only-matmul", "--extract")
    assert "ONNX text" in refused(cli, path, *options, tmp_path / "s.onnxtxt")
    assert cli("explain", path, *options, tmp_path / "s.onnx").code == 0
    (kept,) = (t for t in onnx.load(tmp_path / "s.onnx").graph.initializer if t.name == "codes")
    assert kept.data_type == onnx.TensorProto.INT4
    assert numpy_helper.to_array(kept).astype(int).tolist() == [[1, 2], [3, 4]]


def test_a_decision_that_cannot_be_cut_out(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the answer hangs on something that no part has, it says so and writes nothing."""
    monkeypatch.setattr("fusectl.cli.extract._has", lambda report, decision: False)
    options = ("--target", "ideal", "--edge", "u:act", "--extract", tmp_path / "s.onnx")
    assert "--extract cannot help" in refused(cli, SHARED, *options)
    assert not list(tmp_path.iterdir())
