"""Schedules and the order of grouping and fusing, as a user sees them."""

from pathlib import Path

import pytest

from fusectl import api
from fusectl.errors import TableError, UsageError
from fusectl.report.types import Decision, Finding
from fusectl.tables.schedule import read_schedule
from tests.run_cli import run_in_process
from tests.schedule.targets import machine

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def pair(folder: Path, m: int, k: int, n: int) -> Path:
    """Write a product with a Sigmoid behind it."""
    path = folder / "pair.onnxtxt"
    path.write_text(
        f"{HEAD}g (float16[{m},{k}] x, float16[{k},{n}] w) => (float16[{m},{n}] y)\n"
        "{ [mm] u = MatMul(x, w)  [act] y = Sigmoid(u) }\n"
    )
    return path


def decided(model: Path, target: str | Path, schedule: Path | None = None) -> Decision:
    (decision,) = api.explain(model, str(target), schedule=schedule).decisions
    return decision


def grouping(decision: Decision) -> list[Finding]:
    return [f for f in decision.findings if f.reason == "unsupported-grouping" and f.subject]


def test_the_order_of_the_passes_decides_and_both_say_so(tmp_path: Path) -> None:
    """Split over k is cheapest here, split over m and n is possible."""
    model = pair(tmp_path, 8, 512, 8)
    grouped = decided(model, machine(tmp_path, "4KiB"))
    fused = decided(model, machine(tmp_path, "4KiB", fuse_first=True))
    assert (grouped.verdict, fused.verdict) == ("keep", "fuse")
    (refusal,), (note,) = grouping(grouped), grouping(fused)
    assert "with fusion before grouping the pair would fuse" in refusal.observed
    assert "with grouping first the split would be over k" in note.observed
    assert note.status == "pass"


@pytest.mark.parametrize(
    ("fuse_first", "said"),
    [
        (True, "unsupported-grouping: mm is split over m and n (41088 bytes moved), because "
               "fusion comes before grouping; with grouping first the split would be over k "
               "(16512 bytes moved), and the pair would be kept"),
        (False, "split over m and n it would be 41088; with fusion before grouping the pair "
                "would fuse"),
    ],
)  # fmt: skip
def test_the_text_tells_what_the_other_order_does(
    tmp_path: Path, fuse_first: bool, said: str
) -> None:
    model, target = pair(tmp_path, 8, 512, 8), machine(tmp_path, "4KiB", fuse_first)
    done = run_in_process("explain", model, "--target", target)
    assert said in " ".join(done.out.split())
    # What it promises is so, and the machine computes the same either way.
    assert api.verify_fusions(model, str(target)).passed


@pytest.mark.parametrize("fuse_first", [False, True])
def test_where_no_split_has_code_the_pair_is_kept(tmp_path: Path, fuse_first: bool) -> None:
    """Not even one row and one column fit: no error, no promise about the other order."""
    decision = decided(pair(tmp_path, 8, 4096, 8), machine(tmp_path, "4KiB", fuse_first))
    (finding,) = grouping(decision)
    assert decision.verdict == "keep"
    assert finding.status == "fail"
    assert "would fuse" not in finding.observed


@pytest.mark.parametrize("fuse_first", [False, True])
def test_what_fits_is_not_told(tmp_path: Path, fuse_first: bool) -> None:
    decision = decided(pair(tmp_path, 8, 16, 8), machine(tmp_path, "4KiB", fuse_first))
    assert decision.verdict == "fuse"
    assert not grouping(decision)


def test_the_refusal_names_the_reason_and_three_ways_out(tmp_path: Path) -> None:
    schedule = tmp_path / "s.yaml"
    schedule.write_text("mm: {splits: k}\n")
    decision = decided(pair(tmp_path, 2, 8, 4), "lut-npu", schedule)
    (finding,) = grouping(decision)
    assert "applied to partial sums" in finding.observed
    assert "this fused computation cannot yet be generated in this scheduling structure" in (
        finding.observed
    )
    for way in ("disable this fusion", "retain the original graph", "change the grouping"):
        assert way in finding.help
    assert "split it over m or split it over n" in finding.help


def test_a_node_may_be_named_by_its_output(tmp_path: Path) -> None:
    schedule = tmp_path / "s.yaml"
    schedule.write_text("u: {splits: k}\n")
    assert decided(pair(tmp_path, 2, 8, 4), "lut-npu", schedule).verdict == "keep"


def test_tiles_that_do_not_fit_are_over_budget(tmp_path: Path) -> None:
    schedule = tmp_path / "s.yaml"
    schedule.write_text("mm: {splits: m, tile: {m: 4096}}\n")
    decision = decided(pair(tmp_path, 8192, 512, 8), "lut-npu", schedule)
    assert [f.reason for f in decision.blockers] == ["over-budget"]


def test_a_schedule_for_a_target_without_groups_is_refused(tmp_path: Path) -> None:
    schedule = tmp_path / "s.yaml"
    schedule.write_text("mm: {splits: k}\n")
    with pytest.raises(UsageError, match="has no group pass"):
        decided(pair(tmp_path, 2, 8, 4), "ideal", schedule)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mm: {splits: q}\n", "1:5: mm: splits: q is no axis"),
        ("mm: {splits: [none, k]}\n", "none and an axis exclude each other"),
        ("mm: {splts: k}\n", "unknown key splts"),
        ("mm: {tile: {m: 0}}\n", "must be at least 1"),
        ("mm: {tile: {x: 4}}\n", "x is no axis"),
        ("", "is empty"),
        ("{}\n", "is empty"),
        ("- mm\n", "must be a mapping"),
    ],
)
def test_a_bad_schedule_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(TableError, match=said):
        read_schedule(path)


def test_a_node_that_does_not_exist_ends_with_two(tmp_path: Path) -> None:
    schedule = tmp_path / "s.yaml"
    schedule.write_text("mn: {splits: k}\n")
    model = pair(tmp_path, 2, 8, 4)
    done = run_in_process("explain", model, "--target", "lut-npu", "--schedule", schedule)
    assert done.code == 2
    assert "s.yaml:1:5: the model has no node mn" in done.err
