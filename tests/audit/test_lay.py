"""When an edge that a compiler fuses is called illegal: only what is proven wrong."""

from pathlib import Path

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
    ideal = api.load_target("ideal")
    report = api.explain(parser.parse_model(GATED), ideal, skip=["silu"])
    return [found.illegal for found in lay(report, edges, ideal)]


def test_a_value_that_is_read_must_not_be_swallowed() -> None:
    assert illegal("fused", "kept")[0]


def test_several_users_may_all_be_fused() -> None:
    assert illegal("fused", "fused") == [False, False]


def test_what_is_kept_is_never_illegal() -> None:
    assert illegal("kept", "kept") == [False, False]


def test_what_the_target_alone_refuses_is_no_proof() -> None:
    """A reason of a legality class that stands in the target's file is about the target."""
    folder = Path(__file__).parents[1] / "coverage" / "data"
    moves = api.load_target(folder / "moves-transposes.yaml")
    report = api.explain(folder / "attribute-transposed.onnxtxt", moves)
    (refused,) = (d for d in report.decisions if d.rule == "rmsnorm")
    assert {f.group for f in refused.blockers} == {"pattern"}
    value, consumer = refused.edge.value, refused.edge.consumer
    producer = End("", refused.edge.producer.op_type, value)
    edge = Measured(value, producer, End("", consumer.op_type, consumer.output), "fused")
    (found,) = lay(report, [edge], moves)
    assert found.decision is refused
    assert not found.predicted
    assert not found.illegal


def test_a_removed_node_belongs_to_the_fusion_over_it() -> None:
    text = models.HEAD + (
        "g (float[N,2,4,4] x, float[3,2,1,1] w) => (float[N,3,4,4] y) "
        "<float one = {1}, float[3] c = {1, 2, 3}, float[3,1,1] b = {1, 2, 3}, "
        "float[3,2,1,1] k = {1, 2, 3, 4, 5, 6}> "
        "{ u = Conv(x, k, c)  v = Div(u, one)  y = Add(v, b) }"
    )
    edges = [
        Measured("u", End("", "Conv", "u"), End("", "Div", "v"), "fused"),
        Measured("v", End("", "Div", "v"), End("", "Add", "y"), "fused"),
    ]
    target = api.load_target("onnxruntime-cpu")
    report = api.explain(parser.parse_model(text), target)
    assert [found.predicted for found in lay(report, edges, target)] == [True, True]


PASSED = models.HEAD + (
    "g (float[2,8] x, float[8,4] w) => (float[2,4] y) "
    "{ u = Gemm(x, w)  i = Identity(u)  j = Identity(i)  y = Relu(j) }"
)


def test_edges_of_an_eliminated_node_follow_what_it_passes_on() -> None:
    steps = (("u", "Identity", "i"), ("i", "Identity", "j"), ("j", "Relu", "y"))
    edges = [Measured(v, End("", "", v), End("", o, c), "fused") for v, o, c in steps]
    for skip, fused in (([], True), (["matmul-activation"], False)):
        target = api.load_target("ideal")
        report = api.explain(parser.parse_model(PASSED), target, skip=skip)
        assert [found.predicted for found in lay(report, edges, target)] == [fused] * 3
