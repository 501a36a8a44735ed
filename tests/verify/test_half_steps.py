"""Half-steps for every form of product that is lowered; what judges is ONNX's evaluator in double.

Its sums are exact here to far less than a hair: products of half precision have 22 bits.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from fusectl.graph.constants import Array
from fusectl.lower.chain import chain
from fusectl.lower.jobs import Job
from fusectl.lower.plan import Planner
from fusectl.verify.groups import half_steps
from fusectl.verify.half_step import HAIR, near, towards
from fusectl.verify.sums import Sum, sums
from tests.lower.build import HEAD, catalog, decided, feeds, machine

CONV = "float16[4,4,9,9] x, float16[6,4,3,3] w"
FORMS = {
    "matmul": "(float16[24,32] x, float16[32,8] w) => (float16[24,8] u) { u = MatMul(x, w) }",
    "constant-first": "(float16[32,24] w) => (float16[8,24] u) <float16[8,32] x = {X}> "
    "{ u = MatMul(x, w) }",
    "batched": "(float16[2,1,9,16] x, float16[3,16,7] w) => (float16[2,3,9,7] u) "
    "{ u = MatMul(x, w) }",
    "one-matrix-for-all": "(float16[5,6,16] x, float16[1,16,7] w) => (float16[5,6,7] u) "
    "{ u = MatMul(x, w) }",
    "vector-times": "(float16[16] x, float16[16,7] w) => (float16[7] u) { u = MatMul(x, w) }",
    "times-a-vector": "(float16[60,16] x, float16[16] w) => (float16[60] u) { u = MatMul(x, w) }",
    "gemm": "(float16[24,16] x, float16[16,7] w, float16[7] c) => (float16[24,7] u) "
    "{ u = Gemm<alpha = 0.3, beta = 1.7>(x, w, c) }",
    "gemm-turned": "(float16[16,24] x, float16[7,16] w, float16[24,1] c) => (float16[24,7] u) "
    "{ u = Gemm<transA = 1, transB = 1, beta = -0.5>(x, w, c) }",
    "gemm-scalar": "(float16[24,16] x, float16[16,7] w, float16 c) => (float16[24,7] u) "
    "{ u = Gemm<alpha = -2.5>(x, w, c) }",
    "conv": f"({CONV}, float16[6] b) => (float16[4,6,7,7] u) {{ u = Conv(x, w, b) }}",
    "conv-images": "(float16[30,4,4,4] x, float16[6,4,3,3] w) => (float16[30,6,2,2] u) "
    "{ u = Conv(x, w) }",
    "conv-padded": f"({CONV}) => (float16[4,6,5,5] u) "
    "{ u = Conv<strides = [2,2], pads = [1,1,1,1]>(x, w) }",
    "conv-same": f"({CONV}) => (float16[4,6,5,5] u) "
    '{ u = Conv<strides = [2,2], auto_pad = "SAME_LOWER">(x, w) }',
    "conv-dilated": f"({CONV}) => (float16[4,6,5,5] u) {{ u = Conv<dilations = [2,2]>(x, w) }}",
    "conv-grouped": "(float16[1,8,7,7] x, float16[6,4,3,3] w) => (float16[1,6,5,5] u) "
    "{ u = Conv<group = 2>(x, w) }",
    "conv-depthwise": "(float16[1,6,7,7] x, float16[6,1,3,3] w) => (float16[1,6,5,5] u) "
    "{ u = Conv<group = 6>(x, w) }",
    "conv-1d": "(float16[2,4,30] x, float16[6,4,3] w) => (float16[2,6,28] u) { u = Conv(x, w) }",
    "conv-3d": "(float16[4,2,5,5,5] x, float16[4,2,2,2,2] w) => (float16[4,4,4,4,4] u) "
    "{ u = Conv(x, w) }",
    "one-summand": "(float16[100,1] x, float16[1,4] w) => (float16[100,4] u) { u = MatMul(x, w) }",
}


def text(form: str) -> str:
    random = np.random.default_rng(5).normal(size=8 * 32).astype(np.float16)
    numbers = ", ".join(str(v) for v in random.view(np.uint16))
    return "g " + FORMS[form].replace("{X}", f"{{{numbers}}}")


def product(form: str) -> tuple[Job, dict[str, Array]]:
    run = decided(text(form), machine())
    planner = Planner(run.overlay, run.rulings, machine(), catalog().operators)
    (group,) = (g for g in run.overlay.groups if g.alive)
    (job,) = planner.alone([chain(group, planner.rulings)]).jobs
    given = feeds(run)
    if form == "constant-first":
        given["x"] = np.asarray(run.overlay.array("x"))
    return job, given


def in_double(form: str, given: dict[str, Array]) -> npt.NDArray[np.float64]:
    model = parser.parse_model(HEAD + text(form).replace("float16", "double"))
    del model.graph.initializer[:]
    wanted = {i.name for i in model.graph.input}
    model.graph.input.extend(onnx.ValueInfoProto(name=n) for n in given if n not in wanted)
    wide = {n: a.astype(np.float64) for n, a in given.items()}
    return np.asarray(next(iter(ReferenceEvaluator(model).run(None, wide))), np.float64)


def close(numbers: npt.NDArray[np.float64]) -> int:
    """How many numbers are within a hair of a half-step of half precision."""
    below = numbers.astype(np.float16)
    too_much = below.astype(np.float64) > numbers
    below[too_much] = np.nextafter(below[too_much], np.float16(-np.inf))
    above = np.nextafter(below, np.float16(np.inf)).astype(np.float64)
    step = above - below.astype(np.float64)
    middle = below.astype(np.float64) + step / 2
    return int((np.abs(numbers - middle) * HAIR < step).sum())


@pytest.mark.parametrize("form", FORMS)
def test_half_steps_are_met_by_arithmetic_in_double(form: str) -> None:
    job, given = product(form)
    place = int(form == "constant-first")
    changed, count = half_steps(given, job, place, 7)
    same = {n for n in given if changed[n].tobytes() == given[n].tobytes()}
    assert len(given) - len(same) == 1
    made = in_double(form, changed)
    apart = sum(1 for _ in sums(job, given, place, np.random.default_rng(7)))
    assert count >= (0.2 if form == "one-summand" else 1) * apart
    # Chance gives one in 128 of the others.
    assert count <= close(made) <= count + 3 + 0.03 * made.size


@pytest.mark.parametrize("form", FORMS)
def test_sums_are_those_of_the_product(form: str) -> None:
    """Every sum by its own elements is a result of the product."""
    job, given = product(form)
    place = int(form == "constant-first")
    results = in_double(form, given).reshape(-1)
    operand = given[job.reads[place]].reshape(-1)
    found = list(sums(job, given, place, np.random.default_rng(0)))
    assert len(found) >= (1 if form == "vector-times" else 4)
    for one in found:
        numbers = operand[one.places].astype(np.float64) * one.weights.astype(np.float64)
        total = float(one.scale) * float(numbers.sum()) + float(one.offset)
        assert np.isclose(results, total, rtol=1e-9, atol=1e-12).any()


def test_towards_leaves_less_than_a_hair() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        x, w = (random.normal(size=16).astype(np.float16) for _ in range(2))
        scale, offset = (Fraction(float(v)) for v in random.uniform(0.2, 3, size=2))
        found = Sum(np.arange(16), w, scale, offset)
        code = np.float16(random.uniform(0.25, 6))
        assert near(towards(x, found, code), found, code)


def test_an_operand_that_is_read_twice_is_left_alone() -> None:
    """To change one side would change the other."""
    run = decided("g (float16[8,8] x) => (float16[8,8] u) { u = MatMul(x, x) }", machine())
    planner = Planner(run.overlay, run.rulings, machine(), catalog().operators)
    (job,) = planner.whole().jobs
    assert half_steps(feeds(run), job, 0, 1)[1] == 0
