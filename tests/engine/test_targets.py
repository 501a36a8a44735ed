"""Targets: what they inherit, what is refused, and what a user adds."""

from pathlib import Path

import pytest
from onnx import parser

from fusectl import api
from fusectl.errors import TableError, UsageError
from fusectl.tables import Catalog
from tests.engine.build import explain, verdicts

PAIR = """g (float[2,8] x, float[8,4] w) => (float[2,4] y) {
  [mm] u = MatMul(x, w)  [act] y = Sigmoid(u) }"""
BASE = """target: base
summary: The one that others extend.
version: "3"
memory: {on_chip: 1KiB}
passes:
  - fuse: [matmul-bias]
  - fuse: [matmul-activation]
paths:
  matmul-bias: {source: here}
  matmul-activation: {source: here, functions: {Relu: {}}}
"""


def catalog(folder: Path, **files: str) -> Catalog:
    """The shipped tables and some files."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return api.load_rules(folder)


def problems(folder: Path, text: str, **more: str) -> list[str]:
    """What is wrong with a target, line by line."""
    try:
        found = catalog(folder, probe=text, **more)
        found.target(str(folder / "probe.yaml"))
    except TableError as error:
        return [f"{p.span.line} {p.message}" for p in error.problems]
    return []


def test_everything_is_inherited(tmp_path: Path) -> None:
    child = "target: child\nsummary: s\nextends: base\n"
    found = catalog(tmp_path, base=BASE, child=child).target("child")
    assert found.extends == ("base",)
    assert [t.value for p in found.passes for t in p.fuse or ()] == [
        "matmul-bias",
        "matmul-activation",
    ]
    assert set(found.paths) == {"matmul-bias", "matmul-activation"}
    assert found.memory.on_chip is not None
    assert found.memory.on_chip.value == "1KiB"


def test_a_path_takes_the_place_of_the_inherited_one(tmp_path: Path) -> None:
    child = (
        "target: child\nsummary: s\nextends: base\n"
        "paths:\n  matmul-activation: {source: there, producers: [MatMul]}\n"
    )
    found = catalog(tmp_path, base=BASE, child=child).target("child")
    path = found.path("matmul-activation")
    assert path is not None
    assert (path.source, path.producers, path.functions) == ("there", ("MatMul",), None)


def test_passes_take_the_place_of_the_inherited_ones(tmp_path: Path) -> None:
    child = "target: child\nsummary: s\nextends: base\npasses: [{fuse: [matmul-activation]}]\n"
    found = catalog(tmp_path, base=BASE, child=child).target("child")
    assert len(found.passes) == 1
    assert found.path("matmul-bias") is None, "a path is nothing without a pass"


def test_three_generations(tmp_path: Path) -> None:
    child = "target: child\nsummary: s\nextends: base\nmemory: {on_chip: 2KiB}\n"
    grandchild = "target: grandchild\nsummary: s\nextends: child\nequivalence: bitwise\n"
    found = catalog(tmp_path, base=BASE, child=child, grandchild=grandchild).target("grandchild")
    assert found.extends == ("child", "base")
    assert found.memory.on_chip is not None
    assert found.memory.on_chip.value == "2KiB"
    assert found.equivalence.ask == "bitwise"
    assert len(found.passes) == 2


def test_a_file_by_its_path_extends_a_shipped_target(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "target: mine\nsummary: s\nextends: ideal\n"
        "paths:\n  matmul-activation: {source: here, functions: {Relu: {}}}\n"
    )
    assert verdicts(explain(PAIR, path)) == {"u -> act": "unsupported-activation"}


def test_targets_that_extend_one_another(tmp_path: Path) -> None:
    other = "target: other\nsummary: s\nextends: probe\n"
    found = problems(tmp_path, "target: probe\nsummary: s\nextends: other\n", other=other)
    assert found == ["3 target probe extends itself through probe"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("extends: bases", "unknown target bases in extends"),
        ("passes: [{fuse: [matmul-bais]}]", "unknown rule matmul-bais"),
        ("passes: [{fuse: [matmul-bias], cse: true}]", "exactly one of"),
        ("passes: [{opset: {min: 3}}]", "exactly one of"),
        ("passes: [{fuse: [conv-bias]}]", "no path for the rule conv-bias is stated"),
        ("memory: {on_chip: 1 MB}", "1 MB is no size"),
        ("paths: {matmul-bias: {}}", "lacks the key source"),
        ("paths: {matmul-bias: {source: s, patterns: [fast]}}", "no pattern named fast"),
        ("paths: {matmul-bias: {source: s, const: [bias]}}", "bias is no value of the rule"),
        ("paths: {matmul-bias: {source: s, row_bytes: many}}", "row_bytes many is no size"),
        ("paths: {matmul-bais: {source: s}}", "unknown rule matmul-bais in paths"),
        (
            "paths: {conv-codes: {source: s, functions: {Clip: {bounds: [[0, 6, 9]]}}}}",
            "bounds of Clip are pairs",
        ),
        (
            "paths: {matmul-bias: {source: s, functions: {Relu: {encoding: same}}}}",
            "encoding is for rules on codes",
        ),
    ],
)
def test_what_is_refused(line: str, message: str, tmp_path: Path) -> None:
    key = line.partition(":")[0]
    text = "target: probe\nsummary: s\n" + ("" if key == "extends" else "extends: base\n")
    found = problems(tmp_path, f"{text}{line}\n", base=BASE)
    assert any(message in problem for problem in found), found


def test_a_target_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="did you mean ideal"):
        api.load_rules().target("idael")


def test_others_are_the_rules_that_no_pass_names(tmp_path: Path) -> None:
    text = (
        "target: t\nsummary: s\npasses: [{fuse: [silu]}, {fuse: [others]}]\n"
        "paths: {default: {source: s}}\n"
    )
    found = catalog(tmp_path, t=text)
    named = [t.value for p in found.target("t").passes for t in p.fuse or ()]
    rules = [r.id for r in found.rules.values() if not r.opt_in]
    assert named[0] == "silu"
    assert sorted(named) == sorted(rules), "each once, none that a target has to ask for"


GENERIC = """rules:
  - id: table-lookup
    summary: A product and a table.
    edge: u
    patterns: ["u = MatMul(x, w)  y = my.Table(u)"]
    require: [adjacent, single-user]
    examples:
      - accept: |
          g (float[2,8] x, float[8,4] w) => (float[2,4] y) { u = MatMul(x, w)  y = my.Table(u) }
      - {reject: multi-user, model: 'g (float[2] x) => (float[2] y) { y = Neg(x) }'}
operators:
  my.Table: {kind: elementwise, function_of: {attribute: kind, names: {s: Sigmoid, t: Tanh}}}
"""


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("s", "fuse"),
        ("t", "unsupported-activation"),
        ("q", "unsupported-activation?"),
    ],
)
def test_a_users_table_operator(kind: str, verdict: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(GENERIC)
    (tmp_path / "t.yaml").write_text(
        "target: t\nsummary: s\npasses: [{fuse: [table-lookup]}]\n"
        "paths: {table-lookup: {source: s, functions: {Sigmoid: {}}}}\n"
    )
    found = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "my" : 1]>\n'
        "g (float[2,8] x, float[8,4] w) => (float[2,4] y) {\n"
        f'  u = MatMul(x, w)  [t] y = my.Table<kind = "{kind}">(u) }}\n'
    )
    report = api.explain(found, str(tmp_path / "t.yaml"), rules=[tmp_path / "rules.yaml"])
    assert verdicts(report)["u -> t"] == verdict
