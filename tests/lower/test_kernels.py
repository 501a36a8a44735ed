"""Kernels before and after: golden cases, and what they are counted by.

The cases are in ``kernels``: the target and the kind of difference stand on top, and ``#|`` lines
hold what is shown. FUSECTL_REGENERATE=1 writes those anew.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusectl import api
from fusectl.graph import repeat
from fusectl.graph.types import TensorType
from fusectl.lower.life import lives, peak
from fusectl.render.difference import changed_lines, cost_items, counts
from fusectl.report.types import Report
from tests.engine.test_layers import Stack
from tests.lower.build import catalog

CASES = sorted(Path(__file__).with_name("kernels").glob("*.onnxtxt"))
SAMPLES = sorted((Path(__file__).resolve().parents[2] / "samples").glob("*.onnxtxt"))
APART = {
    "accept": "float16, for which ONNX Runtime has no such kernels: it runs between casts",
    "split": "float16, as above",
    "served": "ONNX Runtime asks for an Attention behind it, embed_layer_norm_fusion.cc",
}
"""Models on which the runtime's kernels differ, and why."""
RUN = [p for p in (*CASES, *SAMPLES) if p.stem not in APART]
_FLAG = re.compile(r"# (\w+): (\S+)$", re.MULTILINE)
_PRINTED = "#|"


def _explained(path: Path) -> Report:
    flags = dict(_FLAG.findall(path.read_text(encoding="utf-8")))
    return api.explain(path, flags["target"], rules=catalog(), diff=flags["diff"])


def _printed(report: Report) -> Iterator[str]:
    for decision in report.decisions:
        found = decision.instructions
        if found is None:
            continue
        told = f"none: {found.trouble}" if found.trouble else counts(found)
        yield f"{decision.edge.value} -> {decision.edge.consumer.label}: {told}"
        yield from (f"  {line}" for line in changed_lines(found))
    assert report.programs is not None
    for title, items in cost_items(report.programs):
        yield f"{title}: {', '.join(items)}"


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_output_is_the_reviewed_one(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(_PRINTED)]
    made = [*kept, *(f"{_PRINTED} {line}".rstrip() for line in _printed(_explained(path)))]
    if os.environ.get("FUSECTL_REGENERATE"):
        path.write_text("\n".join(made) + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8").splitlines() == made


def _run_by_onnxruntime(path: Path, folder: Path) -> Counter[str]:
    """The nodes of the graph that ONNX Runtime runs, as it writes it."""
    ort = pytest.importorskip("onnxruntime", minversion="1.20")
    model = folder / "model.onnx"
    onnx.save(onnx.load(path), model)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    nodes = onnx.load(folder / "optimised.onnx").graph.node
    return Counter(f"{n.domain}.{n.op_type}".removeprefix("ai.onnx").lstrip(".") for n in nodes)


@pytest.mark.parametrize("path", RUN, ids=lambda p: p.stem)
def test_the_runtime_runs_these_kernels(path: Path, tmp_path: Path) -> None:
    report = api.explain(path, "onnxruntime-cpu", rules=catalog(), diff="accepted")
    assert report.programs is not None
    assert report.programs.fused is not None
    assert report.programs.fused.opcodes == _run_by_onnxruntime(path, tmp_path)


def test_bytes_are_those_of_the_tensors() -> None:
    """x 2x8, w 8x4, b 4, all float32: 64, 128 and 16 bytes; each result has 32."""
    programs = _explained(CASES[0].with_stem("function")).programs
    assert programs is not None
    one, two = programs.unfused, programs.fused
    assert one is not None
    assert two is not None
    assert one.moved == {
        "activations read": 64 + 32 + 32, "activations written": 3 * 32, "constants read": 144,
    }  # fmt: skip
    assert two.moved == {
        "activations read": 64, "activations written": 32, "constants read": 144,
    }  # fmt: skip
    assert one.peak == {"activations": 64 + 32 + 32, "constants": 144}
    assert two.peak == {"activations": 64 + 32, "constants": 144}


CALLS = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4), max_size=12)
SIZES = st.fixed_dictionaries({name: st.integers(0, 9) for name in "abcdefgh"})
ROLES = st.fixed_dictionaries(
    {name: st.sampled_from(["input", "constant", "value", "output"]) for name in "abcdefgh"}
)


@settings(max_examples=200, deadline=None)
@given(calls=CALLS, sizes=SIZES, roles=ROLES)
def test_the_peak_is_the_largest_sum_of_what_is_needed(
    calls: list[list[str]], sizes: dict[str, int], roles: dict[str, str]
) -> None:
    """Held against the definition, call by call."""

    def needed(name: str, place: int) -> bool:
        uses = [p for p, call in enumerate(calls) if name in call]
        begun = roles[name] in ("input", "constant") or min(uses) <= place
        return begun and (roles[name] != "value" or place <= max(uses))

    used = {name for call in calls for name in call}
    sums = [sum(sizes[n] for n in used if needed(n, p)) for p in range(len(calls))]
    found = lives(calls, lambda name: roles[name])  # type: ignore[arg-type, return-value]
    assert peak(found, {n: sizes[n] for n in found}) == max(sums, default=0)


@pytest.mark.parametrize(
    ("dtype", "dims", "bytes"),
    [
        ("float32", (2, 3), 24), ("bool", (5,), 5), ("int4", (3,), 2), ("uint2", (5,), 2),
        ("complex128", (), 16), ("float32", (0, 3), 0), ("float32", (None, 3), None),
        ("float32", ("N",), None), ("float32", None, None), ("", (2,), None),
        ("string", (2,), None),
    ],
)  # fmt: skip
def test_bytes_of_a_type(
    dtype: str, dims: tuple[int | str | None, ...] | None, bytes: int | None
) -> None:
    assert TensorType(dtype, dims).bytes == bytes


def test_every_layer_of_many_has_its_own_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal layers are decided once, but what is shown of them has their own names."""
    monkeypatch.setattr(repeat, "_WORTH", 50)
    model = Stack().model()
    plain = api.explain(model, "onnxruntime-cpu", rules=catalog())
    report = api.explain(model, "onnxruntime-cpu", rules=catalog(), diff="accepted")
    assert [d.id for d in report.decisions] == [d.id for d in plain.decisions]
    fused = [d for d in report.decisions if d.verdict == "fuse"]
    assert len(fused) >= Stack().layers
    for decision in fused:
        found = decision.instructions
        assert found is not None
        assert any(decision.edge.value in line for line in found.before)
        assert not any(f" {decision.edge.value} " in line for line in found.after)
