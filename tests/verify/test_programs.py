"""The command `verify` for a target that says how it runs a program."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import msgspec
import numpy as np
import numpy.typing as npt
import pytest

import fusectl
from fusectl.decide import Run
from fusectl.errors import UsageError
from fusectl.lower import lower_run
from fusectl.program import Encoding, Header, Post, Program
from fusectl.report.schema import schemas
from fusectl.report.verification import Checked, FromFormula, Verification
from fusectl.simulate import units
from fusectl.tables import Target
from fusectl.tables.operators import Operators
from fusectl.tables.target_schema import Demand
from fusectl.verify.epilogue import Proof
from fusectl.verify.groups import CENTRE
from fusectl.verify.machine import GroupResult, MachineResult
from tests.lower.build import HEAD, accumulating
from tests.run_cli import Outcome

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
SEVERAL = """g (float16[4,8] x, float16[8,6] w, float16[6] b,
    float16[1,2,5,5] p, float16[3,2,3,3] k)
    => (float16[4,6] y, float16[1,3,3,3] t) {
    [mm] u = MatMul(x, w)  [add] a = Add(u, b)  [act] y = Sigmoid(a)
    [conv] v = Conv(p, k)  [tanh] t = Tanh(v) }"""
FOREIGN = (
    '<ir_version: 9, opset_import: ["" : 20, "own" : 1]>'
    + """
g (float16[4,8] x, float16[8,6] w) => (float16[4,6] y)
    <float16[4,8] h>
    { [odd] h = own.Odd(x)  [mm] u = MatMul(h, w)  [act] y = Sigmoid(u) }"""
)
PAIR = """g (float16[4,8] x, float16[8,6] w) => (float16[4,6] y)
    { u = MatMul(x, w)  y = Sigmoid(u) }"""
BODY = """g (bool c, float16[4,8] x, float16[8,6] w) => (float16[4,6] y) {
    [if] y = If(c) <
        then_branch = one () => (float16[4,6] r) { [mm] u = MatMul(x, w)  [act] r = Sigmoid(u) },
        else_branch = two () => (float16[4,6] s) { [alone] s = MatMul(x, w) }> }"""
Cli = Callable[..., Outcome]
F32 = npt.NDArray[np.float32]


def save(folder: Path, text: str) -> Path:
    path = folder / "m.onnxtxt"
    path.write_text(text if text.startswith("<") else HEAD + text, encoding="utf-8")
    return path


def found(
    path: Path, equivalence: Demand | None = None, target: str | Path = "lut-npu"
) -> tuple[Verification, dict[str, Checked]]:
    result = fusectl.verify_fusions(path, str(target), equivalence=equivalence)
    return result, {c.name: c for c in result.nodes}


@pytest.fixture
def wrong_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fused stage, which reads tiles with two axes, is one entry off."""
    kept = units.read_table

    def read(codes: F32, encoding: Encoding, header: Header, entries: F32) -> F32:
        return kept(codes, encoding, header, np.roll(entries, 1) if codes.ndim > 1 else entries)

    monkeypatch.setattr(units, "read_table", read)


def test_a_decision_in_plain_words(cli: Cli) -> None:
    done = cli("verify", SAMPLES / "accept.onnxtxt", "--target", "lut-npu")
    assert done.code == 0
    head, decision, whole = done.out.split("\n\n")
    assert head.endswith("\n1 of 1 hold")
    first, *lines = decision.splitlines()
    assert first == "mm (MatMul) -> act (Sigmoid) by matmul-activation"
    assert lines[0] == "  agrees bit by bit"
    asked = "  asked for: bitwise (equal bits); holds: bitwise, bound, reassociate"
    assert lines[1] == asked
    assert lines[2] == "  inputs: 512 in the centre, 512 at the ends, 16 at half-steps"
    assert lines[3].endswith("within the bound")
    assert lines[4] == "  proof of the epilogue given U: 63490 codes, 0 differ"
    assert whole == "the whole program, end to end: agrees bit by bit\n"


