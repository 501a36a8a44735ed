"""Passes that real compilers have: layouts, shared constants, bound inputs, bodies put in place."""

from pathlib import Path

import pytest

from tests.engine.build import explain, model, verdicts


def target(folder: Path, passes: str, paths: str, more: str = "") -> Path:
    """A target file of some passes and paths."""
    path = folder / "t.yaml"
    path.write_text(f"target: t\nsummary: s\n{more}passes:\n{passes}paths:\n{paths}")
    return path


BLOCKED = """
  - layout:
      {name: blocked, block: 8, convolutions: [Conv], poolings: [MaxPool], joins: [Mul],
       scales: [Mul], concatenations: [Concat], stay: [Relu]}
  - fuse: [conv-residual]
"""
INSIDE = "  conv-residual: {shapes: [{layout: {u: blocked, r: blocked}}], source: s}\n"
RESIDUAL = """g (float[1,8,5,5] x, float[1,16,5,5] r) => (float[1,16,5,5] y)
<float[16,8,1,1] v = {{{zeros}}}, float[16,8,1,1] w = {{{zeros}}}, float[8,8,1,1] h = {{{half}}},
 float[16,1,1] s = {{{factors}}}, float two = {{2}}> {{
  [one] a = Conv(x, v)  [two] b = Conv(x, w)  {between}  [sum] y = Add(a, {operand}) }}"""


def residual(between: str = "", operand: str = "b") -> str:
    """A sum of a convolution and of something, in ONNX text with weights of zeros."""
    zeros = ", ".join(["0"] * 128)
    half, factors = ", ".join(["0"] * 64), ", ".join(["2"] * 16)
    return RESIDUAL.format(
        zeros=zeros, half=half, factors=factors, between=between, operand=operand
    )


@pytest.mark.parametrize(
    ("between", "operand", "verdict"),
    [
        ("", "b", "fuse"),
        ("[f] c = Relu(b)", "c", "fuse"),
        ("[f] c = Mul(b, b)", "c", "fuse"),
        ("[f] c = MaxPool<kernel_shape = [1, 1]>(r)", "c", "fuse"),
        ("[f] c = Mul(b, s)", "c", "fuse"),
        ("[f] c = Mul(s, b)", "c", "fuse"),
        ("[f] c = Mul(b, two)", "c", "unsupported-shape"),
        ("d = Conv(x, h)  c = Concat<axis = 1>(d, d)", "c", "fuse"),
        ("d = Conv(x, h)  c = Concat<axis = -3>(d, d)", "c", "unsupported-shape"),
        ("[f] c = Neg(b)", "c", "unsupported-shape"),
        ("", "r", "unsupported-shape"),
    ],
)
def test_what_is_kept_in_blocks(between: str, operand: str, verdict: str, tmp_path: Path) -> None:
    found = explain(residual(between, operand), target(tmp_path, BLOCKED, INSIDE))
    assert verdicts(found)["a -> sum"] == verdict


@pytest.mark.parametrize(
    ("groups", "read", "verdict"),
    [(1, 16, "fuse"), (2, 8, "fuse"), (16, 1, "fuse"), (4, 4, "unsupported-shape")],
)
def test_groups_in_blocks(groups: int, read: int, verdict: str, tmp_path: Path) -> None:
    zeros = ", ".join(["0"] * 16 * read)
    text = f"""g (float[1,16,5,5] x) => (float[1,16,5,5] y)
    <float[16,{read},1,1] w = {{{zeros}}}> {{
      [one] a = Conv<group = {groups}>(x, w)  b = MaxPool<kernel_shape = [1, 1]>(x)
      [sum] y = Add(a, b) }}"""
    found = explain(text, target(tmp_path, BLOCKED, INSIDE))
    assert verdicts(found)["a -> sum"] == verdict


@pytest.mark.parametrize(("share", "verdict"), [(False, "fuse"), (True, "multi-user")])
def test_equal_constants_become_one(share: bool, verdict: str, tmp_path: Path) -> None:
    """Then two factors are one node, with two readers."""
    text = """g (float[2,8] x, float[8,4] w) => (float[2,4] y, float[2,4] z)
    <float s = {2.0}, float t = {2.0}> {
      [a] u = Mul(x, s)  [b] v = Mul(x, t)  [c] y = MatMul(u, w)  [d] z = MatMul(v, w) }"""
    first = "  - share: {elements: 1, dtypes: [float32]}\n" if share else ""
    passes = f"{first}  - cse: true\n  - fuse: [scale-matmul]\n"
    found = verdicts(explain(text, target(tmp_path, passes, "  scale-matmul: {source: s}\n")))
    assert set(found.values()) == {verdict}


