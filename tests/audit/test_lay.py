"""When an edge that a compiler fuses is called illegal: only what is proven wrong."""

from onnx import parser

from fusectl import api
from fusectl.audit.lay import lay
from fusectl.audit.work import End, Fate, Measured
from tests.audit import models

GATED = models.HEAD + (
    "g (float[2,8] x, float[8,4] w) => (float[2,4] y) "
    "{ u = MatMul(x, w)  s = Sigmoid(u)  y = Mul(u, s) }"
)


def illegal(first: Fate, second: Fate) -> list[bool]:
    """Whether the edges from u to Sigmoid and to Mul are called illegal, as they are measured."""
    ends = (("Sigmoid", "s", first), ("Mul", "y", second))
    edges = [Measured("u", End("", "MatMul", "u"), End("", o, v), f) for o, v, f in ends]
    report = api.explain(parser.parse_model(GATED), "ideal", skip=["silu"])
    return [found.illegal for found in lay(report, edges)]


def test_a_value_that_is_read_must_not_be_swallowed() -> None:
    assert illegal("fused", "kept")[0]


def test_several_users_may_all_be_fused() -> None:
    assert illegal("fused", "fused") == [False, False]


def test_what_is_kept_is_never_illegal() -> None:
    assert illegal("kept", "kept") == [False, False]


PASSED = models.HEAD + (
    "g (float[2,8] x, float[8,4] w) => (float[2,4] y) "
    "{ u = Gemm(x, w)  i = Identity(u)  j = Identity(i)  y = Relu(j) }"
)


def test_edges_of_an_eliminated_node_follow_what_it_passes_on() -> None:
    steps = (("u", "Identity", "i"), ("i", "Identity", "j"), ("j", "Relu", "y"))
    edges = [Measured(v, End("", "", v), End("", o, c), "fused") for v, o, c in steps]
    for skip, fused in (([], True), (["matmul-activation"], False)):
        report = api.explain(parser.parse_model(PASSED), "ideal", skip=skip)
        assert [found.predicted for found in lay(report, edges)] == [fused] * 3
