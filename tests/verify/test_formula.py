"""The real-number formula of a model, against plain numpy; and what is held against it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest

import fusectl
from fusectl.report.verification import FromFormula
from fusectl.runtime import CannotRun
from fusectl.runtime.formula import Formula
from fusectl.tables.target_schema import DEMANDS, Demand
from fusectl.verify.formula import from_formula, joined
from tests.run_cli import Outcome

HEAD = '<ir_version: 8, opset_import: ["" : 17, "own" : 1]>'
RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(3, 8)).astype(np.float16)
W = RANDOM.normal(size=(8, 4)).astype(np.float16)
EXACT = X.astype(np.float64) @ W.astype(np.float64)


def formula(text: str) -> Formula:
    return Formula(onnx.parser.parse_model(HEAD + text))


def test_no_node_rounds() -> None:
    """A product in half precision, a conversion back and forth, and constants in all forms."""
    found = formula("""
        g (float16[3,8] x, float16[8,4] w) => (float[3,4] y) {
          u = MatMul(x, w)  a = Cast<to = 1>(u)  b = Cast<to = 10>(a)  c = Cast<to = 1>(b)
          t = Constant<value_float = 0.1>()  s = Constant<value = float {0.2}>()
          d = Mul(c, t)  y = Add(d, s) }""").run({"x": X, "w": W})
    wanted = EXACT * np.float64(np.float32(0.1)) + np.float64(np.float32(0.2))
    np.testing.assert_allclose(found["y"], wanted, rtol=1e-14)


def test_a_quantiser_saturates_and_does_not_round() -> None:
    found = formula(
        """
        g (float16[3,8] x, float16[8,4] w) => (int8[3,4] q, float[3,4] y)
        <float s = {0.5}, int8 z = {3}> {
          u = MatMul(x, w)  a = Cast<to = 1>(u)  k = Mul(a, hundred)
          q = QuantizeLinear(k, s, z)  y = DequantizeLinear(q, s, z) }
        """.replace("int8 z = {3}", "int8 z = {3}, float hundred = {100}")
    ).run({"x": X, "w": W})
    codes = np.clip(EXACT * 100 / 0.5 + 3, -128, 127)
    assert np.any(codes == 127)
    assert np.any(codes != np.rint(codes))
    np.testing.assert_allclose(found["q"], codes, rtol=1e-13)
    np.testing.assert_allclose(found["y"], (codes - 3) * 0.5, rtol=1e-13, atol=1e-13)


def test_scales_of_channels() -> None:
    found = formula("""
        g (float[3,4] x) => (float[3,4] y)
        <float[4] s = {0.5, 0.25, 2, 1}, uint8[4] z = {0, 1, 2, 3}> {
          q = QuantizeLinear<axis = 1>(x, s, z)  y = DequantizeLinear<axis = 1>(q, s, z) }
        """).run({"x": EXACT.astype(np.float32)})
    low = -np.array([0, 1, 2, 3]) * np.array([0.5, 0.25, 2, 1])
    high = (255 - np.array([0, 1, 2, 3])) * np.array([0.5, 0.25, 2, 1])
    np.testing.assert_allclose(found["y"], np.clip(EXACT.astype(np.float32), low, high))


def test_integer_products_of_unrounded_codes() -> None:
    codes = np.rint(RANDOM.uniform(-90, 90, (8, 4))).astype(np.int8)
    x = X.astype(np.float32)
    found = formula("""
        g (float[3,8] x, int8[8,4] w) => (float[3,4] y) {
          q, s, z = DynamicQuantizeLinear(x)  p = MatMulInteger(q, w, z)
          r = Cast<to = 1>(p)  y = Mul(r, s) }""").run({"x": x, "w": codes})
    np.testing.assert_allclose(found["y"], x.astype(np.float64) @ codes, rtol=1e-12, atol=1e-12)


def test_bodies_and_functions_are_part_of_it() -> None:
    text = """
        g (float16[3,8] x, float16[8,4] w, bool c) => (float[3,4] y) {
          u = MatMul(x, w)  h = Cast<to = 1>(u)
          y = If(c) <then_branch = t () => (float[3,4] a) {
              s = Constant<value_float = 0.5>()
              q = QuantizeLinear(h, s)  a = DequantizeLinear(q, s) },
            else_branch = e () => (float[3,4] b) { b = own.twice(h) }> }
        <domain: "own", opset_import: ["" : 17]> twice (v) => (z) {
          half = Cast<to = 10>(v)  back = Cast<to = 1>(half)  z = Add(back, back) }"""
    feeds = {"x": X, "w": W}
    held = formula(text)
    one = held.run({**feeds, "c": np.array(True)})["y"]
    np.testing.assert_allclose(one, np.clip(EXACT, 0, 127.5), rtol=1e-14)
    two = held.run({**feeds, "c": np.array(False)})["y"]
    np.testing.assert_allclose(two, 2 * EXACT, rtol=1e-14)


@pytest.mark.parametrize(
    "body",
    [
        "y = own.Odd(x)",
        "q = QLinearConv(x, s, z, w, s, z, s, z)  y = DequantizeLinear(q, s, z)",
        "q = ConvInteger(x, w)  y = Cast<to = 1>(q)",
    ],
)
def test_where_there_is_none_it_says_so(body: str) -> None:
    text = f"""g (uint8[1,1,3,3] x, uint8[1,1,1,1] w) => (float[1,1,3,3] y)
        <float s = {{0.5}}, uint8 z = {{0}}> {{ {body} }}"""
    feeds = {"x": np.ones((1, 1, 3, 3), np.uint8), "w": np.ones((1, 1, 1, 1), np.uint8)}
    with pytest.raises(CannotRun):
        formula(text).run(feeds)


def test_distances_are_those_of_elements() -> None:
    real = np.array([1.0, 2.0, 3.0, 4.0, np.nan, 5.0])
    written = np.array([1.5, 2.0, 3.0, 4.0, np.nan, 5.5])
    fused = np.array([1.0, 2.25, 3.0, 6.0, np.nan, 5.75])
    assert from_formula(real, written, fused, 0.5) == FromFormula(0.5, 2.0, 1, 3, 2)
    # 5.75 is beyond the bound and farther than 5.5; at 1.0 a bound of 0.8 lets it pass.
    assert from_formula(real, written, fused, 0.8).beyond == 1
    lost = np.array([1.0, np.nan, 3.0, 4.0, np.nan, 5.0])
    assert from_formula(real, real, lost, 9.0) == FromFormula(0.0, None, 0, 1, 1)
    one = from_formula(real, written, fused, 0.5)
    assert joined([one, one]) == FromFormula(0.5, 2.0, 2, 6, 4)
    assert joined([one, None]) is None
    assert joined([]) is None


WEIGHTS = ", ".join(f"{v:.6f}" for v in RANDOM.normal(size=128))
DENSE = (
    '<ir_version: 9, opset_import: ["" : 17]>'
    + """
    g (float[4,16] x) => (float[4,8] y)
    <float[16,8] w = {WEIGHTS}, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {
      [mm] u = MatMul(x, w)  [add] a = Add(u, b)  [relu] y = Relu(a) }""".replace(
        "WEIGHTS", WEIGHTS
    )
)


@pytest.mark.parametrize("demand", DEMANDS)
def test_a_runtime_is_held_to_what_is_asked_for(
    demand: Demand, tmp_path: Path, cli: Callable[..., Outcome]
) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(DENSE), path)
    done = cli("verify", path, "--target", "onnxruntime-cpu", "--equivalence", demand)
    found = fusectl.verify_fusions(path, "onnxruntime-cpu", equivalence=demand)
    assert {c.demands for c in (*found.nodes, found.whole)} == {demand}
    holds = all(demand in c.held for c in (*found.nodes, found.whole))
    assert found.passed == holds
    assert done.code == (0 if holds else 1)
    for checked in (*found.nodes, found.whole):
        assert {"bound", "reassociate"} <= set(checked.held)
        formula = checked.formula
        assert formula is not None
        assert formula.fused is not None
        assert formula.fused < 1e-4
    assert demand == "bound" or f"asked for: {demand}" in done.out
    assert "equal to the graph as written, bit by bit" in done.out


def test_a_fusion_that_skips_a_rounding_is_closer_and_not_equal(tmp_path: Path) -> None:
    """A rule that drops a requantisation: closer to the formula, refused by every other demand."""
    pytest.importorskip("onnxruntime")
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "skip.yaml").write_text(SKIPPING, encoding="utf-8")
    target = tmp_path / "t.yaml"
    target.write_text(SKIPPER, encoding="utf-8")
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(COARSE), path)
    verdicts = {}
    for demand in DEMANDS:
        found = fusectl.verify_fusions(path, str(target), rules=(rules,), equivalence=demand)
        (node,) = found.nodes
        verdicts[demand] = node.outcome
        assert node.held == ("reassociate",), msgspec.json.encode(node)
        assert node.formula is not None
        assert node.formula.written is not None
        assert node.formula.fused is not None
        assert node.formula.written > 100 * node.formula.fused
    assert verdicts == {"bitwise": "fail", "bound": "fail", "reassociate": "pass"}


SKIPPING = """
rules:
  - id: skip-rounding
    summary: Square what was rounded to half precision without rounding it.
    edge: b
    patterns:
      - |
        h = Cast(x)
        b = Cast(h)
        y = Mul(b, b)
    require: [single-user]
    becomes: Mul
    operands: [x]
    numerics: bounded
    writes: [{op: Mul, inputs: [x, x]}]
    examples:
      - accept: |
          g (float[2,8] x) => (float[2,8] y) {
            h = Cast<to = 10>(x)  b = Cast<to = 1>(h)  y = Mul(b, b) }
      - reject: graph-output
        model: |
          g (float[2,8] x) => (float[2,8] y, float16[2,8] h) {
            h = Cast<to = 10>(x)  b = Cast<to = 1>(h)  y = Mul(b, b) }
"""
SKIPPER = """
target: skipper
summary: Computes in single precision throughout.
passes:
  - fuse: [skip-rounding]
paths:
  skip-rounding:
    becomes: [{op: Mul, writes: [{op: Mul, inputs: [x, x]}]}]
    source: made up
"""
COARSE = (
    '<ir_version: 9, opset_import: ["" : 17]>'
    + """
    g (float[4,16] x) => (float[4,16] y) {
      [down] h = Cast<to = 10>(x)  [up] b = Cast<to = 1>(h)  [square] y = Mul(b, b) }"""
)
