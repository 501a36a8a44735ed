"""What rule authors run: annotated models, and faults of tables that load."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run_cli import Outcome

Cli = Callable[..., Outcome]
CASES = Path(__file__).parents[1] / "coverage" / "data"
CASE = """# target: lut-npu
#
# A second reader needs the product.
<ir_version: 8, opset_import: ["" : 17]>
g (float16[16,64] x, float16[64,32] w) => (float16[16,32] y, float16[16,32] z) {
  [mm]  u = MatMul(x, w)
  [act] y = Sigmoid(u)     # reject: multi-user
  [neg] z = Neg(u)
}
"""
RULE = """rules:
  - id: half
    summary: Two functions are one.
    edge: u
    patterns:
      - |
        u = Activation(x)
        y = Softsign(u)
    require: [adjacent, single-user]
    examples:
      - accept: |
          g (float[2] x) => (float[2] y) { u = Erf(x)  y = Softsign(u) }
      - reject: multi-user
        model: |
          g (float[2] x) => (float[2] y, float[2] z) { u = Erf(x)  y = Softsign(u)  z = Neg(u) }
"""


def _case(folder: Path, text: str) -> Path:
    path = folder / "case.onnxtxt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_folder_of_annotated_models(cli: Cli, tmp_path: Path) -> None:
    names = ("multi-user", "multi-user-twin", "disabled-by-the-target")
    scheduled = ("unsupported-grouping-split", "unsupported-grouping-split-twin")
    for name in (*names, *scheduled):
        shutil.copy(CASES / f"{name}.onnxtxt", tmp_path)
    wanted = ("split-", "steps", "keeps-results", "narrow-paths", "sigmoid-only", "small-tiles")
    for path in CASES.glob("*.yaml"):
        if path.name.startswith(wanted):
            shutil.copy(path, tmp_path)
    done = cli("rules", "test", tmp_path)
    assert (done.code, done.out) == (0, "5 models, 5 marks, 0 failed\n"), done.err


def test_a_mark_stands_at_its_node(cli: Cli, tmp_path: Path) -> None:
    assert cli("rules", "test", _case(tmp_path, CASE)).code == 0


@pytest.mark.parametrize("mark", ["accept", "reject: clip", "reject u -> act: multi-user, clip"])
def test_a_mark_that_does_not_hold(cli: Cli, tmp_path: Path, mark: str) -> None:
    path = _case(tmp_path, CASE.replace("reject: multi-user", mark))
    done = cli("rules", "test", path)
    assert done.code == 1
    assert done.out.startswith(f"{path}:7:28: ")
    assert "got matmul-activation keep [multi-user]" in done.out


@pytest.mark.parametrize(
    ("mark", "wrong"),
    [
        ("reject u > act: multi-user", "not a mark"),
        ("reject: multi-usr", "unknown reason multi-usr (did you mean multi-user?)"),
        ("reject", "reject names its reasons"),
        ("accept: clip", "reject names its reasons"),
    ],
)
def test_a_mark_that_is_none(cli: Cli, tmp_path: Path, mark: str, wrong: str) -> None:
    path = _case(tmp_path, CASE.replace("reject: multi-user", mark))
    done = cli("rules", "test", path)
    assert done.code == 2
    assert f"{path}:7:28: {wrong}" in done.err


def test_a_case_without_marks_fails(cli: Cli, tmp_path: Path) -> None:
    done = cli("rules", "test", _case(tmp_path, CASE.replace("# reject: multi-user", "")))
    assert done.code == 1
    assert "expected a mark, got none" in done.out


def test_a_known_bug_that_is_gone_fails(cli: Cli, tmp_path: Path) -> None:
    done = cli("rules", "test", _case(tmp_path, f"# bug: not yet\n{CASE}"))
    assert done.code == 1
    assert "drop the flag" in done.out


def test_rules_and_models_of_one_folder_are_run_together(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "half.yaml").write_text(RULE, encoding="utf-8")
    text = CASE.replace("# target: lut-npu\n", "").replace("MatMul(x, w)", "Erf(x)")
    text = text.replace("Sigmoid(u)", "Softsign(u)").replace(": multi-user", " by half: multi-user")
    text = text.replace("reject by", "reject u -> act by")
    _case(tmp_path, text.replace("float16[64,32] w", "float16[64,32] unused"))
    done = cli("rules", "test", tmp_path)
    assert (done.code, done.out) == (0, "1 rule, 2 examples, 1 model, 1 mark, 0 failed\n")


def test_an_empty_folder_is_no_success(cli: Cli, tmp_path: Path) -> None:
    done = cli("rules", "test", tmp_path)
    assert done.code == 2
    assert "neither rules nor annotated models" in done.err


def test_what_ships_has_no_fault(cli: Cli) -> None:
    done = cli("rules", "lint")
    assert done.code == 0, done.out
    assert done.out.endswith(" 0 faults\n")


def _faults(cli: Cli, folder: Path, text: str, target: str = "") -> list[str]:
    (folder / "mine.yaml").write_text(text, encoding="utf-8")
    if target:
        (folder / "target.yaml").write_text(target, encoding="utf-8")
    done = cli("rules", "lint", folder)
    lines = done.out.splitlines()[:-1]
    assert done.code == bool(lines), done.err
    return [line.partition(": ")[2] for line in lines]


def test_a_sound_rule_has_no_fault(cli: Cli, tmp_path: Path) -> None:
    assert _faults(cli, tmp_path, RULE) == []


def test_a_rule_that_no_target_runs(cli: Cli, tmp_path: Path) -> None:
    found = _faults(cli, tmp_path, RULE.replace("    edge: u\n", "    edge: u\n    opt_in: true\n"))
    assert found == [
        "half: no pass of any target runs this rule (it is opt-in, and a target has to name it)"
    ]


def test_a_pattern_behind_a_wider_one(cli: Cli, tmp_path: Path) -> None:
    narrow = "      - |\n        s = Erf(t)\n        r = Softsign(s)\n"
    narrow = narrow.replace("s =", "u =").replace("(s)", "(u)")
    text = RULE.replace("    require:", f"{narrow}    require:")
    assert [f.partition(" (")[0] for f in _faults(cli, tmp_path, text)] == [
        "half: this pattern matches only where an earlier one does"
    ]


def test_a_narrow_pattern_in_front_of_a_wider_one_is_sound(cli: Cli, tmp_path: Path) -> None:
    narrow = "    patterns:\n      - |\n        u = Erf(x)\n        y = Softsign(u)\n"
    assert _faults(cli, tmp_path, RULE.replace("    patterns:\n", narrow)) == []


def _two(require: str = "[adjacent, single-user]") -> str:
    second = RULE.removeprefix("rules:\n").replace("id: half", "id: narrow")
    second = second.replace("Activation(x)", "Erf(x)").replace("[adjacent, single-user]", require)
    return RULE + second


TARGET = """target: mine
summary: Mine.
passes:
  - fuse: [half, narrow]