def test_constants_that_are_not_shared(tmp_path: Path) -> None:
    text = """g (float[2,8] x, float[8,4] w) => (float[2,4] y, float[2,4] z)
    <float s = {2.0}, float t = {3.0}> {
      [a] u = Mul(x, s)  [b] v = Mul(x, t)  [c] y = MatMul(u, w)  [d] z = MatMul(v, w) }"""
    passes = "  - share: {elements: 1}\n  - cse: true\n  - fuse: [scale-matmul]\n"
    found = verdicts(explain(text, target(tmp_path, passes, "  scale-matmul: {source: s}\n")))
    assert set(found.values()) == {"fuse"}


@pytest.mark.parametrize(("bind", "verdict"), [(False, "not-constant"), (True, "fuse")])
def test_inputs_with_a_default(bind: bool, verdict: str, tmp_path: Path) -> None:
    text = """g (float[2,8] x, float[8,4] w, float s = {2.0}) => (float[2,4] y) {
      [a] u = Mul(x, s)  [c] y = MatMul(u, w) }"""
    passes = ("  - bind: true\n" if bind else "") + "  - fuse: [scale-matmul]\n"
    found = explain(text, target(tmp_path, passes, "  scale-matmul: {source: s}\n"))
    assert verdicts(found) == {"u -> c": verdict}


@pytest.mark.parametrize(("tensors", "gone"), [(False, 0), (True, 1)])
def test_neutral_tensors(tensors: bool, gone: int, tmp_path: Path) -> None:
    text = """g (float[N,2] x) => (float[N,2] y) <float[2] zero = {0.0, 0.0}> {
      a = Add(x, zero)  y = Relu(a) }"""
    passes = f"  - eliminate: [Add]\n    tensors: {str(tensors).lower()}\n"
    assert len(explain(text, target(tmp_path, passes, "  {}\n")).eliminated) == gone


@pytest.mark.parametrize(
    ("scale", "zero", "reader", "gone"),
    [("s", "z", "", 2), ("t", "z", "", 0), ("s", "o", "", 0), ("s", "z", "m = Neg(d)", 0)],
)
def test_codes_that_are_quantised_again(
    scale: str, zero: str, reader: str, gone: int, tmp_path: Path
) -> None:
    more = ", float[4] m" if reader else ""
    text = f"""<opset_import: ["" : 13]>
      g (float[4] x) => (float[4] y{more})
      <float s = {{0.5}}, float t = {{0.25}}, uint8 z = {{0}}, uint8 o = {{1}}> {{
      a = QuantizeLinear(x, s, z)  d = DequantizeLinear(a, s, z)  {reader}
      b = QuantizeLinear(d, {scale}, {zero})  y = DequantizeLinear(b, {scale}, {zero}) }}"""
    passes = "  - eliminate: [QuantizeLinear]\n"
    assert len(explain(text, target(tmp_path, passes, "  {}\n")).eliminated) == gone


@pytest.mark.parametrize(
    ("moved", "readers", "verdict"),
    [(True, 1, "fuse"), (True, 2, "fuse"), (False, 1, "fuse"), (False, 2, "unsupported-dtype")],
)
def test_codes_behind_a_moved_transposition(
    moved: bool, readers: int, verdict: str, tmp_path: Path
) -> None:
    """Each reader has a quantiser of its own there; elsewhere one for several keeps its codes."""
    more = ", float[4,2] m, float[2,4] o" if readers > 1 else ""
    text = f"""<opset_import: ["" : 13]>
      g (float[4,2] p, float[2,4] r) => (float[2,4] y{more})
      <float s = {{0.5}}, int8 z = {{0}}> {{
      t = Transpose<perm = [1, 0]>(p)  [q] a = QuantizeLinear(t, s, z)
      d = DequantizeLinear(a, s, z)
      b = QuantizeLinear(r, s, z)  e = DequantizeLinear(b, s, z)
      [sum] u = Add(d, e)  c = QuantizeLinear(u, s, z)  y = DequantizeLinear(c, s, z)
      {"n = Neg(d)  m = Transpose<perm = [1, 0]>(n)  o = Neg(n)" if readers > 1 else ""} }}"""
    passes = "  - transposes: {all: [Neg], first: [QuantizeLinear, DequantizeLinear]}\n"
    passes = passes if moved else ""
    passes += "  - retype: {from: int8, to: uint8}\n    source: s\n  - fuse: [qdq-binary]\n"
    paths = "  qdq-binary: {types: {aq: [uint8]}, same_types: [aq, bq, q]"
    paths += ", duplicable: [DequantizeLinear], source: s}\n"
    found = verdicts(explain(text, target(tmp_path, passes, paths)))
    assert found == {"u -> c": verdict}


