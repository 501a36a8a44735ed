"""``explain --diff``: instructions before and after, in the report and on the screen."""

from pathlib import Path

from fusectl import api
from tests.run_cli import run_in_process

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
ACCEPT, CLIP = SAMPLES / "accept.onnxtxt", SAMPLES / "clip.onnxtxt"


def test_the_function_and_the_value_between_are_gone() -> None:
    report = api.explain(ACCEPT, "lut-npu", diff="accepted")
    found = report.decisions[0].instructions
    assert found is not None
    assert any(line.startswith("ACT") for line in found.before)
    assert not any(line.startswith("ACT") for line in found.after)
    assert any(" u " in f"{line} " for line in found.before)
    assert not any(" u " in f"{line} " for line in found.after)
    assert report.programs is not None
    one, two = report.programs.unfused, report.programs.fused
    assert one is not None
    assert two is not None
    assert one.moved["dram to sram"] - two.moved["dram to sram"] == 16 * 32 * 2
    assert one.moved["sram to dram"] - two.moved["sram to dram"] == 16 * 32 * 2
    assert one.peak["dram"] - two.peak["dram"] == 16 * 32 * 2
    assert sum(one.opcodes.values()) == one.instructions


def test_nothing_is_lowered_unless_somebody_asks() -> None:
    report = api.explain(ACCEPT, "lut-npu")
    assert report.programs is None
    assert report.decisions[0].instructions is None


def test_a_refused_candidate_would_have_been() -> None:
    """The limit between the two is what the fused form would leave out."""
    assert api.explain(CLIP, "lut-npu", diff="accepted").decisions[0].instructions is None
    found = api.explain(CLIP, "lut-npu", diff="would").decisions[0].instructions
    assert found is not None
    assert found.would
    assert any("HST" in line for line in found.before)
    assert not any("HST" in line for line in found.after)


def test_what_has_no_program_says_why() -> None:
    report = api.explain(SAMPLES / "bert.onnxtxt", "lut-npu", diff="would")
    assert report.programs is not None
    assert "static shapes" in report.programs.trouble
    told = [d.instructions for d in report.decisions]
    assert all(i is not None and (i.trouble or i.before) for i in told)


def test_a_target_without_instructions_runs_kernels() -> None:
    report = api.explain(ACCEPT, "ideal", diff="accepted")
    assert report.programs is not None
    assert report.programs.kind == "kernels"
    assert api.explain(ACCEPT, "lut-npu", diff="accepted").programs.kind == "instructions"  # type: ignore[union-attr]


def test_the_screen_shows_a_unified_difference() -> None:
    done = run_in_process("explain", ACCEPT, "--target", "lut-npu", "--diff", "accepted")
    assert "    -ACT %y <- %a  Sigmoid\n" in done.out
    assert "    +OUT %y <- %acc  Sigmoid\n" in done.out
    assert "instructions  11 -> 8" in done.out
