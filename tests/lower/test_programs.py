"""Programs of real models: valid, exact, and close to the reference."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from fusectl.decide import Run
from fusectl.lower import Unlowerable
from fusectl.lower.validate import validate
from fusectl.program import Program
from fusectl.simulate import simulate
from fusectl.verify.host import Host, constants
from tests.lower.build import HEAD, Array, decided, feeds, functions, lowered, machine

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "samples").glob("*.onnxtxt")) + sorted(
    (ROOT / "tests" / "cases" / "data").glob("*.onnxtxt")
)
NOT_STATIC = {"bert", "090-ln-18-dynamic-axes", "121-bias-shape-missing"}
SMALL = {
    "gemm-scaled": """g (float16[5,12] a, float16[12,7] b, float16[5,1] c) => (float16[5,7] y)
        { u = Gemm<alpha = 0.5, beta = 2.0>(a, b, c)  y = Sigmoid(u) }""",
    "gemm-turned": """g (float[12,5] a, float[7,12] b, float[7] c) => (float[5,7] y)
        { u = Gemm<transA = 1, transB = 1>(a, b, c)  y = Sigmoid(u) }""",
    "batched": """g (float16[2,1,5,12] a, float16[3,12,7] b) => (float16[2,3,5,7] y)
        { u = MatMul(a, b)  y = Sigmoid(u) }""",
    "conv-strided": """g (float[2,3,9,8] x, float[4,3,3,2] w, float[4] b) => (float[2,4,5,4] y)
        { u = Conv<strides = [2,2], pads = [1,0,1,0]>(x, w, b)  y = Gelu(u) }""",
    "conv-same": """g (float[1,2,7,7] x, float[3,2,3,3] w) => (float[1,3,4,4] y)
        { u = Conv<strides = [2,2], auto_pad = "SAME_LOWER">(x, w)
          y = LeakyRelu<alpha = 0.1>(u) }""",
    "conv-1d-dilated": """g (float[1,2,16] x, float[3,2,3] w) => (float[1,3,12] y)
        { u = Conv<dilations = [2]>(x, w)  y = Tanh(u) }""",
    "conv-grouped": """g (float[1,6,5,5] x, float[4,3,3,3] w) => (float[1,4,3,3] y)
        { u = Conv<group = 2>(x, w)  y = HardSwish(u) }""",
    "two-tables": """g (float16[4,8] x, float16[8,8] w, float16[1,2,5,5] p, float16[3,2,3,3] k)
        => (float16[4,8] y, float16[1,3,3,3] t, float16[4,8] z)
        { u = MatMul(x, w)  y = Sigmoid(u)  v = Conv(p, k)  t = Tanh(v)  r = MatMul(y, w)
          z = Sigmoid(r) }""",
    "quantised": """g (float16[4,8] x, float16[8,8] w) => (int8[4,8] q)
        <float16 s = {8192}, int8 o = {-3}>
        { u = MatMul(x, w)  y = Sigmoid(u)  q = QuantizeLinear(y, s, o) }""",
    "elementwise": """g (float[4,8] x, float[8,8] w) => (float[4,8] y, float[4,8] m)
        { u = MatMul(x, w)  r = Relu(u)  s = Add(r, x)  m = Mul(x, x)  y = Sub(s, x) }""",
    "conv-behind-conv": """g (float[1,2,6,6] x, float[3,2,3,3] w, float[2,3,1,1] v)
        => (float[1,2,4,4] y)
        { u = Conv(x, w)  r = Relu(u)  t = Conv(r, v)  y = Sigmoid(t) }""",
    "host-makes-a-scalar": """g (float[4,8] x, float[8,8] w) => (float y)
        { u = MatMul(x, w)  s = Sigmoid(u)  y = ReduceMax<keepdims = 0>(s) }""",
    "times-a-vector": """g (float[5,8] w, float[8] x, float[5] b) => (float[5] y)
        { u = MatMul(w, x)  s = Add(u, b)  y = Sigmoid(s) }""",
    "vector-times": """g (float[8] x, float[8,5] w, float[5] b) => (float[5] y)
        { u = MatMul(x, w)  s = Add(u, b)  y = Sigmoid(s) }""",
    "bias-and-view": """g (float[4,8] x, float[8,6] w, float[6] b) => (float[1,4,6] y)
        <int64[1] axes = {0}>
        { m = MatMul(x, w)  a = Add(m, b)  v = Unsqueeze(a, axes)  y = Sigmoid(v) }""",
}


def outputs(run: Run, program: Program, given: dict[str, Array]) -> dict[str, Array]:
    values = {**given, **constants(program, run.overlay)}
    return simulate(program, values, Host(run.overlay))


def checked(source: str | Path, on_chip: str = "") -> dict[str, Array] | None:
    """Lower, validate and run both programs; None where the model cannot be lowered."""
    target = machine(on_chip or "lut-npu")
    fused, apart = decided(source, target), decided(source, target, functions(target))
    try:
        one, two = lowered(fused, target), lowered(apart, target, fused=False)
    except Unlowerable:
        return None
    for program in (one, two):
        assert validate(program) == []
    given = feeds(fused)
    made, plain = outputs(fused, one, given), outputs(apart, two, given)
    assert made.keys() == plain.keys() == set(fused.view.outputs) & made.keys()
    for name, array in made.items():
        assert array.tobytes() == plain[name].tobytes(), name
    return made


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_fused_and_unfused_agree_bit_by_bit(path: Path) -> None:
    assert (checked(path) is None) == (path.stem in NOT_STATIC)


def reference(source: str, given: dict[str, Array]) -> dict[str, Array]:
    from onnx.reference import ReferenceEvaluator

    model = parser.parse_model(HEAD + source)
    names = [o.name for o in model.graph.output]
    made = ReferenceEvaluator(model).run(names, given)
    return dict(zip(names, map(np.asarray, made), strict=True))


@pytest.mark.parametrize("name", SMALL)
def test_both_are_within_the_bound_of_the_reference(name: str) -> None:
    source = SMALL[name]
    made = checked(source)
    assert made is not None
    bound = machine().equivalence
    assert not isinstance(bound, str)
    step = 1.0 if name == "quantised" else 0.0  # a code beside the right one
    for output, exact in reference(source, feeds(decided(source, machine()))).items():
        far = np.abs(made[output].astype(np.float64) - exact.astype(np.float64))
        limit = np.maximum(bound.abs + bound.rel * np.abs(exact.astype(np.float64)), step)
        assert (far <= limit).all(), (output, far.max())


def test_the_checker_agrees_with_the_small_models() -> None:
    for source in SMALL.values():
        onnx.checker.check_model(parser.parse_model(HEAD + source), full_check=True)
