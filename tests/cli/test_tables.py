"""`rules`, `targets` and `reasons`: list, show, check, test."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fusectl import api
from fusectl.checks import CHECKS
from fusectl.reasons import REASONS
from tests.cli.models import BAD, DIRECT
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]

RULE = """
rules:
  - id: {id}
    summary: Apply an activation behind a product.
    edge: u
    patterns:
      - |
        u = MatMul(x, w)
        y = Sigmoid(u)
    require: [adjacent, single-user]
    examples:
      - accept: |
          {accept}
      - reject: {reject}
        model: |
          g (float[2,8] x, float[8,4] w) => (float[2,4] y, float[2,4] z) {{
            u = MatMul(x, w)  y = Sigmoid(u)  z = Neg(u) }}
"""
ACCEPT = "g (float[2,8] x, float[8,4] w) => (float[2,4] y) { u = MatMul(x, w)  y = Sigmoid(u) }"
TARGET = """
target: my-npu
summary: A machine for tests.
passes:
  - fuse: [{rule}]
paths:
  {rule}:
    producers: [MatMul]
    functions: {{Sigmoid: {{table: true}}}}
    source: made up
"""


@pytest.fixture
def rule(tmp_path: Path) -> Callable[..., Path]:
    def write(id: str = "my-rule", accept: str = ACCEPT, reject: str = "multi-user") -> Path:
        path = tmp_path / f"{id}.yaml"
        path.write_text(RULE.format(id=id, accept=accept, reject=reject))
        return path

    return write


def test_rules_are_listed(cli: Cli) -> None:
    found = api.rules()
    lines = cli("rules", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == [r.id for r in found]
    records = json.loads(cli("rules", "list", "--format", "json").stdout)
    assert [r["id"] for r in records] == [r.id for r in found]


def test_targets_are_listed(cli: Cli) -> None:
    lines = cli("targets", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == api.targets()
    records = json.loads(cli("targets", "list", "--format", "json").stdout)
    assert [r["id"] for r in records] == api.targets()


def test_reasons_are_listed_by_class(cli: Cli) -> None:
    lines = cli("reasons").out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == list(REASONS)
    records = json.loads(cli("reasons", "--format", "json").stdout)
    assert [(r["reason"], r["class"]) for r in records] == [
        (r.slug, r.group) for r in REASONS.values()
    ]


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_its_page(cli: Cli, reason: str) -> None:
    assert cli("reasons", reason).out.startswith(f"# {reason}\n")


def test_rules_can_be_shown(cli: Cli) -> None:
    for known in api.rules()[::9]:
        out = cli("rules", "show", known.id).out
        assert out.startswith(f"# {known.id}\n")
        assert known.summary in out
        assert "Fused" in out
        assert "Kept, `" in out


def test_a_rule_shows_its_requirements_in_words(cli: Cli) -> None:
    out = cli("rules", "show", "matmul-activation").out
    assert "u = MatrixProduct(x, w)" in out
    for name in ("no-requantize", "one-reader", "slot-free"):
        assert CHECKS[name].requirement in out


def test_every_target_can_be_shown(cli: Cli) -> None:
    for name in api.targets():
        target = api.load_target(name)
        out = cli("targets", "show", name).out
        assert all(f"\n{number}. **" in out for number in range(len(target.passes)))
        assert all(f"| `{rule}` |" in out for rule in target.paths if rule != "default")


def test_rules_and_targets_of_the_user(cli: Cli, rule: Callable[..., Path], tmp_path: Path) -> None:
    rule("my-rule")
    (tmp_path / "npu.yaml").write_text(TARGET.format(rule="my-rule"))
    assert "my-rule" in cli("rules", "list", "--rules", tmp_path).out
    assert "my-npu" in cli("targets", "list", "--rules", tmp_path).out
    assert cli("rules", "show", "my-rule", "--rules", tmp_path).out.startswith("# my-rule")
    assert "Sigmoid (table)" in cli("targets", "show", "my-npu", "--rules", tmp_path).out
    assert "made up" in cli("targets", "show", str(tmp_path / "npu.yaml"), "--rules", tmp_path).out


def test_a_model_on_a_target_of_the_user(
    cli: Cli, rule: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "npu.yaml").write_text(TARGET.format(rule="my-rule"))
    args = ("explain", DIRECT, "--format", "concise", "--rule", "my-rule")
    for target in ("my-npu", tmp_path / "npu.yaml"):
        outcome = cli(*args, "--rules", rule("my-rule"), "--rules", tmp_path, "--target", target)
        assert outcome.out == f"{DIRECT}: u -> act: fuse my-rule\n"


def test_a_good_file_of_rules(cli: Cli, rule: Callable[..., Path]) -> None:
    path = rule("matmul-activation")
    outcome = cli("rules", "check", path)
    assert outcome.code == 0
    assert outcome.out == f"{path}: 1 rule, 2 examples\n"


def test_two_files_with_one_rule(cli: Cli, rule: Callable[..., Path], tmp_path: Path) -> None:
    first = rule("my-rule")
    second = tmp_path / "other.yaml"
    second.write_text(first.read_text())
    outcome = cli("rules", "check", first, second)
    assert outcome.code == 2
    assert outcome.err == f"{second}:3:5: the rule my-rule is also in {first}:3:5\n"


def test_a_target_is_checked_against_rules(
    cli: Cli, rule: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "npu.yaml"
    path.write_text(TARGET.format(rule="my-rule"))
    assert "unknown rule my-rule" in cli("targets", "check", path).err
    outcome = cli("targets", "check", path, "--rules", rule("my-rule"))
    assert (outcome.code, outcome.out) == (0, f"{path}: target my-npu, 1 path\n")


def test_targets_extend_each_other_within_one_check(cli: Cli, tmp_path: Path) -> None:
    base, child = tmp_path / "base.yaml", tmp_path / "child.yaml"
    base.write_text(TARGET.format(rule="matmul-activation"))
    child.write_text("target: other\nsummary: Like it.\nextends: my-npu\n")
    assert "unknown target my-npu" in cli("targets", "check", child).err
    assert cli("targets", "check", base, child).code == 0


def test_the_examples_of_a_user(cli: Cli, rule: Callable[..., Path]) -> None:
    outcome = cli("rules", "test", rule())
    assert (outcome.code, outcome.out) == (0, "1 rule, 2 examples, 0 failed\n")


def test_an_example_that_is_not_decided_as_it_says(cli: Cli, rule: Callable[..., Path]) -> None:
    other = ACCEPT.replace("Sigmoid(u)", "Neg(u)")
    path = rule(accept=other, reject="graph-output")
    outcome = cli("rules", "test", path)
    assert outcome.code == 1
    first, second, summary = outcome.out.splitlines()
    assert first.startswith(f"{path}:")
    assert "my-rule: expected fuse, got no candidate" in first
    assert "my-rule: expected keep [graph-output], got keep [multi-user]" in second
    assert summary == "1 rule, 2 examples, 2 failed"


def test_an_example_that_cannot_be_read(cli: Cli, rule: Callable[..., Path]) -> None:
    outcome = cli("rules", "test", rule(accept="g (float[2,8] x => "))
    assert outcome.code == 1
    assert "syntax error" in outcome.out


def test_an_example_with_a_header_of_its_own(cli: Cli, rule: Callable[..., Path]) -> None:
    header = '# older\n          <ir_version: 7, opset_import: ["" : 11]>\n          '
    assert cli("rules", "test", rule(accept=header + ACCEPT)).code == 0


def test_an_opt_in_rule_is_run_by_itself(cli: Cli, rule: Callable[..., Path]) -> None:
    path = rule()
    path.write_text(path.read_text().replace("    edge: u\n", "    edge: u\n    opt_in: true\n"))
    assert cli("rules", "test", path).code == 0


def test_bad_rules_are_not_run(cli: Cli) -> None:
    outcome = cli("rules", "test", BAD / "52-unknown-reason.yaml")
    assert outcome.code == 2
    assert "unknown reason" in outcome.err


def test_the_shipped_examples(cli: Cli) -> None:
    outcome = cli("rules", "test")
    assert outcome.code == 0, outcome.out


def test_yaml_cannot_steer_a_terminal(cli: Cli, rule: Callable[..., Path]) -> None:
    path = rule()
    text = path.read_text()
    path.write_text(text.replace("Apply an activation behind a product.", '"\\e[2J red"'))
    for args in (["rules", "list"], ["rules", "show", "my-rule"]):
        assert b"\x1b" not in cli(*args, "--rules", path).stdout
