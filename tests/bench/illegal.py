"""Fusions of a real compiler that change the function: numbers that prove it.

    python tests/bench/illegal.py

Each model runs twice in ONNX Runtime, unfused (every optimisation off) and at the extended level,
and once in ONNX's reference evaluator. A fusion is proven wrong where the optimised session lies
further from the evaluator than rounding can explain, while the unfused one does not, or where the
two disagree on the shape. The kinds listed here are what ``agreement.py`` leaves out (``PROVEN``).
"""

# ruff: noqa: T201
from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
LAYERNORM = """
g (float[{shape}] x) => (float[{made}] y)
<float two = {{{power}}}, float eps = {{0.00001}}, float[8] gamma = {{1,2,3,4,5,6,7,8}},
 float[8] beta = {{0,1,2,3,4,5,6,7}}> {{
  mu = ReduceMean <axes = [-1], keepdims = {keep}> (x)  d = Sub(x, mu)  p = Pow(d, two)
  v = ReduceMean <axes = [-1], keepdims = {keep}> (p)  ve = Add(v, eps)  sd = Sqrt(ve)
  n = Div(d, sd)  s = Mul(n, gamma)  y = Add(s, beta) }}"""
RMSNORM = """
g (float[{shape}] x) => (float[{made}] y)
<float two = {{2}}, float eps = {{0.00001}}, float[8] gamma = {{1,2,3,4,5,6,7,8}}> {{
  p = Pow(x, two)  v = ReduceMean <axes = [-1], keepdims = {keep}> (p)  ve = Add(v, eps)
  sd = Sqrt(ve)  n = Div(x, sd)  y = Mul(n, gamma) }}"""
SUM = """
g (float[2,3,8] x, float[2,3,8] r) => (float[2,3,8] y)
<float[8] gamma = {1,2,3,4,5,6,7,8}, float[8] beta = {0,1,2,3,4,5,6,7}> {
  a = Add(x, r)  y = LayerNormalization <axis = 1> (a, gamma, beta) }"""
QUOTIENT = """
g (int64[4] x, int64[4] z) => (int64[4] y) <int64 one = {1}> { d = Div(one, x)  y = Mul(d, z) }"""

CASES: dict[tuple[str, str, str], str] = {
    ("layernorm", "constant-value", "the exponent is 3"): LAYERNORM.format(
        shape="2,3,8", made="2,3,8", power=3, keep=1
    ),
    ("layernorm", "attribute", "the means are taken with keepdims = 0"): LAYERNORM.format(
        shape="8,8", made="8,8", power=2, keep=0
    ),
    ("layernorm", "shape", "the scale expands the result"): LAYERNORM.format(
        shape="2,3,1", made="2,3,8", power=2, keep=1
    ),
    ("rmsnorm", "attribute", "the mean is taken with keepdims = 0"): RMSNORM.format(
        shape="8,8", made="8,8", keep=0
    ),
    ("rmsnorm", "shape", "the scale expands the result"): RMSNORM.format(
        shape="2,3,1", made="2,3,8", keep=1
    ),
    ("add-layernorm", "attribute", "the normalisation has two axes"): SUM,
    ("div-mul", "inexact", "the values are integers"): QUOTIENT,
}
"""Rule, the reason of its refusal, what is special, and a model."""


def session(model: onnx.ModelProto, level: str) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    """Return what runs a model in ONNX Runtime at a level of optimisation."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
    made = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return lambda feeds: np.asarray(made.run(None, feeds)[0])


def feeds_of(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Make inputs: positive floats, and integers of which each is larger than those before it."""
    rng = np.random.default_rng(0)
    feeds: dict[str, np.ndarray] = {}
    for place, value in enumerate(model.graph.input):
        kind = value.type.tensor_type
        shape = [d.dim_value for d in kind.shape.dim]
        if kind.elem_type == onnx.TensorProto.INT64:
            feeds[value.name] = rng.integers(2, 9, shape) + 10 * place
        else:
            feeds[value.name] = np.abs(rng.normal(1, 1, shape)).astype(np.float32)
    return feeds


def error(found: np.ndarray, wanted: np.ndarray) -> str:
    """Say how far a result is from the right one: its shape, or the largest difference."""
    if found.shape != wanted.shape:
        return f"shape {list(found.shape)}, not {list(wanted.shape)}"
    both = np.isfinite(found) & np.isfinite(wanted)
    spread = np.abs(found.astype(np.float64) - wanted.astype(np.float64))[both]
    only = int(np.sum(np.isfinite(found) != np.isfinite(wanted)))
    text = f"{spread.max(initial=0):.3g}"
    return f"{text}, and {only} are numbers only once" if only else text


def wrong(text: str) -> bool:
    """Tell whether an error is more than rounding."""
    return not text[0].isdigit() or "only once" in text or float(text) > 1e-3


def witness(model: onnx.ModelProto) -> tuple[str, str]:
    """Return the errors of the unfused and of the optimised session."""
    feeds = feeds_of(model)
    with np.errstate(invalid="ignore"):
        wanted = np.asarray(next(iter(ReferenceEvaluator(model).run(None, feeds))))
    results = []
    for level in ("DISABLE_ALL", "ENABLE_EXTENDED"):
        try:
            results.append(error(session(model, level)(feeds), wanted))
        except Exception as trouble:  # a session that dies of its own fusion is a witness as well
            results.append(f"it fails: {type(trouble).__name__}")
    return results[0], results[1]


def main() -> int:
    """Print one line a case; 1 where one is not proven."""
    unproven = 0
    for (rule, reason, what), text in CASES.items():
        plain, fused = witness(onnx.parser.parse_model(HEAD + text))
        proven = not wrong(plain) and wrong(fused)
        unproven += not proven
        print(f"{rule:10} {reason:15} {what:40} unfused {plain:10} fused {fused}  {proven}")
    return 1 if unproven else 0


if __name__ == "__main__":
    sys.exit(main())
