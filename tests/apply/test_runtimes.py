"""Running models: what both runtimes offer, and how far apart results are."""

from pathlib import Path

import numpy as np
import pytest

import fusectl
from fusectl.runtime import CannotRun, open_session, session
from fusectl.verify.compare import distance
from fusectl.verify.inputs import KINDS, Unfed, feeds, trials
from tests.apply.build import model, save

TEXT = (
    "g (float[N,5] x, float[5,6] w, float[6] b) => (float[N,6] y) "
    "{ m = MatMul(x, w)  a = Add(m, b)  y = Tanh(a) }"
)


@pytest.fixture(params=["installed", "reference"])
def runtime(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "installed":
        pytest.importorskip("onnxruntime")
    else:
        monkeypatch.setattr(session, "find_spec", lambda name: None)
    return str(request.param)


def test_both_runtimes_run_a_model(runtime: str, tmp_path: Path) -> None:
    opened = open_session(save(model(TEXT, ("w", "b")), tmp_path))
    (port,) = opened.inputs
    assert (port.name, port.dtype, port.dims) == ("x", "float32", ("N", 5))
    assert opened.outputs == ("y",)
    assert opened.run({"x": np.zeros((3, 5), np.float32)})["y"].shape == (3, 6)
    with pytest.raises(CannotRun):
        opened.run({"x": np.zeros((3, 4), np.float32)})
    with pytest.raises(CannotRun):
        open_session(b"no model")


def test_functions_are_verified_by_both(runtime: str, tmp_path: Path) -> None:
    found = fusectl.verify_fusions(save(model(TEXT, ("w", "b")), tmp_path), "ideal")
    assert ("reference" in found.runtime) == (runtime == "reference")
    assert [c.outcome for c in (*found.nodes, found.whole)] == ["pass", "pass"]


def test_what_the_evaluator_does_not_know_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    path = save(
        model("g (float[2,5] x) => (float[2,5] y) { s = Sigmoid(x)  y = Mul(x, s) }"), tmp_path
    )
    found = fusectl.verify_fusions(path, "onnxruntime-cpu")
    assert [c.outcome for c in (*found.nodes, found.whole)] == ["not run", "not run"]
    assert "has no operators of com.microsoft" in found.nodes[0].why


def test_distances() -> None:
    a = np.array([1.0, -100.0, 3.0], np.float32)
    found = distance(a, a + np.array([0, 0, 0.5], np.float32))
    assert (found.absolute, found.relative, found.place) == (0.5, 0.005, (2,))
    assert distance(a, a).absolute == 0
    nan, infinite = np.array([np.nan], np.float32), np.array([np.inf], np.float32)
    assert distance(nan, nan).absolute == 0
    assert distance(infinite, infinite).absolute == 0
    assert distance(nan, infinite).absolute == np.inf
    assert distance(a, a[:2]).why == "float32[3] became float32[2]"
    codes = distance(np.array([3, 250], np.uint8), np.array([4, 1], np.uint8))
    assert (codes.absolute, codes.whole) == (249, True)
    assert distance(np.array(5, np.int64), np.array(6, np.int64)).absolute == 1
    assert not distance(a, nan).within(1, 1, 1)


def test_inputs_reach_both_sides_and_repeat() -> None:
    ports = [
        session.Port("x", "float32", ("N", 4)),
        session.Port("q", "uint8", (64,)),
        session.Port("i", "int64", (3,)),
    ]
    high, low = (feeds(ports, next(k for k in KINDS if k.name == n), 8) for n in ("high", "low"))
    assert high["x"].mean() > 4
    assert low["x"].mean() < -4
    assert high["q"].min() >= 128 + 64
    assert low["q"].max() <= 64
    assert set(high["i"].tolist()) <= {0, 1}
    assert all((feeds(ports, KINDS[0], 8)[n] == feeds(ports, KINDS[0], 8)[n]).all() for n in high)
    assert [t["x"].shape[0] for t in trials(ports, KINDS[0])][:2] == [2, 1]
    with pytest.raises(Unfed, match="no value can be made up for the input s"):
        feeds([session.Port("s", "seq(tensor(float))", None)], KINDS[0], 1)
