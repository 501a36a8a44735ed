"""Decisions on the machine: what the groups find, what random inputs miss, what a proof covers."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from fusectl.program import Encoding, Header, Post
from fusectl.simulate import units
from fusectl.tables.target_schema import DEMANDS
from fusectl.verify.epilogue import prove
from fusectl.verify.groups import HALF_STEP
from fusectl.verify.machine import MachineResult, verify_machine
from tests.lower.build import accumulating, catalog, decided, machine
from tests.lower.test_programs import SMALL
from tests.verify.test_half_steps import FORMS, text

ROOT = Path(__file__).resolve().parents[2]
UNFUSED = {"conv-grouped", "conv-depthwise", "vector-times"}
"""Behind groups no function fuses on this machine; one row has one half-step."""
F32 = npt.NDArray[np.float32]


def results(source: str | Path, target: str = "lut-npu") -> list[MachineResult]:
    found = machine(target)
    return list(verify_machine(decided(source, found), found, catalog().operators))


@pytest.mark.parametrize("name", SMALL)
def test_every_decision_holds(name: str) -> None:
    for result in results(SMALL[name]):
        assert result.held == DEMANDS, result
        assert result.trouble == ""


def test_only_a_function_has_an_epilogue() -> None:
    bias, function = results(SMALL["bias-and-view"])
    assert bias.proof is None
    assert function.proof is not None


def test_a_bias_in_the_accumulators_is_closer_to_the_formula_and_not_equal(tmp_path: Path) -> None:
    """The same machine, but for a path that does not claim the bits: it rounds once less."""
    bias, function = results(SMALL["bias-and-view"], str(accumulating(tmp_path)))
    assert bias.held == ("bound", "reassociate")
    assert bias.wrong("bitwise") != ()
    assert function.held == DEMANDS
    assert bias.formula is not None
    assert bias.formula.written is not None
    assert bias.formula.fused is not None
    assert bias.formula.fused < bias.formula.written
    assert bias.formula.closer > 10 * bias.formula.farther
    assert bias.formula.beyond == 0


@pytest.mark.parametrize("name", ["conv-strided", "conv-same", "conv-1d-dilated", "quantised"])
def test_the_proof_covers_every_code(name: str) -> None:
    """65536 codes of half precision: 2046 are NaN and count as one, and a sum is never -0."""
    (result,) = results(SMALL[name])
    assert result.proof is not None
    assert result.proof.holds
    assert result.proof.possible == 65536 - 2046 - 1 + 1


@pytest.fixture
def careless() -> Iterator[list[int]]:
    """A fused stage that rounds sums twice: to some bits first. Off until it is told."""
    kept, bits = units.post, [0]

    def post(sums: F32, how: Post, header: Header | None, entries: F32 | None) -> object:
        if bits[0] and sums.ndim > 1:
            wide = sums.astype(np.float64)
            exponent = np.floor(np.log2(np.maximum(np.abs(wide), 1e-30)))
            grain = 2.0 ** (exponent + 1 - bits[0])
            sums = (np.rint(wide / grain) * grain).astype(np.float32)
        return kept(sums, how, header, entries)

    units.post = post  # type: ignore[assignment]
    yield bits
    units.post = kept


@pytest.mark.parametrize("form", [f for f in FORMS if f not in UNFUSED])
def test_random_inputs_miss_what_the_half_steps_find(form: str, careless: list[int]) -> None:
    """The function alone reads codes, which are rounded: only the fused stage is careless."""
    # A Relu hides no difference, not even the few that random inputs make with less.
    function, careless[0] = ("Relu", 22) if form.startswith("conv") else ("Sigmoid", 20)
    source = text(form).replace(" u) ", " y) ", 1).replace(" }", f"  y = {function}(u) }}")
    (result,) = results(source)
    found = {g.group: g for g in result.groups}
    assert found["centre"].different == found["ends"].different == 0
    assert found[HALF_STEP].different > 0
    assert "bitwise" not in result.held


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
