"""The graph as passes leave it: one group for several nodes, and nothing lost on the way."""

import pytest

from fusectl.graph import Group, Overlay
from fusectl.graph.fold import fold
from tests.engine.build import load, model

CHAIN = """g (float[2,8] x, float[8,4] w, float[4] b) => (float[2,4] y) {
  [mm] m = MatMul(x, w)  [add] a = Add(m, b)  [act] y = Relu(a) }"""


def overlay(text: str) -> Overlay:
    return Overlay(load(model(text)).graphs[0])


def group(found: Overlay, name: str) -> Group:
    return next(g for g in found.groups if g.alive and any(m.label == name for m in g.members))


def removed(found: Overlay, name: str) -> bool:
    """Take a no-op out, so that what reads it reads its first operand."""
    gone = group(found, name)
    return found.bypass(gone, gone.inputs[0])


def readers(found: Overlay, value: str) -> list[str]:
    return [g.label for g, _ in found.users(value)]


def test_fuse_joins_values_and_uses() -> None:
    found = overlay(CHAIN)
    parts = [group(found, "mm"), group(found, "add")]
    joined = found.fuse(parts, "Gemm", ("x", "w", "b"), ("a",), parts[0].lead)
    assert (joined.op, joined.inputs, joined.outputs) == ("Gemm", ("x", "w", "b"), ("a",))
    assert [m.label for m in joined.members] == ["mm", "add"]
    assert joined.label == "add", "it is called by what makes its result"
    assert joined.swallowed == ("m",)
    assert found.producers["a"] is joined
    assert "m" not in found.producers
    assert not found.users("m")
    assert readers(found, "x") == ["add"]
    assert [g.label for g in found.of_op(["Gemm"])] == ["add"]
    assert not found.of_op(["MatMul", "Add"])


def test_fuse_of_what_is_fused_already() -> None:
    found = overlay(CHAIN)
    first = found.fuse(
        [group(found, "mm"), group(found, "add")], "Gemm", ("x", "w", "b"), ("a",), None
    )
    first.slots["bias"] = "add"
    second = found.fuse([first, group(found, "act")], "FusedGemm", ("x", "w", "b"), ("y",), None)
    assert [m.label for m in second.members] == ["mm", "add", "act"]
    assert set(second.swallowed) == {"m", "a"}
    assert second.slots == {"bias": "add"}
    assert not first.alive
    assert {n.label for _, n in found.held("MatMul")} == {"mm"}


def test_fuse_keeps_a_copy_for_other_readers() -> None:
    found = overlay("""g (uint8[4] q) => (float[4] y, float[4] z) <float s = {0.1}> {
      [dq] d = DequantizeLinear(q, s)  [one] y = Sin(d)  [two] z = Cos(d) }""")
    shared, reader = group(found, "dq"), group(found, "one")
    found.fuse([shared, reader], "Sin", ("q", "s"), ("y",), None, stays=[shared])
    assert shared.alive
    assert found.producers["d"] is shared
    assert readers(found, "d") == ["two"]


def test_bypass_sends_readers_to_the_source() -> None:
    found = overlay("""g (float[2] x) => (float[2] y, float[2] z) {
      [neg] u = Neg(x)  [id] v = Identity(u)  [one] y = Sin(v)  [two] z = Cos(v) }""")
    assert removed(found, "id")
    assert readers(found, "u") == ["one", "two"]
    assert not found.users("v")
    assert group(found, "one").inputs == ("u",)
    assert [n.label for n in found.eliminated["u"]] == ["id"]


def test_bypass_of_two_in_a_row_remembers_both() -> None:
    found = overlay("""g (float[2] x) => (float[2] y) {
      [neg] u = Neg(x)  [a] v = Identity(u)  [b] w = Identity(v)  [sin] y = Sin(w) }""")
    assert removed(found, "a")
    assert removed(found, "b")
    assert readers(found, "u") == ["sin"]
    assert {n.label for n in found.eliminated["u"]} == {"a", "b"}


def test_bypass_at_the_end_makes_the_source_the_result() -> None:
    found = overlay("g (float[2] x) => (float[2] y) { [neg] u = Neg(x)  [id] y = Identity(u) }")
    assert removed(found, "id")
    assert found.returned == {"u"}