def test_several_decisions_as_json(cli: Cli, tmp_path: Path) -> None:
    path = save(tmp_path, SEVERAL)
    done = cli("verify", path, "--target", "lut-npu", "--format", "json")
    assert done.code == 0
    record = json.loads(done.out)
    jsonschema.validate(record, schemas()["verification"])
    nodes = {n["name"]: n for n in record["nodes"]}
    assert [n["outcome"] for n in record["nodes"]] == ["pass"] * 3
    for node in nodes.values():
        assert node["demands"] == "bitwise"
        assert node["held"] == ["bitwise", "bound", "reassociate"]
        assert node["formula"]["closer"] == node["formula"]["farther"] == 0
        assert 0 < node["formula"]["fused"] == node["formula"]["written"]
    assert nodes["add"]["simulated"]["proof"] is None
    assert nodes["tanh"]["simulated"]["proof"]["codes"] == 63490
    groups = nodes["tanh"]["simulated"]["groups"]
    assert [g["inputs"] > 0 for g in groups] == [True] * 3
    report = fusectl.explain(path, "lut-npu")
    fused = {d.id for d in report.decisions if d.verdict == "fuse"}
    assert {n["simulated"]["decision"] for n in nodes.values()} == fused
    assert record["whole"]["outcome"] == "pass"


def test_what_has_to_hold_can_be_said(cli: Cli, tmp_path: Path) -> None:
    """A bias starts the accumulators, and the fused form rounds once less."""
    path, target = save(tmp_path, SEVERAL), accumulating(tmp_path)
    result, nodes = found(path, target=target)
    assert {n: c.demands for n, c in nodes.items()} == {
        "add": "bound",
        "act": "bitwise",
        "tanh": "bitwise",
    }
    bias = nodes["add"].simulated
    assert bias is not None
    assert bias.different > 0
    assert result.passed
    assert result.whole.outcome == "pass"
    assert result.whole.why == "bits differ in output y"
    alone = fusectl.verify_fusions(path, str(target), only=["matmul-bias"])
    assert alone.whole.outcome == "told"
    strict, nodes = found(path, "bitwise", target)
    assert [name for name, c in nodes.items() if c.outcome == "fail"] == ["add"]
    assert strict.whole.outcome == "fail"
    assert found(path, "bound", target)[0].passed
    assert found(path, "reassociate", target)[0].passed
    done = cli("verify", path, "--target", target, "--equivalence", "bitwise")
    assert done.code == 1
    assert f"  FAIL: results that differ in their bits: {bias.different}\n" in done.out
    assert "  closer to the real-number formula: at worst " in done.out
    assert cli("verify", path, "--target", target, "--equivalence", "bound").code == 0


def test_a_target_says_what_it_asks_for(cli: Cli, tmp_path: Path) -> None:
    """In the file the word decides as the option does, which goes before it."""
    path, target = save(tmp_path, SEVERAL), accumulating(tmp_path)
    text = target.read_text(encoding="utf-8")
    for word in ("bound", "reassociate"):
        asks = text.replace("equivalence: {", f"equivalence: {{ask: {word}, ")
        target.write_text(asks, encoding="utf-8")
        result, nodes = found(path, target=target)
        assert {c.demands for c in nodes.values()} == {word}
        assert result.passed
        assert [c.outcome for c in found(path, "bitwise", target)[1].values()].count("fail") == 1
    target.write_text(text.replace("equivalence: {", "equivalence: {ask: bitwise, "), "utf-8")
    refused = fusectl.explain(path, str(target))
    assert refused.summary.reasons["inexact"] == 1
    allowed = fusectl.explain(path, str(target), equivalence="bound")
    assert "inexact" not in allowed.summary.reasons
    done = cli("explain", path, "--target", target, "--equivalence", "bitwice")
    assert done.code == 2
    with pytest.raises(UsageError, match="unknown equivalence bitwice; did you mean bitwise"):
        fusectl.explain(path, str(target), equivalence="bitwice")


