"""The order of passes, pass by pass: what opens a fusion, what closes it, what must not happen."""

from pathlib import Path

import pytest

from fusectl import api
from fusectl.tables import Catalog
from fusectl.verify.machine import MachineResult, verify_machine
from tests.lower.build import HEAD, catalog, decided, lowered, machine

PATHS = """paths:
  matmul-activation:
    producers: [MatMul]
    functions: {Sigmoid: {table: true}}
    grouping: {splits: [none, m, n]}
    source: made for this test
"""


def target(folder: Path, *passes: str, name: str = "order") -> Path:
    path = folder / f"{name}.yaml"
    lines = "".join(f"  - {p}\n" for p in passes)
    head = f"target: {name}\nsummary: An order of passes.\nextends: lut-npu\n"
    path.write_text(f"{head}passes:\n{lines}{PATHS}", encoding="utf-8")
    return path


def model(folder: Path, text: str) -> Path:
    path = folder / "m.onnxtxt"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


RESHAPED = """g (float16[4,8] x, float16[8,6] w) => (float16[4,6] y) <int64[2] s = {4, 6}>
    { [mm] u = MatMul(x, w)  r = Reshape(u, s)  [act] y = Sigmoid(r) }"""
PAIR = """g (float16[4,8] x, float16[8,6] w) => (float16[4,6] y)
    { [mm] u = MatMul(x, w)  [act] y = Sigmoid(u) }"""
REQUANTISED = """g (float16[4,8] x, float16[8,6] w) => (float16[4,6] y)
    <float16 s = {8192}, int8 z = {0}>
    { [mm] u = MatMul(x, w)  q = QuantizeLinear(u, s, z)  d = DequantizeLinear(q, s, z)
      [act] y = Sigmoid(d) }"""
TWICE = """g (float16[4,8] x, float16[8,6] w) => (float16[4,6] y)
    { [mm] u = MatMul(x, w)  [one] s = Sigmoid(u)  [two] y = Sigmoid(s) }"""
FUSE, CLEAN = "fuse: [matmul-activation]", "eliminate: [Reshape]"


@pytest.mark.parametrize(
    ("passes", "fused"), [((CLEAN, FUSE), 1), ((FUSE, CLEAN), 0), ((FUSE, CLEAN, FUSE), 1)]
)
def test_a_redundant_reshape_removed_first_opens_a_fusion(
    tmp_path: Path, passes: tuple[str, ...], fused: int
) -> None:
    report = api.explain(model(tmp_path, RESHAPED), str(target(tmp_path, *passes)))
    assert report.summary.fuse == fused
    assert fused or report.decisions[0].headline == "layout"


def test_a_requantisation_put_in_first_closes_one(tmp_path: Path) -> None:
    open_, closed = (
        api.explain(model(tmp_path, text), "lut-npu").decisions[0] for text in (PAIR, REQUANTISED)
    )
    assert open_.verdict == "fuse"
    assert closed.headline == "requantize"


def test_the_pass_run_twice_does_not_merge_two_applications(tmp_path: Path) -> None:
    """In the final program the function is applied twice: in the unit, and by itself."""
    twice = catalog().target(str(target(tmp_path, "group: auto", FUSE, FUSE)))
    once = catalog().target(str(target(tmp_path, "group: auto", FUSE, name="once")))
    programs = [lowered(decided(TWICE, t), t) for t in (once, twice)]
    for program in programs:
        applied = [d.nodes for d in program.descriptors if d.post is not None]
        assert applied == [("mm", "one"), ("two",)]
    assert programs[0].instructions == programs[1].instructions


WIDENED = """rules:
  - id: matmul-activation
    summary: The shipped rule without its barriers.
    edge: u
    patterns:
      - |
        u = MatrixProduct(x, w)
        y = Activation(u)
    require: [single-user, slot-free, same-elements]
    slots: {free: [post], takes: post}
    elementwise: true
    examples:
      - accept: |
          g (float[2,8] x, float[8,4] w) => (float[2,4] y) { u = MatMul(x, w)  y = Sigmoid(u) }
      - reject: multi-user
        model: |
          g (float[2,8] x, float[8,4] w) => (float[2,4] y, float[2,4] z) {
            u = MatMul(x, w)  y = Sigmoid(u)  z = Neg(u) }
"""
CLIPPED = """g (float16[4,8] x, float16[8,6] w) => (float16[4,6] y)
    <float16 lo = {48128}, float16 hi = {15360}>
    { [mm] u = MatMul(x, w)  c = Clip(u, lo, hi)  [act] y = Sigmoid(c) }"""


def test_the_final_program_shows_a_rule_that_was_widened(tmp_path: Path) -> None:
    """Every explanation is content; what the machine computes is not."""
    rules = tmp_path / "wide.yaml"
    rules.write_text(WIDENED, encoding="utf-8")
    wide = api.load_rules(rules)
    path = model(tmp_path, CLIPPED)
    assert api.explain(path, "lut-npu").summary.fuse == 0
    assert api.explain(path, "lut-npu", rules=wide).summary.fuse == 1
    found = _verified(path, wide)
    assert [r.held for r in found] == [()]
    assert any(g.different for g in found[0].groups)


def _verified(path: Path, rules: Catalog) -> list[MachineResult]:
    from fusectl.decide import decide
    from fusectl.decide.engine import Options
    from fusectl.graph import load_model

    loaded = load_model(path, rules.operators.alike(), rules.operators.like_first())
    chosen = rules.target("lut-npu")
    run = decide(loaded, chosen, rules, Options())[0]
    return list(verify_machine(run, chosen, rules.operators))


def test_without_its_slot_the_second_function_would_be_lost(tmp_path: Path) -> None:
    """The shipped rule stops at a taken slot; the program of the shipped rule has both."""
    program = lowered(decided(TWICE, machine()), machine())
    assert sum(d.post is not None for d in program.descriptors) == 2