@pytest.mark.parametrize(
    "text",
    [
        "g (float[2] x) => (float[2] y) { [id] y = Identity(x) }",
        "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { [id] y = Identity(c) }",
        "g (float[2] x) => (float[2] u, float[2] y) { [neg] u = Neg(x)  [id] y = Identity(u) }",
    ],
)
def test_bypass_leaves_what_has_to_be_written(text: str) -> None:
    """An input or constant cannot be a result, and two results need two values."""
    found = overlay(text)
    before = set(found.returned)
    assert not removed(found, "id")
    assert group(found, "id").alive
    assert found.returned == before


BODY = """g (float[2] x, bool c) => (float[2] z) {
  [neg] u = Neg(x)  [id] v = Identity(u)
  [if] z = If (c) < then_branch = yes () => (float[2] a) { a = Sin(v) },
                    else_branch = no () => (float[2] b) { b = Cos(x) } > }"""


def test_bypass_moves_what_bodies_read() -> None:
    found = overlay(BODY)
    assert removed(found, "id")
    assert [n.label for n in found.captured["u"]] == ["if"]
    assert "v" not in found.captured


def test_merge_sends_readers_to_the_twin() -> None:
    found = overlay("""g (float[2] x) => (float[2] y, float[2] z) {
      [one] u = Neg(x)  [two] v = Neg(x)  [sin] y = Sin(u)  [cos] z = Cos(v) }""")
    found.merge(group(found, "two"), group(found, "one"))
    assert sorted(readers(found, "u")) == ["cos", "sin"]
    assert found.merged["u"] == ["v"]
    assert "v" not in found.producers
    assert {m.label for m in group(found, "one").members} == {"one", "two"}


def test_merge_of_three_remembers_every_name() -> None:
    found = overlay("""g (float[2] x) => (float[2] y) {
      [one] u = Neg(x)  [two] v = Neg(x)  [three] w = Neg(x)  [sum] y = Sum(u, v, w) }""")
    found.merge(group(found, "three"), group(found, "two"))
    found.merge(group(found, "two"), group(found, "one"))
    assert sorted(found.merged["u"]) == ["v", "w"]
    assert group(found, "sum").inputs == ("u", "u", "u")


def test_fold_makes_constants_that_are_computed_when_asked_for() -> None:
    found = overlay("""g (float[2] x) => (float[2] y) <float a = {2.0}, float b = {3.0}> {
      [mul] c = Mul(a, b)  [inc] d = Add(c, a)  [end] y = Mul(x, d) }""")
    fold(found)
    assert found.is_constant("d")
    assert found.scalar("d") == 8.0
    assert not found.is_constant("y")
    assert [g.label for g in found.groups if g.alive] == ["end"]


def test_fold_leaves_chance_alone() -> None:
    found = overlay("""g (float[2] x) => (float[2] y) {
      [dice] r = RandomNormal<shape = [2]>()  [more] m = RandomNormalLike(r)  y = Add(x, m) }""")
    fold(found)
    assert not found.is_constant("r")
    assert not found.is_constant("m")


def test_fold_leaves_a_training_dropout_alone() -> None:
    found = overlay("""g (float[2] x) => (float[2] y)
      <float[2] c = {1, 2}, float r = {0.5}, bool t = {1}> {
      [drop] d = Dropout(c, r, t)  y = Add(x, d) }""")
    fold(found)
    assert not found.is_constant("d")


def test_fold_of_a_returned_value_keeps_the_node() -> None:
    found = overlay("g (float[2] x) => (float[2] c) <float[2] a = {1, 2}> { [neg] c = Neg(a) }")
    fold(found)
    assert group(found, "neg").alive


def test_body_knows_what_was_folded_outside() -> None:
    view = load(
        model("""g (float[2] x, bool c) => (float[2] z) <float a = {2.0}> {
      f = Add(a, a)
      [if] z = If (c) < then_branch = yes () => (float[2] p) { p = Mul(x, f) },
                        else_branch = no () => (float[2] q) { q = Neg(x) } > }""")
    )
    outer = Overlay(view.graphs[0])
    inner = Overlay(view.graphs[1], outer)
    assert not inner.is_constant("f")
    fold(outer)
    assert inner.is_constant("f")
    assert inner.scalar("f") == 4.0


def test_constants_that_cannot_be_had() -> None:
    found = overlay("g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Mul(x, c) }")
    assert found.scalar("c") is None, "it holds two numbers"
    assert found.scalar("x") is None
    with pytest.raises(KeyError):
        found.array("x")
