"""Decisions on the machine: what the groups find, what random inputs miss, what a proof covers."""

from collections.abc import Iterator
from decimal import Decimal, getcontext
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from fusectl.program import Encoding, Header, Post
from fusectl.simulate import units
from fusectl.verify.epilogue import prove
from fusectl.verify.groups import HALF_STEP, half_steps
from fusectl.verify.half_step import near, towards
from fusectl.verify.machine import MachineResult, verify_machine
from tests.lower.build import catalog, decided, feeds, lowered, machine
from tests.lower.test_programs import SMALL

ROOT = Path(__file__).resolve().parents[2]
WIDE = """g (float16[64,32] x, float16[32,48] w) => (float16[64,48] y)
    { u = MatMul(x, w)  y = Sigmoid(u) }"""
F32 = npt.NDArray[np.float32]


def results(source: str | Path, target: str = "lut-npu") -> list[MachineResult]:
    found = machine(target)
    return list(verify_machine(decided(source, found), found, catalog().operators))


@pytest.mark.parametrize("name", SMALL)
def test_every_decision_holds(name: str) -> None:
    for result in results(SMALL[name]):
        assert result.holds, result
        assert result.trouble == ""


def test_a_bias_rounds_once_less_and_is_held_to_the_bound() -> None:
    bias, function = results(SMALL["bias-and-view"])
    assert not bias.exact
    assert bias.proof is None
    assert function.exact
    assert function.proof is not None


@pytest.mark.parametrize("name", ["conv-strided", "conv-same", "conv-1d-dilated", "quantised"])
def test_the_proof_covers_every_code(name: str) -> None:
    """65536 codes of half precision: 2046 are NaN and count as one, and a sum is never -0."""
    (result,) = results(SMALL[name])
    assert result.proof is not None
    assert result.proof.holds
    assert result.proof.possible == 65536 - 2046 - 1 + 1


@pytest.fixture
def careless() -> Iterator[list[bool]]:
    """A fused stage that rounds sums twice: to twenty bits first. Off until it is told."""
    kept, on = units.post, [False]

    def post(sums: F32, how: Post, header: Header | None, entries: F32 | None) -> object:
        if on[0] and sums.ndim > 1:
            wide = sums.astype(np.float64)
            exponent = np.floor(np.log2(np.maximum(np.abs(wide), 1e-30)))
            grain = 2.0 ** (exponent - 19)
            sums = (np.rint(wide / grain) * grain).astype(np.float32)
        return kept(sums, how, header, entries)

    units.post = post  # type: ignore[assignment]
    yield on
    units.post = kept


def test_random_inputs_miss_what_the_half_steps_find(careless: list[bool]) -> None:
    """The function alone reads codes, which are rounded: only the fused stage is careless."""
    careless[0] = True
    (result,) = results(WIDE)
    found = {g.group: g for g in result.groups}
    assert found["centre"].inputs + found["ends"].inputs == 2 * 64 * 48
    assert found["centre"].different == found["ends"].different == 0
    assert found[HALF_STEP].inputs == 64
    assert found[HALF_STEP].different > 0
    assert not result.holds


def test_the_search_is_near_by_decimal_arithmetic() -> None:
    """Independent of the fractions that the search itself uses."""
    getcontext().prec = 60
    run = decided(WIDE, machine())
    program = lowered(decided(WIDE, machine(), frozenset({"matmul-activation"})), machine())
    given, count = half_steps(feeds(run), program.descriptors[0], 7)
    x, w = given["x"], given["w"]
    close = 0
    for row in x:
        for column in w.T:
            pairs = zip(row, column, strict=True)
            total = sum((Decimal(float(a)) * Decimal(float(b)) for a, b in pairs), Decimal(0))
            code = np.float16(float(total))
            code = code if Decimal(float(code)) <= total else np.nextafter(code, np.float16(-99))
            above = np.nextafter(code, np.float16(99))
            half = (Decimal(float(code)) + Decimal(float(above))) / 2
            close += abs(total - half) * 256 < Decimal(float(above)) - Decimal(float(code))
    assert count == 64
    assert close >= count
    assert close < count + 0.02 * x.shape[0] * w.shape[1]  # chance gives one in 128 of the others


def test_towards_leaves_less_than_a_hair() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        x, w = (random.normal(size=16).astype(np.float16) for _ in range(2))
        code = np.float16(random.uniform(-4, 4))
        assert near(towards(x, w, code), w, code)


def test_a_wrong_entry_breaks_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fused stage reads another entry than the function alone."""
    from fusectl.lower.jobs import Activation

    kept = units.read_table

    def read(codes: object, encoding: Encoding, header: Header, entries: F32) -> F32:
        shape = getattr(codes, "ndim", 1)
        return kept(codes, encoding, header, np.roll(entries, 1) if shape > 1 else entries)  # type: ignore[arg-type]

    assert prove(Activation("Sigmoid", (), True), None, machine()).holds
    monkeypatch.setattr(units, "read_table", read)
    assert not prove(Activation("Sigmoid", (), True), None, machine()).holds
