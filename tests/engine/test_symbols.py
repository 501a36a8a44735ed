"""Shapes with symbols: what is not known never fuses, what the file states elsewhere counts."""

import pytest

from tests.engine.build import explain, verdicts

PRODUCT = """g (uint8[M,K] xq, int8[K,N] wq, float xs, float[C] ws, float[N] b) => (RESULT y) {{
  [mm] u = MatMulInteger(xq, wq)  [cast] c = Cast <to = 1> (u)  [scale] s = Mul(xs, ws)
  {rest} }}"""


@pytest.mark.parametrize(
    ("result", "rest", "verdict"),
    [
        # A broadcast never makes a result smaller than an operand, so C is N or 1 here.
        ("float[M,N]", "[y] y = Mul(c, s)", "fuse"),
        ("float[M,N]", "p = Mul(c, s)  [y] y = Add(p, b)", "fuse"),
        ("float[M,P]", "[y] y = Mul(c, s)", "shape?"),
        ("float[M,C]", "[y] y = Mul(c, s)", "shape?"),
        # A product of matrices says nothing of how its operands broadcast.
        ("float[M,N]", "p = Mul(c, s)  [y] y = MatMul(p, p)", "shape?"),
    ],
)
def test_scale_of_another_symbol(result: str, rest: str, verdict: str) -> None:
    text = PRODUCT.format(rest=rest).replace("RESULT", result)
    assert verdicts(explain(text, "onnxruntime-cpu"))["u -> cast"] == verdict
