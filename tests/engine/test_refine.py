"""Shapes behind constants that the model computes, as exporters write them."""

import pytest

from fusectl.graph.types import Dim
from tests.engine.build import load, model


def dims(text: str, value: str) -> tuple[Dim, ...] | None:
    """What is known of a value's shape."""
    return load(model(text)).graphs[0].type_of(value).dims


def test_shape_that_is_put_together() -> None:
    """Shape, Gather and Concat of numbers that are known."""
    text = """g (float[2,3,4] x) => (float[a,b] y)
      <int64 one = {0}, int64[1] rest = {-1}, int64[1] front = {0}> {
      s = Shape(x)  n = Gather(s, one)  m = Unsqueeze(n, front)
      to = Concat<axis = 0>(m, rest)  [rs] u = Reshape(x, to)  y = Neg(u) }"""
    assert dims(text, "u") == (2, 12)


def test_shape_that_depends_on_the_caller() -> None:
    text = """g (float[N,3,4] x) => (float[a,b] y)
      <int64 one = {0}, int64[1] rest = {12}, int64[1] front = {0}> {
      s = Shape(x)  n = Gather(s, one)  m = Unsqueeze(n, front)
      to = Concat<axis = 0>(m, rest)  u = Reshape(x, to)  y = Neg(u) }"""
    found = dims(text, "u")
    assert found == ("N", 12)


def test_shapes_behind_one_another() -> None:
    """Each of them is found only when the one before is known."""
    steps = "".join(
        f"s{i} = Shape(x{i})  m{i} = Mod(s{i}, big)  x{i + 1} = Reshape(x{i}, m{i})  "
        for i in range(8)
    )
    text = f"""g (float[2,12] x0) => (float[a,b] y) <int64[1] big = {{99}}> {{
      {steps} y = Neg(x8) }}"""
    assert dims(text, "x8") == (2, 12)


