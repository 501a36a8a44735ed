"""Bodies and functions: what they see, what is seen of them."""

import onnx
import pytest
from onnx import helper

from fusectl.errors import ModelError
from tests.engine.build import explain, model, notes, told, verdicts


def _function(body: str, call: str, inputs: str = "float[2,8] x", header: str = "") -> str:
    """A model that only calls a function."""
    return (
        '<ir_version: 8, opset_import: ["" : 17, "l" : 1]>\n'
        f"g ({inputs}) => (float[2,8] y) {{ {call} }}\n"
        f'<domain: "l", opset_import: [{header or chr(34) * 2 + " : 17"}]>\n{body}'
    )


def test_attribute_that_the_call_states() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17, "l" : 1]>
    g (float[2,8] x) => (float[2,8] y, float[2,8] z) {
      [right] y = l.HS <a = 0.16666667> (x)  [wrong] z = l.HS <a = 0.3> (x) }
    <domain: "l", opset_import: ["" : 17]>
    HS <a> (v) => (r) { [h] h = HardSigmoid <alpha : float = @a> (v)  [m] r = Mul(v, h) }"""
    found = {d.edge.producer.graph[0].call: told(d) for d in explain(text).decisions}
    assert found == {"right": "fuse", "wrong": "attribute"}


@pytest.mark.parametrize(("stated", "verdict"), [("", "attribute"), ("<a = 0.16666667>", "fuse")])
def test_attribute_with_a_default_of_the_function(stated: str, verdict: str) -> None:
    body = """HS <a : float = 0.3> (v) => (r) {
      h = HardSigmoid <alpha : float = @a> (v)  [m] r = Mul(v, h) }"""
    assert verdicts(explain(_function(body, f"[c] y = l.HS {stated} (x)"))) == {"h -> m": verdict}


def test_attribute_that_nobody_states() -> None:
    """The operator's own default counts: 0.2, which is no HardSwish."""
    body = "HS <a> (v) => (r) { h = HardSigmoid <alpha : float = @a> (v)  [m] r = Mul(v, h) }"
    assert verdicts(explain(_function(body, "[c] y = l.HS (x)"))) == {"h -> m": "attribute"}


def test_attribute_through_two_functions() -> None:
    text = _function(
        "Outer <b> (v) => (r) { [in] r = l.HS <a : float = @b> (v) }\n"
        '<domain: "l", opset_import: ["" : 17]>\n'
        "HS <a> (v) => (r) { h = HardSigmoid <alpha : float = @a> (v)  [m] r = Mul(v, h) }",
        "[out] y = l.Outer <b = 0.16666667> (x)",
        header='"" : 17, "l" : 1',
    )
    report = explain(text)
    assert verdicts(report) == {"h -> m": "fuse"}
    steps = report.decisions[0].edge.producer.graph
    assert [(s.function, s.call) for s in steps] == [("l.Outer", "out"), ("l.HS", "in")]


def test_attribute_inside_a_body_of_a_function() -> None:
    text = _function(
        """F <a> (v, c) => (r) { [if] r = If (c) <
             then_branch = yes () => (float[2,8] k) {
               h = HardSigmoid <alpha : float = @a> (v)  [m] k = Mul(v, h) },
             else_branch = no () => (float[2,8] f) { f = Neg(v) } > }""",
        "[c] y = l.F <a = 0.16666667> (x, on)",
        "float[2,8] x, bool on",
    )
    assert verdicts(explain(text)) == {"h -> m": "fuse"}


QUICK = "Q (v, k) => (r) { t = Mul(v, k)  s = Sigmoid(t)  [m] r = Mul(v, s) }"


def test_constant_that_the_call_gives() -> None:
    text = (
        """<ir_version: 8, opset_import: ["" : 17, "l" : 1]>
    g (float[2,8] x, float[1] late) => (float[2,8] y, float[2,8] z, float[2,8] p)
    <float f = {1.702}> {
      [one] y = l.Q (x, f)  [two] z = l.Q (x, late)  [same] p = l.Q (x, f) }
    <domain: "l", opset_import: ["" : 17]>
    """
        + QUICK
    )
    report = explain(text)
    found = {
        d.edge.producer.graph[0].call: told(d) for d in report.decisions if d.edge.value == "s"
    }
    assert found == {"one": "fuse", "two": "not-constant"}
    assert "l.Q is called 2 times in the same way" in notes(report)


