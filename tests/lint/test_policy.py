"""The policy: where it is found, what it may say, and how its mistakes are told."""

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from fusectl import api
from fusectl.errors import TableError, UsageError
from fusectl.lint.read import find_policy, read_policy
from fusectl.lint.schema import policy_schema
from tests.lint.conftest import Lint

BAD = """\
models: [a/*.onnx]
target: [x]
severity: {unsupported-shap: error, clip: bad}
must_fuse:
  - MatMul -> Add
  - MatMul
  - {edge: Conv -> Relu, rule: conv-activatio}
budgets:
  - {max_unfused: 3}
  - {min_fused: lots}
  - {models: [x]}
  - {max_unfused: many}
suppressions:
  - {rule: "*", reason: ""}
  - {models: ["*"], reason: because}
  - {fingerprint: abc, reason: why, expires: 2026-13-01, code: fusion-lots}
  - {rule: matmul-bias}
rules: [nowhere]
timeout: 0
"""
SAID = (
    "p.yaml:2:1: unknown key target in the policy (did you mean targets?)",
    "p.yaml:3:30: severity: unsupported-shap is neither a reason nor a code (did you mean "
    "unsupported-shape?)",
    "p.yaml:3:43: the policy: severity.clip must be one of error, warning, info, off, not bad",
    "p.yaml:6:5: 'MatMul' is no edge (an edge is like MatMul -> Add)",
    "p.yaml:10:17: min_fused lots is neither a number nor a share (a share is like 80%)",
    "p.yaml:11:5: a budget states max_unfused, min_fused or both",
    "p.yaml:12:19: the policy: budgets[3]: max_unfused must be a whole number, not 'many'",
    "p.yaml:14:25: a suppression says why: its reason is empty",
    "p.yaml:15:5: this suppression names neither a fingerprint nor a rule: it would suppress "
    "everything (each finding shows its fingerprint)",
    "p.yaml:16:19: 'abc' is no fingerprint (a fingerprint has 12 digits of 0-9 and a-f)",
    "p.yaml:16:46: expires 2026-13-01 is no date (a date is like 2027-03-31)",
    "p.yaml:16:64: unknown code fusion-lots (did you mean fusion-lost?)",
    "p.yaml:17:5: the policy: suppressions[3] lacks the key reason",
    "p.yaml:18:9: nowhere: no such file or folder",
    "p.yaml:19:10: timeout must be more than 0 seconds",
)
RULES = frozenset(api.load_rules().rules)

TOML = """\
[project]
name = "models"  # models is also a key below
timeout = "not ours"

[tool.fusectl]
models = ["models/*.onnx"]
timeout = -1
target = "x"

[tool.fusectl.severity]
unsupported-shap = "error"

[[tool.fusectl.suppressions]]
rule = "matmul-bias"
reason = "one"

[[tool.fusectl.suppressions]]
rule = "matmul-bia"
reason = ""
expires = 2027-01-01
"""
TOML_SAID = (
    "pyproject.toml:7:1: timeout must be more than 0 seconds",
    "pyproject.toml:8:1: unknown key target in the policy (did you mean targets?)",
    "pyproject.toml:11:1: severity: unsupported-shap is neither a reason nor a code (did you mean "
    "unsupported-shape?)",
    "pyproject.toml:18:1: unknown rule matmul-bia (did you mean matmul-bias?)",
    "pyproject.toml:19:1: a suppression says why: its reason is empty",
)


def problems(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError) as refused:
        read_policy(path, path.name, lambda policy: RULES)
    return [str(p) for p in refused.value.problems]


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    assert problems(tmp_path / "p.yaml", BAD) == list(SAID)


def test_names_of_rules_are_checked_where_all_rules_are_at_hand(tmp_path: Path) -> None:
    told = problems(tmp_path / "p.yaml", BAD.replace("rules: [nowhere]\n", ""))
    assert "p.yaml:7:32: unknown rule conv-activatio (did you mean conv-activation?)" in told
    assert "p.yaml:14:12: unknown rule * (no wildcards here: name one rule)" in told


def test_toml_has_places_too(tmp_path: Path) -> None:
    assert problems(tmp_path / "pyproject.toml", TOML) == list(TOML_SAID)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.fusectl]\nmodels = [\n", "pyproject.toml:3:1: TOML syntax:"),
        ("[tool.fusectl]\nmodels = = 1\n", "pyproject.toml:2:10: TOML syntax:"),
        ("[tool]\nfusectl = 1\n", "pyproject.toml:2:1: tool.fusectl must be a table"),
    ],
)
def test_broken_toml_is_told_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    assert problems(tmp_path / "pyproject.toml", text)[0].startswith(said)