def test_codes_have_one_reader_again(tmp_path: Path) -> None:
    """The dequantiser in the middle is gone with the quantiser behind it."""
    text = """<opset_import: ["" : 13]>
      g (float[4] x, float[4] r) => (float[4] y) <float s = {0.5}, int8 z = {0}> {
      a = QuantizeLinear(x, s, z)  d = DequantizeLinear(a, s, z)
      b = QuantizeLinear(d, s, z)  e = DequantizeLinear(b, s, z)
      o = QuantizeLinear(r, s, z)  f = DequantizeLinear(o, s, z)
      u = Add(e, f)  [c] c = QuantizeLinear(u, s, z)  y = DequantizeLinear(c, s, z) }"""
    passes = "  - eliminate: [QuantizeLinear]\n  - retype: {from: int8, to: uint8}\n"
    paths = "  qdq-binary: {types: {aq: [uint8]}, same_types: [aq, bq, q], source: s}\n"
    found = explain(text, target(tmp_path, f"{passes}  - fuse: [qdq-binary]\n", paths))
    assert verdicts(found) == {"u -> c": "fuse"}


def test_a_tensor_that_is_not_neutral(tmp_path: Path) -> None:
    """It makes the result larger, or is not the same everywhere."""
    passes = "  - eliminate: [Add]\n    tensors: true\n"
    for constant in ("float[2] c = {0.0, 1.0}", "float[1,1,2] c = {0.0, 0.0}"):
        text = f"g (float[N,2] x) => (float[a,b,c] y) <{constant}> {{ a = Add(x, c)  y = Relu(a) }}"
        assert not explain(text, target(tmp_path, passes, "  {}\n")).eliminated


@pytest.mark.parametrize(("order", "taken"), [("file", "first"), ("depth-first", "second")])
def test_order_of_producers(order: str, taken: str, tmp_path: Path) -> None:
    """Two products end in one sum; the one that is met first takes it."""
    text = """g (float[4,4] x, float[4,4] v, float[4,4] w) => (float[4,4] y) {
      [first] a = MatMul(x, v)  [second] b = MatMul(x, w)  [sum] y = Add(a, b) }"""
    passes = f"  - fuse: [matmul-bias]\n    order: {order}\n"
    found = explain(text, target(tmp_path, passes, "  matmul-bias: {source: s}\n"))
    fused = [d.edge.producer.name for d in found.decisions if d.verdict == "fuse"]
    assert fused == [taken]


FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (float[2,8] x, float[8,4] w) => (float[2,4] y) { u = MatMul(x, w)  [call] y = f.act(u) }
<domain: "f", opset_import: ["" : 17]>
act (v) => (z) { z = Sigmoid(v) }"""


@pytest.mark.parametrize(("inline", "fused"), [(False, []), (True, ["u"])])
def test_bodies_in_the_place_of_their_calls(inline: bool, fused: list[str], tmp_path: Path) -> None:
    more = "inline: true\n" if inline else ""
    passes, paths = "  - fuse: [matmul-activation]\n", "  matmul-activation: {source: s}\n"
    found = explain(FUNCTION, target(tmp_path, passes, paths, more))
    assert [d.edge.value for d in found.decisions if d.verdict == "fuse"] == fused


@pytest.mark.parametrize(("types", "verdict"), [(False, "not-constant"), (True, "fuse")])
def test_constants_cast_like_a_value(types: bool, verdict: str, tmp_path: Path) -> None:
    text = """g (float[2,8] x, float[8,4] w) => (float[2,4] y) <double s = {2.0}> {
      t = CastLike(s, x)  [a] u = Mul(x, t)  [c] y = MatMul(u, w) }"""
    passes = f"  - fold: {{types: {str(types).lower()}}}\n  - fuse: [scale-matmul]\n"
    found = explain(text, target(tmp_path, passes, "  scale-matmul: {source: s}\n"))
    assert verdicts(found)["u -> c"] == verdict


def test_a_function_within_a_layout_only(tmp_path: Path) -> None:
    functions = "{Relu: {layout: blocked}, Tanh: {layout: plain}}"
    paths = f"  conv-activation: {{functions: {functions}, source: s}}\n"
    layout = BLOCKED.partition("  - fuse")[0]
    zeros = "{" + ", ".join(["0"] * 128) + "}"
    for act, wanted in (("Relu", ("unsupported-activation", "fuse")), ("Tanh", ("fuse", ""))):
        text = f"""g (float[1,8,5,5] x) => (float[1,16,5,5] y) <float[16,8,1,1] w = {zeros}> {{
          [conv] u = Conv(x, w)  [act] y = {act}(u) }}"""
        plain = explain(text, target(tmp_path, "  - fuse: [conv-activation]\n", paths))
        assert verdicts(plain)["u -> act"] == wanted[0]
        inside = explain(text, target(tmp_path, f"{layout}  - fuse: [conv-activation]\n", paths))
        assert verdicts(inside)["u -> act"] == (wanted[1] or "unsupported-activation")


@pytest.mark.parametrize(("columns", "verdict"), [(1, "unsupported-shape"), (2, "fuse")])
def test_more_elements_than(columns: int, verdict: str, tmp_path: Path) -> None:
    """One column is a bias of one element, which some compilers leave alone."""
    text = f"""g (float[2,8] x, float[8,{columns}] w) => (float[2,{columns}] y)
    <float[{columns}] b = {{{", ".join("1" * columns)}}}> {{
      u = MatMul(x, w)  [c] y = Add(u, b) }}"""
    paths = "  matmul-bias: {shapes: [{forms: {b: [n]}, more_than: {b: 1}}], source: s}\n"
    found = explain(text, target(tmp_path, "  - fuse: [matmul-bias]\n", paths))
    assert verdicts(found) == {"u -> c": verdict}


@pytest.mark.parametrize(
    ("node", "constant", "tensors"),
    [
        ("Mul(c, u)", "float c = {1}", False),
        ("Mul(u, c)", "float c = {1}", False),
        ("Add(c, u)", "float c = {0}", False),
        ("Mul(c, u)", "float[4] c = {1, 1, 1, 1}", True),
        ("Add(u, c)", "float[4] c = {0, 0, 0, 0}", True),
    ],
)
def test_readers_of_a_no_op_read_the_other_operand(
    node: str, constant: str, tensors: bool, tmp_path: Path
) -> None:
    """The neutral operand may stand on either side."""
    text = f"""g (float[2,8] x, float[8,4] w) => (float[2,4] y) <{constant}> {{
      u = MatMul(x, w)  m = {node}  [act] y = Relu(m) }}"""
    passes = f"  - eliminate: [Add, Mul]\n    tensors: {str(tensors).lower()}\n"
    passes += "  - fuse: [matmul-activation]\n"
    found = explain(text, target(tmp_path, passes, "  matmul-activation: {source: s}\n"))
    assert verdicts(found) == {"u -> act": "fuse"}


@pytest.mark.parametrize(
    ("bias", "fused"), [("float[3] b = {1, 2, 3}", True), ("float[2,1] b = {1, 2}", False)]
)
def test_a_bias_of_one_value_per_column_fits(bias: str, fused: bool) -> None:
    """Whatever the rank of the product is, which nobody states here."""
    text = f"""g (uint8 xq, float xs) => (float y) <int8[4,3] wq = {{{", ".join("1" * 12)}}},
      float ws = {{0.5}}, {bias}> {{
      m = MatMulInteger(xq, wq)  c = Cast <to = 1> (m)  s = Mul(xs, ws)  p = Mul(c, s)
      [sum] y = Add(p, b) }}"""
    source = model(text)
    source.graph.input[0].type.tensor_type.ClearField("shape")
    source.graph.output[0].type.tensor_type.ClearField("shape")
    (taken,) = (d for d in explain(source).decisions if d.verdict == "fuse")
    assert ("sum" in {n.name for n in taken.nodes}) == fused
