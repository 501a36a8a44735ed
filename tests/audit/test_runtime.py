"""The audit of small models against the real runtime: each outcome once, and what goes wrong."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from onnx import parser

import fusectl
from fusectl.audit import run
from fusectl.errors import UsageError
from fusectl.report.audit import Audit, AuditedEdge
from fusectl.report.schema import schemas
from tests.audit import models
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]
pytest.importorskip("onnxruntime", minversion="1.20")


def audit(tmp_path: Path, text: str, target: str = "", **options: str) -> Audit:
    """Audit a model in ONNX text, on a target in YAML or the one that fits."""
    named = None
    if target:
        named = tmp_path / "target.yaml"
        named.write_text(target, encoding="utf-8")
    model = parser.parse_model(text)
    chosen = str(named) if named else None
    return fusectl.audit_model(model, "onnxruntime", target=chosen, **options)  # type: ignore[arg-type]


def told(found: Audit) -> list[AuditedEdge]:
    return [e for e in found.edges if e.outcome not in ("agree", "not-comparable")]


def test_a_kept_edge_agrees(tmp_path: Path) -> None:
    found = audit(tmp_path, models.PAIR)
    assert (found.summary.kept, found.summary.fused, found.summary.disagreements) == (1, 0, 0)
    assert found.summary.agreement == 1.0
    assert found.target.id == "onnxruntime-cpu"
    assert found.against.level == "extended"


def test_a_fused_edge_agrees_and_names_the_kernel(tmp_path: Path) -> None:
    found = audit(tmp_path, models.CONVOLUTION)
    assert (found.summary.kept, found.summary.fused) == (0, 1)
    assert found.edges[0].kernel == "com.microsoft.FusedConv"


def test_level_all_has_its_own_target(tmp_path: Path) -> None:
    found = audit(tmp_path, models.CONVOLUTION, level="all")
    assert found.target.id == "onnxruntime-cpu-x64"
    assert found.against.level == "all"


def test_predicted_but_not_fused(tmp_path: Path) -> None:
    found = audit(tmp_path, models.PAIR, models.EAGER)
    (edge,) = told(found)
    assert (edge.outcome, edge.edge.value, edge.verdict) == ("predicted-not-fused", "u", "fuse")
    path = tmp_path / "target.yaml"
    line = models.EAGER.splitlines().index("  matmul-activation: {source: hope}") + 1
    assert edge.where[0] == f"{path}:{line}"
    assert edge.where[1].startswith("rules/fusions/activation.yaml:")
    assert found.summary.agreement == 0.0
    assert any("version 0.9, installed is" in note for note in found.notes)


def test_fused_but_not_predicted(tmp_path: Path) -> None:
    found = audit(tmp_path, models.CONVOLUTION, models.BLIND)
    (edge,) = told(found)
    assert (edge.outcome, edge.headline) == ("fused-not-predicted", "unsupported-op")
    assert edge.blockers
    assert edge.where
    assert found.summary.recall == 0.0
    assert found.notes == ("the target blind does not say that it describes onnxruntime extended",)


def test_fused_although_illegal_with_a_witness(tmp_path: Path) -> None:
    kept = tmp_path / "inputs.npz"
    found = audit(tmp_path, models.CUBED, witness=str(kept))
    if not found.summary.illegal:
        pytest.skip(f"ONNX Runtime {found.against.version} no longer makes this fusion")
    assert {e.outcome for e in told(found)} == {"fused-although-illegal"}
    assert {e.headline for e in told(found)} == {"constant-value"}
    assert found.summary.agreement is None
    assert found.witness is not None
    assert found.witness.differs
    assert found.witness.file == str(kept)
    _differs(tmp_path, found, np.load(kept)["x"])


def _differs(tmp_path: Path, found: Audit, x: np.ndarray) -> None:
    """Check a witness with the formula itself, in numpy."""
    assert found.witness is not None
    with np.errstate(invalid="ignore"):
        d = x - x.mean(axis=-1, keepdims=True)
        y = d / np.sqrt((d**3).mean(axis=-1, keepdims=True) + 1e-5) * np.tile([1, 2], 4)
    y = y + np.tile([0, 1], 4)
    expected = float(y[found.witness.index])
    if found.witness.plain is None:
        assert not np.isfinite(expected)
    else:
        assert found.witness.plain == pytest.approx(expected, rel=1e-3)
    assert found.witness.optimised != found.witness.plain


def test_what_cannot_be_compared_is_counted(tmp_path: Path) -> None:
    found = audit(tmp_path, models.LEFTOVERS)
    left = found.summary.not_comparable
    assert (left.folded, left.eliminated) == (2, 2)
    over = next(e for e in found.edges if e.between)
    assert (over.edge.value, over.edge.consumer.op, over.between) == ("a", "Relu", ("Identity",))
    assert (over.fate, over.outcome) == ("kept", "agree")


def test_edges_in_bodies_are_seen(tmp_path: Path) -> None:
    found = audit(tmp_path, models.BRANCHES)
    inner = {e.edge.value: e for e in found.edges if e.edge.consumer.graph}
    assert {v: (e.fate, e.outcome) for v, e in inner.items()} == {
        "u": ("fused", "agree"),
        "v": ("kept", "agree"),
    }
    assert [(s.node, s.attr) for s in inner["u"].edge.consumer.graph] == [("z", "then_branch")]
    assert inner["u"].rule == "conv-activation"
    assert found.summary.not_comparable.nested == 0


def test_json_is_valid_and_exit_code_tells(tmp_path: Path, cli: Cli) -> None:
    model, target = tmp_path / "m.onnxtxt", tmp_path / "t.yaml"
    model.write_text(models.PAIR, encoding="utf-8")
    target.write_text(models.EAGER, encoding="utf-8")
    args = ("audit", model, "--against", "onnxruntime", "--format", "json")
    assert cli(*args).code == 0
    done = cli(*args, "--target", target)
    assert done.code == 1
    jsonschema.validate(json.loads(done.out), schemas()["audit"])
    assert done.stdout == cli(*args, "--target", target).stdout


def test_text_tells_a_disagreement(tmp_path: Path, cli: Cli) -> None:
    model, target = tmp_path / "m.onnxtxt", tmp_path / "t.yaml"
    model.write_text(models.PAIR, encoding="utf-8")
    target.write_text(models.EAGER, encoding="utf-8")
    done = cli("audit", model, "--against", "onnxruntime", "--target", target)
    assert done.code == 1
    assert "1 of 1 compared edge disagrees" in done.out
    assert "PREDICTED, NOT FUSED  u (MatMul) -> y (Sigmoid)" in done.out
    assert "t.yaml:8" in " ".join(done.out.split()).replace(" ", "")
    assert all(len(line) <= 80 for line in done.out.splitlines())


def test_a_run_that_never_ends_is_stopped(tmp_path: Path, cli: Cli) -> None:
    model = tmp_path / "endless.onnxtxt"
    model.write_text(models.ENDLESS, encoding="utf-8")
    begin = time.monotonic()
    done = cli("audit", model, "--against", "onnxruntime", "--level", "all", "--timeout", "3")
    assert time.monotonic() - begin < 30
    assert done.code == 2
    assert "did not finish within 3 s" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_model_that_the_runtime_refuses(tmp_path: Path, cli: Cli) -> None:
    model = tmp_path / "strange.onnxtxt"
    model.write_text(models.STRANGE, encoding="utf-8")
    done = cli("audit", model, "--against", "onnxruntime")
    assert done.code == 2
    assert "does not take this model: " in done.err
    assert "Twist" in done.err
    assert len(done.err.splitlines()) == 1
    assert done.stdout == b""


FAKES = {
    "sleeper": ("import time\ntime.sleep(60)\n", "did not finish within 1 s and was stopped"),
    "crasher": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "killed by signal 9"),
    "leaver": ("import sys\nsys.exit(3)\n", "ended with code 3"),
}


@pytest.mark.parametrize("name", FAKES)
def test_a_process_that_does_not_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, says = FAKES[name]
    (tmp_path / f"fake_{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(run, "_WORKER", f"fake_{name}")
    with pytest.raises(UsageError, match=says):
        fusectl.audit_model(
            parser.parse_model(models.PAIR), "onnxruntime", seconds=1 if name == "sleeper" else 30
        )


def fates(tmp_path: Path, text: str) -> dict[str, str]:
    """What became of each edge, by its ends."""
    found = audit(tmp_path, text)
    return {f"{e.edge.value} {e.edge.consumer.output}": e.fate for e in found.edges}


def test_truths_that_two_nodes_compute(tmp_path: Path) -> None:
    """One of them remains, and where reads it: the other one is not part of its kernel."""
    seen = fates(
        tmp_path,
        models.HEAD + "g (float[4,4] x, float[4,4] a, float[4,4] b) => (float[4,4] y) "
        "<float z = {0}, float o = {0}> "
        "{ p = Less(x, z)  n = Not(p)  q = Less(x, o)  v = Where(n, a, b)  y = Where(q, b, v) }",
    )
    assert seen["p n"] == "kept"


def test_sizes_that_become_a_constant(tmp_path: Path) -> None:
    """Those of a shape that is itself computed."""
    seen = fates(
        tmp_path,
        models.HEAD + "g (float[2,6] x) => (float[2,6] y) "
        "<int64 at = {1}, int64 four = {4}, int64[1] big = {99}> "
        "{ p = Shape(x)  to = Mod(p, big)  r = Reshape(x, to)  s = Shape(r)  n = Gather(s, at)  "
        "m = Mod(n, four)  k = Sub(four, m)  c = Cast<to = 1>(k)  y = Mul(x, c) }",
    )
    assert seen["m k"] == "folded"


def test_codes_that_a_reshape_hands_on(tmp_path: Path) -> None:
    """They are unsigned in the kernels, and none of them has its old name."""
    seen = fates(
        tmp_path,
        models.HEAD + "g (float[1,2,3,3] x) => (float[2,9] y) <float s = {0.05}, float t = {0.1}, "
        "int8 z = {0}, int8[2,2,1,1] w = {1, 2, 3, -4}, int64[2] to = {2, 9}> "
        "{ q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)  "
        "e = DequantizeLinear(w, t, z)  c = Conv(d, e)  r = QuantizeLinear(c, s, z)  "
        "f = DequantizeLinear(r, s, z)  v = Reshape(f, to)  p = QuantizeLinear(v, s, z)  "
        "y = DequantizeLinear(p, s, z) }",
    )
    assert (seen["c r"], seen["r f"]) == ("fused", "kept")