def test_types_that_the_call_gives() -> None:
    """A body has no types; a double in the call is a double inside."""
    text = """<ir_version: 8, opset_import: ["" : 17, "l" : 1]>
    g (float[2,8] x, float[8,4] w, double[2,8] a, double[8,4] b) => (float[2,4] y, double[2,4] z) {
      [one] y = l.F (x, w)  [two] z = l.F (a, b) }
    <domain: "l", opset_import: ["" : 17]>
    F (v, w) => (r) { [mm] u = Gemm(v, w)  [act] r = Sigmoid(u) }"""
    report = explain(text, "lut-npu")
    found = {d.edge.producer.graph[0].call: told(d) for d in report.decisions}
    assert found == {"one": "fuse", "two": "unsupported-dtype"}


def test_input_that_the_call_leaves_out() -> None:
    body = "F (v, w, b) => (r) { [fc] u = Gemm(v, w, b)  [add] r = Add(u, w) }"
    report = explain(_function(body, "[c] y = l.F (x, w)", "float[2,8] x, float[8,8] w"))
    # The slot of the bias is free, and w has the wrong shape for one.
    assert verdicts(report) == {"u -> add": "shape"}


def test_function_that_calls_itself() -> None:
    with pytest.raises(ModelError, match=r"l\.F calls itself"):
        explain(_function("F (v) => (r) { r = l.F(v) }", "y = l.F(x)", header='"" : 17, "l" : 1'))


def test_functions_own_opset() -> None:
    """Axes are an attribute in the function, although the model has opset 18."""
    text = """<ir_version: 8, opset_import: ["" : 18, "l" : 1]>
    g (float[2,8] x, float[8] gamma) => (float[2,8] y) { [c] y = l.Norm (x, gamma) }
    <domain: "l", opset_import: ["" : 13]>
    Norm (x, gamma) => (y) {
      two = Constant<value_float = 2.0>()  eps = Constant<value_float = 0.00001>()
      p = Pow(x, two)  v = ReduceMean <axes = [-1]> (p)  w = Add(v, eps)  s = Sqrt(w)
      [div] n = Div(x, s)  y = Mul(n, gamma) }"""
    assert verdicts(explain(text)) == {"s -> div": "fuse"}


def test_function_that_needs_no_opset() -> None:
    text = _function(
        "F (v) => (r) { r = com.microsoft.QuickGelu(v) }",
        "y = l.F(x)",
        header='"com.microsoft" : 1',
    )
    assert not explain(text).notes


def test_overloads() -> None:
    opset = [helper.make_opsetid("", 17)]
    plain = helper.make_function(
        "l", "F", ["x"], ["y"], [helper.make_node("Sin", ["x"], ["y"])], opset
    )
    silu = helper.make_function(
        "l", "F", ["x"], ["y"],
        [helper.make_node("Sigmoid", ["x"], ["s"]), helper.make_node("Mul", ["x", "s"], ["y"])],
        opset,
    )  # fmt: skip
    plain.overload, silu.overload = "a", "b"
    calls = [
        helper.make_node("F", ["x"], ["p"], "one", domain="l", overload="a"),
        helper.make_node("F", ["p"], ["y"], "two", domain="l", overload="b"),
    ]
    ends = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 8]) for n in "xy"]
    graph = helper.make_graph(calls, "g", ends[:1], ends[1:])
    imports = [*opset, helper.make_opsetid("l", 1)]
    found = helper.make_model(graph, functions=[plain, silu], opset_imports=imports, ir_version=10)
    onnx.checker.check_model(found)
    report = explain(found)
    assert [d.edge.producer.graph[0].call for d in report.decisions] == ["two"]
    assert not report.notes


