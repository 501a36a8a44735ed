"""What the policy demands: edges that must or must not fuse, budgets, severities, suppressions."""

import datetime
import shutil
from pathlib import Path

import pytest

from tests.compare.models import LIMITED, PAIR, RETURNED, SHARED, layers, write
from tests.lint.conftest import Lint, codes, only

SAMPLES = Path(__file__).parents[2] / "samples"
HEAD = "models: ['*.onnxtxt']\ntargets: [lut-npu]\nseverity: {model-unlocked: off%s}\n"


def policy(repo: Path, text: str, severity: str = "") -> None:
    (repo / "fusectl.yaml").write_text(HEAD % (severity and f", {severity}") + text)


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        (PAIR, "must_fuse: [MatMul -> Sigmoid]", ""),
        (PAIR, "must_fuse: [mm -> act]", ""),
        (PAIR, "must_fuse: [u -> y]", ""),
        (PAIR, "must_fuse: ['Mat* -> ?igmoid']", ""),
        (PAIR, "must_fuse: [{edge: MatMul -> *, rule: matmul-activation}]", ""),
        (PAIR, "must_fuse: [{edge: No -> No, models: [other.onnx]}]", "no model has an edge No"),
        (
            RETURNED,
            "must_fuse: [MatMul -> Sigmoid]",
            "mm (MatMul) -> act (Sigmoid) must fuse; matmul-activation keeps it: graph-output",
        ),
        (
            PAIR,
            "must_fuse: [{edge: MatMul -> Sigmoid, rule: matmul-bias}]",
            "must fuse by matmul-bias; matmul-bias has no candidate here",
        ),
        (SHARED, "must_fuse: [MatMul -> Neg]", "mm (MatMul) -> neg (Neg) must fuse; no rule has"),
        (PAIR, "must_fuse: [Conv -> Relu]", "no model has an edge Conv -> Relu, which must fuse"),
        (PAIR, "must_not_fuse: [MatMul -> Relu]", ""),
        (RETURNED, "must_not_fuse: [MatMul -> Sigmoid]", ""),
        (
            PAIR,
            "must_not_fuse: [MatMul -> Sigmoid]",
            "mm (MatMul) -> act (Sigmoid) fuses by matmul-activation, and must not",
        ),
        (PAIR, "budgets: [{max_unfused: 0, min_fused: 100%}]", ""),
        (RETURNED, "budgets: [{max_unfused: 0}]", "1 candidate does not fuse; at most 0 may"),
        (
            RETURNED,
            "budgets: [{min_fused: 50%}]",
            "0 of 1 candidate fuses (0.0%); at least 50% must",
        ),
        (RETURNED, "budgets: [{min_fused: 1}]", "0 of 1 candidate fuses; at least 1 must"),
        (RETURNED, "budgets: [{min_fused: 1, targets: [ideal]}]", ""),
    ],
)
def test_demands_are_held(model: str, text: str, message: str, repo: Path, lint: Lint) -> None:
    write(repo / "m.onnxtxt", model)
    policy(repo, f"{text}\n")
    report = lint()
    if not message:
        assert not report.findings
        return
    finding = only(report)
    assert message in finding.message
    assert finding.severity == "error"
    if finding.code != "unfused":
        assert finding.where.path == "fusectl.yaml"
        line = (repo / "fusectl.yaml").read_text().splitlines()[finding.where.line - 1]
        assert line.partition(":")[0] == text.partition(":")[0]


def test_an_edge_inside_a_fused_group_counts_as_fused(repo: Path, lint: Lint) -> None:
    shutil.copy(SAMPLES / "bert.onnxtxt", repo / "m.onnxtxt")
    policy(repo, "must_fuse: [mlp/gelu/add -> mlp/gelu/mul]\n")
    text = (repo / "fusectl.yaml").read_text().replace("lut-npu", "onnxruntime-cpu")
    (repo / "fusectl.yaml").write_text(text)
    assert not lint().findings
    (repo / "fusectl.yaml").write_text(text.replace("must_fuse", "must_not_fuse"))
    assert "inside a larger group" in only(lint()).message


def test_a_reason_with_a_severity_is_a_finding(repo: Path, lint: Lint) -> None:
    write(repo / "m.onnxtxt", RETURNED)
    policy(repo, "", "graph-output: warning")
    finding = only(lint())
    assert (finding.code, finding.severity, finding.reason) == (
        "unfused",
        "warning",
        "graph-output",
    )
    policy(repo, "", "graph-output: off")
    assert not lint().findings
    policy(repo, "", "multi-user: error")
    assert not lint().findings