def test_toml_and_yaml_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.fusectl]\nmodels = ["m.onnx"]\nmust_fuse = ["A -> B"]\n'
        '[tool.fusectl.severity]\nclip = "error"\n[[tool.fusectl.budgets]]\nmax_unfused = 3\n'
    )
    (tmp_path / "fusectl.yaml").write_text(
        "models: [m.onnx]\nmust_fuse: [A -> B]\nseverity: {clip: error}\n"
        "budgets: [{max_unfused: 3}]\n"
    )
    one, two = (
        read_policy(tmp_path / name, name, lambda p: ())
        for name in ("pyproject.toml", "fusectl.yaml")
    )
    assert [t.value for t in one.models] == [t.value for t in two.models]
    assert one.severity["clip"].value == two.severity["clip"].value
    assert [b.max_unfused and b.max_unfused.value for b in (*one.budgets, *two.budgets)] == [3, 3]


def test_the_nearest_policy_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_policy(inner) is None or tmp_path not in find_policy(inner).parents  # type: ignore[union-attr]
    (tmp_path / "pyproject.toml").write_text("[tool.fusectl]\nmodels = []\n")
    assert find_policy(inner) == tmp_path / "pyproject.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nname = 'fusectl'\n")
    assert find_policy(inner) == tmp_path / "pyproject.toml", "one without the table is not it"
    (tmp_path / "a" / "fusectl.yaml").write_text("models: []\n")
    assert find_policy(inner) == tmp_path / "a" / "fusectl.yaml"


def test_paths_are_those_of_the_policy_from_wherever_it_is_run(
    repo: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    lint(update_baseline=True)
    above = lint()
    (repo / "sub").mkdir()
    monkeypatch.chdir(repo / "sub")
    assert lint() == above
    assert [m.model for m in lint("../m.onnxtxt").models] == ["m.onnxtxt"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models: ['*.onnx']\n", r"fusectl.yaml:1:10: models: \*.onnx matches no file"),
        ("models: ['*']\ntargets: [lut-nup]\n", "fusectl.yaml:2:11: unknown target 'lut-nup'"),
        ("models: ['*']\ntargets: [lut-npu, lut-npu]\n", "fusectl.yaml:2:20: .*named twice"),
        ("models: ['*']\ntargets: [x.yaml]\n", "fusectl.yaml:2:11: x.yaml: no such file"),
        ("", "the file is empty"),
    ],
)
def test_what_leads_nowhere_is_told(text: str, said: str, repo: Path, lint: Lint) -> None:
    (repo / "fusectl.yaml").write_text(text)
    with pytest.raises(TableError, match=said):
        lint()


def test_models_that_are_left_out_are_not_linted(repo: Path, lint: Lint) -> None:
    (repo / "sub").mkdir()
    for name in ("n.onnxtxt", "sub/o.onnxtxt"):
        (repo / name).write_bytes((repo / "m.onnxtxt").read_bytes())
    (repo / "fusectl.yaml").write_text("models: ['**/*.onnxtxt']\nexclude: ['n.*']\n")
    assert [m.model for m in lint().models] == ["m.onnxtxt", "sub/o.onnxtxt"]


def test_without_a_policy_models_are_needed(repo: Path, lint: Lint) -> None:
    (repo / "fusectl.yaml").unlink()
    with pytest.raises(UsageError, match="no model to lint"):
        lint()
    assert [m.model for m in lint("m.onnxtxt").models] == ["m.onnxtxt"]
    with pytest.raises(UsageError, match=r"nothing.onnx: no such file"):
        lint("nothing.onnx")


def test_the_schema_says_what_the_reader_takes(tmp_path: Path) -> None:
    schema = policy_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    good = yaml.safe_load(
        "models: [a]\nseverity: {clip: 'off', fusion-lost: warning}\n"
        "must_fuse: [A -> B, {edge: C -> D}]\n"
        "budgets: [{max_unfused: 1, min_fused: 80%}]\ntimeout: 3\n"
        "suppressions: [{rule: clip, reason: x, expires: '2027-01-01'}]\n"
    )
    assert not list(validator.iter_errors(good))
    refused: tuple[object, ...] = (
        {"model": []},
        {"severity": {"clop": "error"}},
        {"suppressions": [{"rule": "x"}]},
    )
    for bad in refused:
        assert list(validator.iter_errors(bad)), bad