LOOP = """g (float[2,8] x, float[8,4] w, int64 n, bool c, float[2,4] z0)
=> (float[2,4] y, float[2,4] z) {
  [mm]   u = MatMul(x, w)
  [act]  y = Sigmoid(u)
  [loop] z = Loop (n, c, z0) <
    body = b (int64 i, bool go, float[2,4] before) => (bool on, float[2,4] after) {
    on = Identity(go)
    after = INSIDE
  }> }"""
BRANCH = """If (go) < then_branch = yes () => (float[2,4] a) { a = Add(before, u) },
                      else_branch = no () => (float[2,4] d) { d = Add(before, y) } >"""


@pytest.mark.parametrize("inside", ["Add(before, u)", BRANCH])
def test_value_that_a_body_reads_at_any_depth(inside: str) -> None:
    report = explain(LOOP.replace("INSIDE", inside))
    found = next(d for d in report.decisions if d.edge.value == "u")
    assert told(found) == "subgraph-capture"
    assert "loop (Loop)" in found.blockers[0].observed


def test_value_that_a_body_returns_as_it_is() -> None:
    text = """g (float[2,8] x, float[8,4] w, bool c) => (float[2,4] y, float[2,4] z) {
      [mm] u = MatMul(x, w)  [act] y = Sigmoid(u)
      [if] z = If (c) < then_branch = yes () => (float[2,4] a) { a = Neg(y) },
                        else_branch = no () => (float[2,4] b) { b = Neg(y) } > }"""
    found = model(text)
    branch = found.graph.node[2].attribute[0].g
    del branch.node[:]
    branch.output[0].name = "u"
    assert verdicts(explain(found)) == {"u -> act": "subgraph-capture"}


def test_name_that_a_body_uses_for_something_else() -> None:
    text = """g (float[2,8] x, float[8,4] w, bool c) => (float[2,4] y, float[2,4] z) {
      [mm] u = MatMul(x, w)  [act] y = Sigmoid(u)
      [if] z = If (c) < then_branch = yes () => (float[2,4] a) { u = Neg(y)  a = Neg(u) },
                        else_branch = no () => (float[2,4] b) { b = Neg(y) } > }"""
    assert verdicts(explain(text))["u -> act"] == "fuse"


def test_constant_of_an_outer_scope() -> None:
    text = """g (float[2,8] x, bool c) => (float[2,8] z) <float f = {1.702}> {
      [if] z = If (c) < then_branch = yes () => (float[2,8] a) {
                          k = Mul(x, f)  s = Sigmoid(k)  [y] a = Mul(x, s) },
                        else_branch = no () => (float[2,8] b) { b = Neg(x) } > }"""
    assert verdicts(explain(text)) == {"s -> y": "fuse"}


def test_constant_that_an_outer_scope_computes() -> None:
    text = """g (float[2,8] x, bool c) => (float[2,8] z) <float h = {0.851}> {
      f = Add(h, h)
      [if] z = If (c) < then_branch = yes () => (float[2,8] a) {
                          k = Mul(x, f)  s = Sigmoid(k)  [y] a = Mul(x, s) },
                        else_branch = no () => (float[2,8] b) { b = Neg(x) } > }"""
    assert verdicts(explain(text))["s -> y"] == "fuse"


def test_value_that_a_loop_carries_is_no_constant() -> None:
    text = """g (float[2,8] x, int64 n, bool c) => (float[2,8] z) <float f = {1.702}> {
      [loop] z, q = Loop (n, c, x, f) <
        body = b (int64 i, bool go, float[2,8] v, float k) => (bool on, float[2,8] a, float k2) {
          on = Identity(go)  t = Mul(v, k)  s = Sigmoid(t)  [y] a = Mul(v, s)
          k2 = Identity(k) }> }"""
    assert verdicts(explain(text))["s -> y"] == "not-constant"


def test_body_reads_a_value_that_exists_nowhere() -> None:
    text = """g (float[2] x, bool c) => (float[2] z) {
      [if] z = If (c) < then_branch = yes () => (float[2] a) { a = Add(x, ghost) },
                        else_branch = no () => (float[2] b) { b = Neg(x) } > }"""
    with pytest.raises(ModelError, match="'ghost', which exists nowhere"):
        explain(text)