TAIL = "r = Reshape(x, to)  y = Neg(r) }"


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        ("to = Concat<axis = 0>(n, last)", ("N", 12)),
        ("to = Concat<axis = 0>(zero, last)", ("N", 12)),
        ("to = Concat<axis = 0>(last, n)", (12, "N")),
        ("to = Concat<axis = 0>(n, three, four)", ("N", 3, 4)),
        ("to = Concat<axis = 0>(n, twelve, last)", ("N", 12, 1)),
        ("m = Mul(three, four)  to = Concat<axis = 0>(last, m)", ("N", 12)),
        ("m = Add(three, four)  to = Concat<axis = 0>(m, last)", (7, None)),
        ("m = Sub(four, three)  to = Concat<axis = 0>(m, last, n)", (1, 12, "N")),
        ("m = Div(twelve, four)  to = Concat<axis = 0>(n, m, last)", ("N", 3, 4)),
        ("t = Slice(s, one, three)  to = Concat<axis = 0>(last, t)", ("N", 3, 4)),
        ("to = Concat<axis = 0>(free, last)", (None, None)),
        ("m = Cast<to = 7>(n)  to = Concat<axis = 0>(m, last)", ("N", 12)),
        ("m = Mul(one, n)  to = Concat<axis = 0>(m, last)", ("N", 12)),
        ("m = Mul(n, four)  to = Concat<axis = 0>(m, last)", (None, None)),
        ("m = Add(n, zero)  to = Concat<axis = 0>(m, last)", ("N", 12)),
        ("m = Sub(n, zero)  to = Concat<axis = 0>(m, last)", ("N", 12)),
        ("m = Sub(zero, n)  to = Concat<axis = 0>(m, last)", (None, None)),
        ("m = Div(n, one)  to = Concat<axis = 0>(m, last)", ("N", 12)),
        ("m = Reshape(n, last)  to = Concat<axis = 0>(m, last)", ("N", 12)),
        ("e = Equal(n, last)  m = Where(e, three, n)  to = Concat<axis = 0>(m, last)", ("N", 12)),
        (
            "e = Equal(n, three)  m = Where(e, three, n)  to = Concat<axis = 0>(m, twelve)",
            (None, 12),
        ),
        (
            "l = Shape(n)  m = ConstantOfShape<value = int64[1] {4}>(l)  "
            "to = Concat<axis = 0>(m, last)",
            (4, None),
        ),
    ],
)
def test_symbols_in_what_is_computed(steps: str, known: tuple[Dim, ...]) -> None:
    """Each element by itself: a number, a symbol of the model, or unknown."""
    text = f"""g (float[N,3,4] x, int64[1] free) => (float[a,b] y)
      <int64[1] at = {{0}}, int64[1] last = {{-1}}, int64[1] zero = {{0}}, int64[1] one = {{1}},
       int64[1] three = {{3}}, int64[1] four = {{4}}, int64[1] twelve = {{12}}> {{
      s = Shape(x)  n = Gather(s, at)  {steps}  {TAIL}"""
    assert dims(text, "r") == known


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        ("h = Unsqueeze(s, zero)  to = Gather(h, first)", (None,)),
        ("h = Reshape(s, row)  to = Gather(h, first)", (None, None)),
        ("b = Cast<to = 9>(n)  to = Where(b, two, three)", (None,)),
        ("b = Cast<to = 9>(c)  to = Cast<to = 7>(b)", (1,)),
        ("h = Cast<to = 2>(c)  to = Cast<to = 7>(h)", (None,)),
        ("h = Cast<to = 10>(c)  to = Cast<to = 7>(h)", (None,)),
        ("h = Cast<to = 1>(c)  to = Cast<to = 7>(h)", (4097,)),
        ("h = Div(c, two)  m = Mul(h, two)  to = Cast<to = 7>(m)", (4096,)),
        (
            "h = Cast<to = 1>(c)  t = Cast<to = 1>(two)  q = Div(h, t)  m = Mul(q, t)  "
            "to = Cast<to = 7>(m)",
            (None,),
        ),
        ("to = ConstantOfShape<value = int64[0] {}>(one)", (None,)),
    ],
)
def test_sizes_that_a_step_changes(steps: str, known: tuple[Dim, ...]) -> None:
    """Matrices of sizes, flags, types that do not hold a number, and what a division leaves.

    The first Div hides the sizes from the inference of ONNX, which takes every Cast for a copy.
    """
    text = f"""g (float[N,4097] x) => (float[a] y)
      <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] three = {{3}},
       int64[2] row = {{1,-1}}, int64 first = {{0}}> {{
      p = Shape(x)  s = Div(p, one)  n = Gather(s, zero)  c = Gather(s, one)  {steps}
      r = ConstantOfShape(to)  y = Neg(r) }}"""
    assert dims(text, "r") == known


def test_symbols_go_on_behind_a_reshape() -> None:
    """What reads the result, and the sizes computed from its shape."""
    text = """g (float[N,16] x, float[8,4] w) => (float[a,b,c] y)
      <int64[1] at = {0}, int64[1] two = {2}, int64[1] last = {-1}> {
      s = Shape(x)  n = Gather(s, at)  to = Concat<axis = 0>(n, two, last)  r = Reshape(x, to)
      t = Transpose<perm = [1, 0, 2]>(r)  u = MatMul(t, w)
      s2 = Shape(u)  n2 = Gather(s2, two)  back = Concat<axis = 0>(last, n2)
      y = Reshape(u, back) }"""
    assert dims(text, "t") == (2, "N", 8)
    assert dims(text, "u") == (2, "N", 4)


def test_arithmetic_on_what_became_known_here() -> None:
    """A convolution's rank, known by its weights, goes on through Mul and Add."""
    text = """g (float x, float[16,16,3] w, float[16,1] s, float[1,16,1] b) => (float[a] y) {
      u = Conv(x, w)  m = Mul(u, s)  a = Add(m, b)  y = Flatten(a) }"""
    source = model(text)
    source.graph.input[0].type.tensor_type.ClearField("shape")
    view = load(source).graphs[0]
    assert view.type_of("a").dims == (None, 16, None)


def test_numbers_that_only_arithmetic_tells() -> None:
    """Mul, Div and Cast of sizes, which shape inference does not follow."""
    text = """g (float[2,8] x) => (float[a,b,c] y) <int64[1] two = {2}, int64[1] at = {1}> {
      s = Shape(x)  n = Gather<axis = 0>(s, at)  f = Cast<to = 1>(n)  h = Cast<to = 7>(f)
      half = Div(h, two)  to = Concat<axis = 0>(two, two, half)  u = Reshape(x, to)  y = Neg(u) }"""
    assert dims(text, "u") == (2, 2, 4)