def test_a_code_has_a_severity_too(repo: Path, lint: Lint) -> None:
    policy(repo, "", "fusion-lost: info")
    lint(update_baseline=True)
    write(repo / "m.onnxtxt", RETURNED)
    assert only(lint()).severity == "info"
    policy(repo, "", "fusion-lost: off")
    assert not lint().findings


def test_the_severity_of_a_reason_holds_for_new_candidates(repo: Path, lint: Lint) -> None:
    policy(repo, "", "graph-output: info")
    write(repo / "m.onnxtxt", "g (float[2,8] x) => (float[2,8] y) { y = Neg(x) }")
    lint(update_baseline=True)
    write(repo / "m.onnxtxt", RETURNED)
    assert {(f.code, f.severity) for f in lint().findings} == {
        ("candidate-new", "info"),
        ("unfused", "info"),
    }


def suppressed(repo: Path, lint: Lint, text: str, today: str = "2026-06-01") -> list[str]:
    policy(repo, f"budgets: [{{max_unfused: 0}}]\nsuppressions:\n{text}", "graph-output: error")
    return codes(lint(today=datetime.date.fromisoformat(today)))


def test_findings_are_suppressed_by_rule_or_fingerprint(repo: Path, lint: Lint) -> None:
    write(repo / "m.onnxtxt", RETURNED)
    policy(repo, "budgets: [{max_unfused: 0}]\n", "graph-output: error")
    unfused, budget = lint().findings
    assert (unfused.code, budget.code) == ("unfused", "budget")
    why = 'reason: "known, see the tracker"'
    by_rule = f"  - {{rule: matmul-activation, {why}}}\n"
    by_print = f"  - {{fingerprint: {budget.fingerprint}, {why}}}\n"
    assert suppressed(repo, lint, by_rule) == ["budget"]
    assert suppressed(repo, lint, by_print) == ["unfused"]
    assert suppressed(repo, lint, by_rule + by_print) == []
    held = [f.suppressed for f in lint().findings]
    assert [s and s.reason for s in held] == ["known, see the tracker"] * 2
    assert lint().summary.suppressed == 2
    narrowed = by_rule.replace("rule:", "models: [other.onnx], rule:")
    assert suppressed(repo, lint, narrowed) == ["unfused", "budget", "suppression-unused"]
    narrowed = by_rule.replace("rule:", "code: fusion-lost, rule:")
    assert suppressed(repo, lint, narrowed) == ["unfused", "budget", "suppression-unused"]


def test_a_suppression_expires(repo: Path, lint: Lint) -> None:
    write(repo / "m.onnxtxt", RETURNED)
    text = "  - {rule: matmul-activation, reason: wait, expires: 2026-06-01}\n"
    assert suppressed(repo, lint, text, "2026-06-01") == ["budget"]
    assert suppressed(repo, lint, text, "2026-06-02") == [
        "unfused", "budget", "suppression-expired",
    ]  # fmt: skip


def test_an_unused_suppression_is_a_finding_only_when_all_was_linted(
    repo: Path, lint: Lint
) -> None:
    policy(repo, "suppressions: [{rule: matmul-bias, reason: old}]\n")
    finding = only(lint())
    assert (finding.code, finding.severity) == ("suppression-unused", "error")
    assert (finding.where.path, finding.where.line) == ("fusectl.yaml", 4)
    assert not lint("m.onnxtxt").findings


def test_fingerprints_differ(repo: Path, lint: Lint) -> None:
    text = layers(4).replace("(float[8,8] y3)", "(float[8,8] y3, float[8,8] u0, float[8,8] u2)")
    write(repo / "m.onnxtxt", text)
    write(repo / "n.onnxtxt", text)
    policy(repo, "must_fuse: [MatMul -> Sigmoid]\n", "graph-output: error")
    prints = [f.fingerprint for f in lint().findings]
    assert len(prints) == len(set(prints)) == 8


def test_a_limit_between_is_seen_by_a_demand(repo: Path, lint: Lint) -> None:
    write(repo / "m.onnxtxt", LIMITED)
    policy(repo, "must_fuse: [MatMul -> Sigmoid]\n")
    assert "keeps it: clip" in only(lint()).message