def test_the_whole_program_with_its_functions_apart(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bias excuses no other difference: with the bias fused in both, bits have to be equal."""
    path, target = save(tmp_path, SEVERAL), accumulating(tmp_path)
    done = cli("verify", path, "--target", target)
    assert (
        "\nthe whole program, end to end: agrees bit by bit with its functions apart; " in done.out
    )
    kept = units.post

    def late(sums: F32, how: Post, header: Header | None, entries: F32 | None) -> object:
        return kept(sums * np.float32(1.001) if sums.ndim > 2 else sums, how, header, entries)

    monkeypatch.setattr(units, "post", late)
    result, _ = found(path, target=target)
    assert result.whole.outcome == "fail"
    assert result.whole.why.startswith("with functions alone apart, bits differ in ")


@pytest.mark.usefixtures("wrong_table")
@pytest.mark.parametrize("equivalence", [(), ("--equivalence", "bound")])
def test_a_wrong_table_fails(cli: Cli, tmp_path: Path, equivalence: tuple[str, ...]) -> None:
    done = cli("verify", save(tmp_path, SEVERAL), "--target", "lut-npu", *equivalence)
    assert done.code == 1
    assert "1 of 3 hold" in done.out
    first, second, third, *_ = done.out.split("\n\n")[1:]
    for failed in (first, second):
        assert "  FAIL: " in failed
        assert "codes of U beyond the bound: " in failed
        assert "proof of the epilogue given U: 63490 codes, 0 differ" not in failed
    assert "FAIL" not in third


def test_a_result_that_is_no_number_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both programs alike: only the reference evaluator tells."""
    kept = units.read_table

    def read(codes: F32, encoding: Encoding, header: Header, entries: F32) -> F32:
        return kept(codes, encoding, header, entries) * np.float32("nan")

    monkeypatch.setattr(units, "read_table", read)
    done = cli("verify", SAMPLES / "accept.onnxtxt", "--target", "lut-npu")
    assert done.code == 1
    assert "  agrees bit by bit\n" in done.out
    assert "  FAIL: results beyond the bound: 1536, codes of U beyond the bound: " in done.out
    assert "  worst distance to the reference: infinite, in the centre; 1536 beyond" in done.out
    form = ("--format", "json")
    done = cli("verify", SAMPLES / "accept.onnxtxt", "--target", "lut-npu", *form)
    jsonschema.validate(json.loads(done.out), schemas()["verification"])


def test_a_program_that_the_machine_cannot_execute_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> F32:
        raise ValueError("no such entry")

    monkeypatch.setattr(units, "read_table", read)
    result, nodes = found(SAMPLES / "accept.onnxtxt")
    assert not result.passed
    for failed in (nodes["act"], result.whole):
        assert failed.outcome == "fail"
        assert "cannot execute" in failed.why
        assert "no such entry" in failed.why


def test_a_program_that_is_not_valid_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(run: Run, target: Target, ops: Operators, model: str, fused: bool = True) -> Program:
        program = lower_run(run, target, ops, model, fused)
        return msgspec.structs.replace(program, capacity={"sram": 64})

    monkeypatch.setattr("fusectl.verify.programs.lower_run", short)
    result, _ = found(SAMPLES / "accept.onnxtxt")
    assert result.whole.outcome == "fail"
    assert result.whole.why.startswith("a program is not valid: ")
    assert result.whole.why.endswith("(within-capacity)")


def test_shapes_that_are_not_static(cli: Cli) -> None:
    done = cli("verify", SAMPLES / "bert.onnxtxt", "--target", "lut-npu")
    assert done.code == 0
    assert done.out.splitlines()[2] == "6 not run"
    assert "  not run: hidden is float32[batch,6,8]: a program needs static shapes" in done.out
    assert "the whole program, end to end: not run: hidden is float32[batch,6,8]" in done.out


def test_an_operator_that_the_host_cannot_compute(tmp_path: Path) -> None:
    result, nodes = found(save(tmp_path, FOREIGN))
    assert nodes["act"].outcome == "pass"
    assert result.whole.outcome == "not run"
    assert result.whole.why.startswith("odd (own.Odd) cannot be computed")


CALLED = """g (float[4,8] x, float[8,6] w) => (float[4,6] y) {
    [call] h = own.Half(x)  [gelu] e = com.microsoft.FastGelu(h)  [mm] u = MatMul(e, w)
    [act] y = Sigmoid(u) }
<opset_import: ["" : 20], domain: "own"> Half (a) => (b) { c = Abs(a)  b = Neg(c) }"""


def test_the_host_has_functions_and_what_the_runtime_has(tmp_path: Path) -> None:
    """The reference evaluator runs the call, and lacks the operator."""
    pytest.importorskip("onnxruntime", minversion="1.20")
    head = '<ir_version: 9, opset_import: ["" : 20, "own" : 1, "com.microsoft" : 1]>\n'
    result, nodes = found(save(tmp_path, head + CALLED))
    assert nodes["act"].outcome == "pass"
    assert result.whole.outcome == "pass"


def test_a_host_without_a_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fusectl.verify.host.optional", lambda: None)
    result, _ = found(save(tmp_path, FOREIGN))
    assert result.whole.outcome == "not run"
    assert result.whole.why.startswith("odd (own.Odd) cannot be computed: ")
    assert result.whole.why.endswith("(pip install 'fusectl[runtime]' may help)")


def test_what_differs_by_chance_is_not_judged(tmp_path: Path) -> None:
    text = PAIR.replace("u = MatMul(x", "r = RandomNormalLike(x)  u = MatMul(r")
    result, nodes = found(save(tmp_path, text))
    assert nodes["y"].outcome == "pass"
    assert result.whole.outcome == "not run"
    assert "draws at random" in result.whole.why


def test_only_the_main_graph_has_a_program(tmp_path: Path) -> None:
    result, nodes = found(save(tmp_path, BODY))
    assert nodes["act"].outcome == "not run"
    assert "in a body or a function" in nodes["act"].why
    simulated = nodes["act"].simulated
    assert simulated is not None
    assert [s.attr for s in simulated.edge.consumer.graph] == ["then_branch"]
    assert "nothing fuses in the main graph" in result.whole.why


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--only", "conv-activation"), ["tanh"]),
        (("--only", "v:tanh"), ["tanh"]),
        (("--skip", "conv-activation", "--skip", "u:add"), []),
        (("--skip", "a"), ["add", "tanh"]),
    ],
)
def test_only_and_skip(
    cli: Cli, tmp_path: Path, options: tuple[str, ...], names: list[str]
) -> None:
    path = save(tmp_path, SEVERAL)
    done = cli("verify", path, "--target", "lut-npu", "--format", "json", *options)
    assert done.code == 0
    assert [n["name"] for n in json.loads(done.out)["nodes"]] == names


