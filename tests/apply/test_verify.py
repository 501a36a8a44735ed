"""What `verify` judges, what it tells only, and what it cannot run by itself."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import fusectl
from fusectl.render.verification import _span
from fusectl.report.schema import schemas
from fusectl.report.verification import Times, Timing
from fusectl.verify import timing
from tests.apply.build import model, save
from tests.apply.test_commands import WRONG
from tests.run_cli import Outcome

pytest.importorskip("onnxruntime", minversion="1.20")
Cli = Callable[..., Outcome]
CATALOG = fusectl.load_rules()
CHAOS = (
    "g (float[1,4,64] x, float[1,4,64] r, float[64] g, float[64] b, float[1] k) "
    "=> (float[1,4,64] y) <float up = {4096.0}, float down = {4096.0}> "
    "{ h = Add(x, up)  i = Sub(h, down)  a = Add(IN, r)  n = LayerNormalization(a, g, b)  "
    "t = Mul(n, k)  y = Sin(t) }"
)
"""A large number is added and taken away again: in front of the fused node, or beside it."""
SWISH = "g (float[4,8] x) => (float[4,8] y) { s = Sigmoid(x)  z = Mul(x, s)  y = Sin(z) }"
PLACES = (
    "g (int64[N,3] ids, int64[3] q, float[5,4] w, float[128,4] p, float[4] g, float[4] b) "
    "=> (float[N,3,4] y) <int64[3] r = {0, 1, 2}, int64[1] ax = {0}, int64[2] sh = {1, 1}> "
    "{ c = Equal(q, q)  k = Compress<axis=0>(r, c)  i = Unsqueeze(k, ax)  at = Expand(i, sh)  "
    "u = Gather(w, ids)  v = Gather(p, at)  "
    "e = Add(u, v)  y = LayerNormalization(e, g, b) }"
)
MILLION = b"\x00\x24\x74\x49"


def chaos(folder: Path, operand: str, factor: bytes = MILLION) -> Path:
    """The sine of a large number shows the last bit of it."""
    made = model(CHAOS.replace("IN", operand), ("g", "b", "k"))
    next(t for t in made.graph.initializer if t.name == "k").raw_data = factor
    return save(made, folder)


def test_what_last_bits_do_as_well_is_told(cli: Cli, tmp_path: Path) -> None:
    path = chaos(tmp_path, "i")
    found = fusectl.verify_fusions(path, "onnxruntime-cpu", rules=CATALOG)
    assert [c.outcome for c in (*found.nodes, found.whole)] == ["pass", "told"]
    done = cli("verify", path, "--target", "onnxruntime-cpu")
    assert done.code == 0
    assert "the whole model: not judged, as the last bits of inputs and weights" in done.out
    one = chaos(tmp_path, "i", b"\x00\x00\x80\x3f")
    calm = fusectl.verify_fusions(one, "onnxruntime-cpu", rules=CATALOG)
    assert calm.whole.outcome == "pass"


def test_what_last_bits_do_not_explain_fails(tmp_path: Path) -> None:
    """The fused node is a few last bits off, and one of an input does less to the result."""
    path = chaos(tmp_path, "x")
    found = fusectl.verify_fusions(path, "onnxruntime-cpu", rules=CATALOG)
    assert [c.outcome for c in (*found.nodes, found.whole)] == ["pass", "fail"]


def test_a_wrong_node_is_not_excused(tmp_path: Path) -> None:
    target = tmp_path / "wrong.yaml"
    target.write_text(WRONG)
    found = fusectl.verify_fusions(save(model(SWISH), tmp_path), str(target))
    assert [c.outcome for c in (*found.nodes, found.whole)] == ["fail", "fail"]


def test_sizes_that_do_not_fit_are_no_failure(tmp_path: Path) -> None:
    """The operator wants places for every id; alone, nobody knows how many there are."""
    path = save(model(PLACES, ("w", "p", "g", "b")), tmp_path)
    found = fusectl.verify_fusions(path, "onnxruntime-cpu", rules=CATALOG)
    assert [c.outcome for c in (*found.nodes, found.whole)] == ["not run", "pass"]
    assert found.nodes[0].why.startswith("no sizes were found that fit; with others: ")
    assert found.complete


def test_times_of_each_node_and_of_the_whole(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fusectl.verify.timing._SECONDS", 0.0)
    path = save(model(SWISH), tmp_path)
    done = cli("verify", path, "--target", "onnxruntime-cpu", "--time", "--format", "json")
    assert done.code == 0
    record = json.loads(done.out)
    jsonschema.validate(record, schemas()["verification"])
    for checked in (*record["nodes"], record["whole"]):
        assert checked["timing"]["runs"] == 5
        for times in (checked["timing"]["before"], checked["timing"]["after"]):
            assert 0 < times["low"] <= times["median"] <= times["high"] < 1
    told = cli("verify", path, "--target", "onnxruntime-cpu", "--time").out
    assert told.count(" times as fast\n") == 2
    assert "\n  the whole model\n" in told
    without = cli("verify", path, "--target", "onnxruntime-cpu", "--format", "json")
    assert json.loads(without.out)["whole"]["timing"] is None


def test_the_two_sides_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """And who is first changes; the first run of each does not count."""
    order: list[str] = []

    def once(session: object, given: object) -> float:
        order.append(str(session))
        return 9.0 if len(order) <= 2 else float(len(order))

    monkeypatch.setattr(timing, "_once", once)
    monkeypatch.setattr(timing, "open_session", lambda model: model.decode())
    monkeypatch.setattr(timing, "_SECONDS", 0.0)
    found = timing.measure(b"old", b"new", {})
    assert order == ["old", "new", *["new", "old", "old", "new"] * 2, "new", "old"]
    assert found == Timing(Times(8.0, 5.0, 9.0), Times(7.0, 6.0, 10.0), 5)


def test_where_nothing_measures_time(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(model(SWISH), tmp_path)
    done = cli("verify", path, "--target", "lut-npu", "--time")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "runs programs in a simulator" in done.err
    monkeypatch.setattr("fusectl.verify.fused.optional", lambda: None)
    done = cli("verify", path, "--target", "ideal", "--time")
    assert done.code == 2
    assert "--time needs a runtime: pip install 'fusectl[runtime]'" in done.err


def test_times_are_written_without_exponents() -> None:
    assert _span(Times(0.0007, 0.000566, 0.00106)) == "700 us (566 to 1060)"
    assert _span(Times(1.5, 0.9, 2.25)) == "1500 ms (900 to 2250)"
    assert _span(Times(0.0000123, 0.000012, 0.0000131)) == "12.3 us (12 to 13.1)"