paths:
  half: {source: a test}
  narrow: {source: a test}
"""


def test_a_rule_behind_a_wider_one(cli: Cli, tmp_path: Path) -> None:
    found = _faults(cli, tmp_path, _two(), TARGET)
    assert found == [
        "mine: narrow finds nothing here: half fuses all of it before (put narrow in front of half)"
    ]
    turned = TARGET.replace("[half, narrow]", "[narrow, half]")
    assert _faults(cli, tmp_path, _two(), turned) == []


@pytest.mark.parametrize(
    "change",
    [("narrow: {", "narrow: {dtypes: {input: [float32]}, "), ("half: {", "half: {const: [x], ")],
)
def test_paths_that_differ_keep_rules_apart(
    cli: Cli, tmp_path: Path, change: tuple[str, str]
) -> None:
    assert _faults(cli, tmp_path, _two(), TARGET.replace(*change)) == []


def test_an_earlier_rule_that_asks_for_more_leaves_some(cli: Cli, tmp_path: Path) -> None:
    assert _faults(cli, tmp_path, _two("[adjacent]"), TARGET) == []


def test_paths_that_state_what_cannot_be(cli: Cli, tmp_path: Path) -> None:
    target = TARGET.replace("[half, narrow]", "[half]").replace(
        "half: {", "half: {producers: [Conv], functions: {Tanh: {}}, "
    )
    assert _faults(cli, tmp_path, _two(), target) == [
        "mine: half: no pattern has Conv as its producer",
        "mine: half: no pattern has Tanh as its function",
        "mine: no pass runs narrow, so its path never serves",
    ]
