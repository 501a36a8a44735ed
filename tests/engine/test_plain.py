"""What is known without following sizes through the graph, but those that one Reshape copies."""

import pytest

from tests.engine.build import HEADER, load, model

TEXT = (
    HEADER
    + """g (float[b,16,64] x) => (float[P,Q,A,B] y, float[] z)
<int64[1] ax = {0}, int64 i0 = {0}, int64 i1 = {1}, int64[1] heads = {4}, int64[1] rest = {-1}> {
  s = Shape(x)  g0 = Gather(s, i0)  u0 = Unsqueeze(g0, ax)
  t = Shape(x)  g1 = Gather(t, i1)  u1 = Unsqueeze(g1, ax)
  sizes = Concat<axis = 0>(PARTS)
  r = Reshape(x, sizes)
  y = Neg(r)
  z = SECOND }"""
)


@pytest.mark.parametrize(
    ("parts", "second", "dims"),
    [
        ("u0, u1, heads, rest", "Neg(x)", ("b", 16, 4, 16)),
        # Two axes change places, so none is copied to its own.
        ("u1, u0, heads, rest", "Neg(x)", (None,) * 4),
        # A list of sizes with a second reader stays as it is.
        ("u0, u1, heads, rest", "Reshape(x, sizes)", (None,) * 4),
    ],
)
def test_sizes_that_a_reshape_copies(parts: str, second: str, dims: tuple[object, ...]) -> None:
    text = TEXT.replace("PARTS", parts).replace("SECOND", second)
    view = load(model(text)).graphs[0]
    assert view.plain_type_of("r").dims == dims
    full = view.type_of("r").dims
    assert full is not None
    assert full[2:] == (4, 16)
