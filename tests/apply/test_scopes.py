"""Fusions in bodies, in functions and at the borders of scopes, as model-local functions."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

import fusectl
from fusectl.tables import Catalog

HEAD = '<ir_version: 8, opset_import: ["": 17, "local": 1]>\n'


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return fusectl.load_rules()


def _applied(
    text: str, folder: Path, catalog: Catalog, opset: int = 17, target: str = "ideal"
) -> onnx.ModelProto:
    """Apply to a model as text; the reference evaluator gives the same results before and after."""
    before = parser.parse_model(HEAD.replace("17", str(opset)) + text)
    onnx.checker.check_model(before)
    path, out, again = folder / "m.onnx", folder / "out.onnx", folder / "again.onnx"
    path.write_bytes(before.SerializeToString())
    fusectl.apply_fusions(path, target, output=out, rules=catalog)
    fusectl.apply_fusions(out, target, output=again, rules=catalog)
    assert out.read_bytes() == again.read_bytes()
    after = onnx.load(out)
    onnx.checker.check_model(after, full_check=True)
    rng = np.random.default_rng(0)
    fed = {}
    for info in before.graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        values = rng.standard_normal(shape) if kind.kind == "f" else rng.integers(0, 2, shape)
        fed[info.name] = np.asarray(values).astype(kind)
    for one, two in zip(
        ReferenceEvaluator(before).run(None, fed),
        ReferenceEvaluator(after).run(None, fed),
        strict=True,
    ):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)
    return after


def _calls(nodes: object) -> list[str]:
    return [n.op_type.rpartition("_")[0] for n in nodes if n.domain == "fusectl"]  # type: ignore[attr-defined]


def test_a_group_without_an_operator_becomes_a_function_of_its_nodes(
    tmp_path: Path, catalog: Catalog
) -> None:
    after = _applied(
        "g (float[2,4] x, float[4,4] w, float[4] b) => (float[2,4] y) "
        "{ m = MatMul(x, w)  a = Add(m, b)  y = Tanh(a) }",
        tmp_path,
        catalog,
    )
    assert _calls(after.graph.node) == ["matmul_activation"]
    assert [n.op_type for n in after.functions[0].node] == ["MatMul", "Add", "Tanh"]
    assert "fusectl.rules: matmul-bias, matmul-activation" in after.graph.node[0].doc_string


def test_metadata_from_ir_version_10_on(tmp_path: Path, catalog: Catalog) -> None:
    made = parser.parse_model(
        HEAD.replace("ir_version: 8", "ir_version: 10")
        + "g (float[2,4] x, float[4,4] w) => (float[2,4] y) "
        "{ [mm] m = MatMul(x, w)  [act] y = Tanh(m) }"
    )
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    fusectl.apply_fusions(tmp_path / "m.onnx", "ideal", output=tmp_path / "o.onnx", rules=catalog)
    node = onnx.load(tmp_path / "o.onnx").graph.node[0]
    told = {e.key: e.value for e in node.metadata_props}
    assert told["fusectl.rules"] == "matmul-activation"
    assert told["fusectl.nodes"] == "mm, act"


def test_equal_groups_share_one_function(tmp_path: Path, catalog: Catalog) -> None:
    after = _applied(
        "g (float[2,4] x, float[4,4] w, float[4,4] v) => (float[2,4] y) "
        "{ m = MatMul(x, w)  a = Tanh(m)  n = MatMul(a, v)  y = Tanh(n) }",
        tmp_path,
        catalog,
    )
    assert len(after.functions) == 1
    assert _calls(after.graph.node) == ["matmul_activation", "matmul_activation"]


def test_bodies_and_what_they_capture(tmp_path: Path, catalog: Catalog) -> None:
    after = _applied(
        "g (float[2,4] x, float[4,4] w, bool c) => (float[2,4] y) { i = Identity(x)  "
        "y = If (c) <then_branch = t () => (float[2,4] r) { m = MatMul(i, w)  r = Tanh(m) }, "
        "else_branch = e () => (float[2,4] s) { s = Neg(i) }> }",
        tmp_path,
        catalog,
    )
    (node,) = after.graph.node
    bodies = {a.name: a.g for a in node.attribute}
    assert _calls(bodies["then_branch"].node) == ["matmul_activation"]
    assert list(bodies["then_branch"].node[0].input) == ["x", "w"]
    assert list(bodies["else_branch"].node[0].input) == ["x"]


def test_bodies_within_bodies(tmp_path: Path, catalog: Catalog) -> None:
    after = _applied(
        "g (float[2,4] x, float[4,4] w, bool c) => (float[2,4] y) { "
        "y = If (c) <then_branch = t () => (float[2,4] r) { k = Identity(x)  r = If (c) "
        "<then_branch = tt () => (float[2,4] p) { m = MatMul(k, w)  p = Tanh(m) }, "
        "else_branch = te () => (float[2,4] q) { q = Neg(k) }> }, "
        "else_branch = e () => (float[2,4] s) { s = Neg(x) }> }",
        tmp_path,
        catalog,
    )
    outer = {a.name: a.g for a in after.graph.node[0].attribute}["then_branch"]
    inner = {a.name: a.g for a in outer.node[0].attribute}["then_branch"]
    assert _calls(inner.node) == ["matmul_activation"]


def test_a_removed_no_op_keeps_the_name_of_the_output(tmp_path: Path, catalog: Catalog) -> None:
    after = _applied(
        "g (float[2,4] x, float[4,4] w) => (float[2,4] y, float[2,4] z) "
        "{ m = MatMul(x, w)  a = Tanh(m)  y = Identity(a)  z = Neg(a) }",
        tmp_path,
        catalog,
    )
    assert list(after.graph.node[0].output) == ["y"]
    assert list(after.graph.node[1].input) == ["y"]


FUNCTION = (
    '<opset_import: ["": 17], domain: "local"> f <alpha> (a, b) => (r) '
    "{ m = Gemm<alpha: float = @alpha>(a, b)  r = Tanh(m) }"
)


def test_a_function_is_edited_where_its_calls_agree(tmp_path: Path, catalog: Catalog) -> None:
    after = _applied(
        "g (float[2,4] x, float[4,4] w) => (float[2,4] z) "
        "{ y = local.f<alpha=0.5>(x, w)  z = local.f<alpha=0.5>(y, w) }\n" + FUNCTION,
        tmp_path,
        catalog,
    )
    (held,) = [f for f in after.functions if f.domain == "local"]
    assert _calls(held.node) == ["matmul_activation"]


def test_a_function_stays_where_its_calls_differ(tmp_path: Path, catalog: Catalog) -> None:
    after = _applied(
        "g (float[2,4] x, float[4,4] w) => (float[2,4] z) "
        "{ y = local.f<alpha=0.5>(x, w)  z = local.f<alpha=0.25>(y, w) }\n" + FUNCTION,
        tmp_path,
        catalog,
    )
    (held,) = [f for f in after.functions if f.domain == "local"]
    assert [n.op_type for n in held.node] == ["Gemm", "Tanh"]


def test_a_dequantiser_with_two_readers_is_copied(tmp_path: Path, catalog: Catalog) -> None:
    after = _applied(
        "g (uint8[2,4] xq) => (uint8[2,4] p, uint8[2,4] q) <float s={0.1}, uint8 z={5}> "
        "{ x = DequantizeLinear(xq, s, z)  u = Sigmoid(x)  p = QuantizeLinear(u, s, z)  "
        "v = Softmax(x)  q = QuantizeLinear(v, s, z) }",
        tmp_path,
        catalog,
        19,
    )
    assert _calls(after.graph.node) == ["qdq_unary", "qdq_unary"]
    assert "x" not in {o for n in after.graph.node for o in n.output}


INLINED = (
    "g (float[2,4] x, float[4,4] w, float[4] b) => (float[2,4] z) "
    "{ m = MatMul(x, w)  [call] y = local.f(m, b)  [last] z = local.f(y, b) }\n"
    '<opset_import: ["": 17], domain: "local"> f (a, b) => (r) { [sum] r = Add(a, b) }'
)


def test_a_target_that_sees_no_calls(tmp_path: Path, catalog: Catalog) -> None:
    """It decides about bodies in the place of their calls, and that is what is written."""
    path, out, again = (tmp_path / f"{n}.onnx" for n in ("m", "out", "again"))
    path.write_bytes(parser.parse_model(HEAD + INLINED).SerializeToString())
    plan = fusectl.apply_fusions(path, "onnxruntime-cpu", output=out, rules=catalog)
    report = fusectl.explain(path, "onnxruntime-cpu", rules=catalog)
    promised = [d.edge.consumer.output for d in report.decisions if d.verdict == "fuse"]
    assert [e.outputs for e in plan.edits] == [tuple(promised)] == [("y",)]
    assert "1 function of the model, put in the place of the calls" in plan.notes[0].text
    written = onnx.load(out)
    assert [n.op_type for n in written.graph.node] == ["Gemm", "Add"]
    assert not written.functions
    fusectl.apply_fusions(out, "onnxruntime-cpu", output=again, rules=catalog)
    assert again.read_bytes() == out.read_bytes()
    fusectl.apply_fusions(
        path, "onnxruntime-cpu", output=again, rules=catalog, skip=["matmul-bias"]
    )
    assert again.read_bytes() == path.read_bytes()
    fusectl.apply_fusions(path, "onnxruntime-cpu", output=again, rules=catalog, only=["m:y"])
    assert again.read_bytes() == out.read_bytes()


def test_fused_groups_are_no_calls_of_the_user(tmp_path: Path, catalog: Catalog) -> None:
    """A target that sees no calls sees what `apply` wrote as one operator all the same."""
    after = _applied(
        "g (float[2,4] x, float[4,4] w) => (float[2,4] y) { m = MatMul(x, w)  y = Tanh(m) }",
        tmp_path,
        catalog,
    )
    report = fusectl.explain(after, "onnxruntime-cpu", rules=catalog)
    assert report.model.nodes == 1
    assert not report.decisions


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("y = LeakyRelu(d)", ", float[2,4] d"),
        ("b = Greater(d, d)  y = Where(b, d, x)", ""),
        ("m = Sqrt(d)  y = Max(x, d)", ", float[2,4] m"),
        ("m = Max(u, d)  y = Max(x, d)", ", float[2,4] m"),
    ],
)
def test_a_dequantiser_that_is_copied_keeps_its_quantiser(
    body: str, more: str, tmp_path: Path, catalog: Catalog
) -> None:
    """Only the dequantiser has other readers, and it goes on reading the codes."""
    _applied(
        f"""g (float[2,4] x) => (float[2,4] y{more}) <float s = {{0.05}}, uint8 z = {{7}}> {{
          u = Abs(x)  v = Mul(u, x)  q = QuantizeLinear(v, s, z)
          d = DequantizeLinear(q, s, z)  {body} }}""",
        tmp_path,
        catalog,
        opset=19,
        target="openvino-cpu",
    )