def test_sizes_beside_open_ones_decide() -> None:
    """Half of the channels: the size is known, though the batch is not."""
    text = """g (float[N,6,4] x) => (float[a,b,c] y)
      <int64[1] zero = {0}, int64[1] at = {1}, int64[1] two = {2}> {
      s = Shape(x)  n = Gather<axis = 0>(s, at)  half = Div(n, two)
      u = Slice(x, zero, half, at)  y = Neg(u) }"""
    assert dims(text, "u") == ("N", 3, 4)


@pytest.mark.parametrize(
    ("read", "known"),
    [("float[1,4] c", ("N", 4)), ("float[N,4] c", ("N", 4)), ("float[M,4] c", (None, 4))],
)
def test_expanded_to_open_sizes(read: str, known: tuple[Dim, ...]) -> None:
    """An axis of size 1 is expanded; another symbol may be as large, or 1 itself."""
    text = f"""g (float[N,3,4] x, {read}) => (float[a,b] y)
      <int64[1] at = {{0}}, int64[1] one = {{1}}> {{
      s = Shape(x)  n = Gather(s, at)  to = Concat<axis = 0>(n, one)  u = Expand(c, to)
      y = Neg(u) }}"""
    assert dims(text, "u") == known


def test_shape_behind_a_shape() -> None:
    """The second target shape can be computed only when the first is known."""
    text = """g (float[2,8] x) => (float[a] y) <float two = {2.0}, int64[1] rest = {-1}> {
      s = Shape(x)  f = Cast<to = 1>(s)  d = Mul(f, two)  h = Cast<to = 7>(d)  g = Div(h, h)
      n = Add(g, g)  to = Concat<axis = 0>(n, rest)  u = Reshape(x, to)
      s2 = Shape(u)  f2 = Cast<to = 1>(s2)  h2 = Cast<to = 7>(f2)  p = ReduceProd<keepdims = 1>(h2)
      v = Reshape(u, p)  y = Neg(v) }"""
    assert dims(text, "u") == (2, 2, 4)
    assert dims(text, "v") == (16,)


@pytest.mark.parametrize(
    ("node", "known"),
    [
        ("u = Expand(x, to)", (2, 8)),
        ("u = ConstantOfShape(to)", (2, 8)),
        ("u = Tile(x, to)", (4, 64)),
    ],
)
def test_other_operators_whose_result_a_constant_decides(node: str, known: tuple[int, ...]) -> None:
    text = f"""g (float[2,8] x) => (float[a,b] y) {{
      s = Shape(x)  f = Cast<to = 1>(s)  to = Cast<to = 7>(f)  {node}  y = Neg(u) }}"""
    assert dims(text, "u") == known


def test_stated_shape_is_left_alone() -> None:
    text = """g (float[2,8] x, int64[1] to) => (float[16] y) { u = Reshape(x, to)  y = Neg(u) }"""
    assert dims(text, "y") == (16,)
    found = dims(text, "u")
    assert found is None or not isinstance(found[0], int)


def test_the_users_model_is_not_touched() -> None:
    found = model("""g (float[2,8] x) => (float[a,b] y) {
      s = Shape(x)  f = Cast<to = 1>(s)  to = Cast<to = 7>(f)  u = Reshape(x, to)  y = Neg(u) }""")
    before = found.SerializeToString(deterministic=True)
    view = load(found)
    assert found.SerializeToString(deterministic=True) == before
    assert view.graphs[0].nodes[3].inputs == ("x", "to")


def test_names_that_inference_invents_are_no_names() -> None:
    """Two unknown sizes are never equal, whatever they are called."""
    text = """g (float[2,8] x, int64[2] a, int64[2] b) => (float[n,m] y, float[k,l] z) {
      u = Reshape(x, a)  v = Reshape(x, b)  y = Neg(u)  z = Neg(v) }"""
    for value in ("u", "v"):
        found = dims(text, value)
        assert found is None or set(found) == {None}
