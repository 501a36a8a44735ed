"""The samples: valid, readable, each about what it says; the network also on the real runtime."""

from collections import Counter
from pathlib import Path

import onnx
import pytest
from onnx import checker, parser

from fusectl import api
from fusectl.report.types import Report

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
NETWORK = SAMPLES / "bert.onnxtxt"
WHAT_THEY_SHOW = {
    "accept": (),
    "requantize": ("requantize",),
    "clip": ("clip",),
    "multi-user": ("multi-user", "graph-output"),
    "already-fused": ("already-fused",),
    "unsupported-grouping": ("unsupported-grouping",),
    "split": ("unsupported-grouping",),
}
LARGEST = 8_000
"""Bytes; a sample is read, not scrolled through."""

FILES = sorted(SAMPLES.glob("*.onnxtxt"))
on_each = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def _model(path: Path) -> onnx.ModelProto:
    return parser.parse_model(path.read_text(encoding="utf-8"))


def _with_batch(batch: int) -> onnx.ModelProto:
    text = NETWORK.read_text(encoding="utf-8")
    return parser.parse_model(text.replace("[batch,", f"[{batch},"))


def test_every_sample_has_its_answer_here() -> None:
    assert {p.stem for p in FILES} == {*WHAT_THEY_SHOW, NETWORK.stem}


def test_a_schedule_stands_beside_its_model_which_fuses_without_it() -> None:
    schedules = [p for p in SAMPLES.iterdir() if p not in FILES]
    assert [p.name for p in schedules] == ["split.yaml"]
    for path in schedules:
        report = api.explain(path.with_suffix(".onnxtxt"), target="lut-npu")
        assert report.summary.keep == 0


@on_each
def test_sample_is_a_valid_model(path: Path) -> None:
    model = _model(path)
    checker.check_model(model, full_check=True)
    names = [node.name for node in model.graph.node]
    assert all(names)
    assert len(set(names)) == len(names)


@on_each
def test_sample_is_read_to_its_end(path: Path) -> None:
    """The parser drops what follows the first complete item, so every label has to arrive."""
    text = path.read_text(encoding="utf-8")
    labels = sum(line.startswith("  [") for line in text.splitlines())
    assert len(_model(path).graph.node) == labels


@on_each
def test_sample_can_be_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert path.suffix == ".onnxtxt"
    assert len(text) < LARGEST
    head = text.partition("\n<ir_version")[0].splitlines()
    assert all(line.startswith("# ") for line in head), "a comment on top says what it shows"
    assert head[-1].endswith(".")
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize("name", WHAT_THEY_SHOW)
def test_sample_shows_what_it_is_for(name: str) -> None:
    """The last edge of each is what it is about: nothing else stands in its way."""
    schedule = SAMPLES / f"{name}.yaml"
    report = api.explain(
        SAMPLES / f"{name}.onnxtxt",
        target="lut-npu",
        schedule=schedule if schedule.exists() else None,
    )
    last = report.decisions[-1]
    assert tuple(f.reason for f in last.blockers) == WHAT_THEY_SHOW[name]
    assert all(f.status != "unknown" for f in last.findings)
    assert all(d.verdict == "fuse" for d in report.decisions[:-1])


def _becomes(report: Report) -> Counter[str]:
    """What groups are in the end: of a chain, only the last form."""
    fused = [d for d in report.decisions if d.verdict == "fuse"]
    used = {i for d in fused for i in d.builds_on}
    return Counter(d.fused_node.op_type for d in fused if d.fused_node and d.id not in used)


def _optimised(model: onnx.ModelProto, folder: Path) -> Counter[str]:
    """The operators that ONNX Runtime leaves at the level of the target."""
    runtime = pytest.importorskip("onnxruntime", minversion="1.20")
    path = folder / "optimised.onnx"
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return Counter(node.op_type for node in onnx.load(path).graph.node)


@pytest.mark.parametrize("batch", ["symbolic", 2])
def test_the_runtime_does_what_the_report_says(batch: str | int, tmp_path: Path) -> None:
    """README says so. What is fused are operators that the model does not have."""
    model = _model(NETWORK) if isinstance(batch, str) else _with_batch(batch)
    report = api.explain(model, target="onnxruntime-cpu")
    left = _optimised(model, tmp_path)
    own = {node.op_type for node in model.graph.node}
    made = {op: count for op, count in left.items() if op not in own}
    assert made == dict(_becomes(report))


def test_the_first_cause_of_the_network_is_one() -> None:
    """README says that a number for the batch makes six Gemm of products and biases."""
    before = api.explain(NETWORK, target="onnxruntime-cpu")
    after = api.explain(_with_batch(2), target="onnxruntime-cpu")
    kept = [d for d in before.decisions if d.headline == "unsupported-shape"]
    assert [d.rule for d in kept] == ["matmul-bias"] * 6
    fused = {d.edge.value for d in after.decisions if d.verdict == "fuse"}
    assert {d.edge.value for d in kept} <= fused
    assert _becomes(after)["Gemm"] == 6


def test_the_network_computes(tmp_path: Path) -> None:
    """No dead weight: the model runs, and every input has a say in the result."""
    runtime = pytest.importorskip("onnxruntime", minversion="1.20")
    numpy = pytest.importorskip("numpy")
    session = runtime.InferenceSession(
        _with_batch(2).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    random = numpy.random.default_rng(7)
    feeds = {i.name: random.normal(size=i.shape).astype("float32") for i in session.get_inputs()}
    (plain,) = session.run(None, feeds)
    assert numpy.isfinite(plain).all()
    for name, value in feeds.items():
        changed = value + random.normal(size=value.shape).astype("float32")
        (other,) = session.run(None, {**feeds, name: changed})
        assert not numpy.allclose(plain, other), name