def test_nothing_fuses(cli: Cli) -> None:
    done = cli("verify", SAMPLES / "clip.onnxtxt", "--target", "lut-npu")
    assert done.code == 0
    assert done.out.endswith("nothing fuses for lut-npu, so there is no program to compare\n")


def test_words_and_targets_that_do_not_fit(cli: Cli) -> None:
    path = SAMPLES / "accept.onnxtxt"
    done = cli("verify", path, "--target", "lut-npu", "--only", "nobody")
    assert done.code == 2
    assert "'nobody' is neither a rule nor a value of the model" in done.err


def test_what_does_not_hold_is_told() -> None:
    numbers = np.zeros(1)
    groups = (GroupResult(CENTRE, 9, 2, 1, 0.5),)
    result = MachineResult("d", "u", groups, Proof(7, 10, 4, numbers, numbers), 5)
    assert result.wrong("bitwise") == (
        "codes of U that no sum left as: 3",
        "results that differ in their bits: 2",
        "results beyond the bound: 1",
        "codes of U that differ: 4",
        "codes of U beyond the bound: 5",
    )
    assert [w.rpartition(": ")[2] for w in result.wrong("bound")] == ["3", "1", "5"]
    assert result.held == ()
    far = (GroupResult(CENTRE, 9, 0, 0, 0.5, FromFormula(0.1, 0.2, 0, 9, 3)),)
    result = MachineResult("d", "u", far)
    assert result.wrong("reassociate") == ("results too far from the formula: 3",)
    assert result.held == ("bitwise", "bound")
