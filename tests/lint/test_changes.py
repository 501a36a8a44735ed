"""What changed since the lock file: every code, its cause, and how one change is accepted."""

from pathlib import Path

import pytest

from fusectl.errors import UsageError
from tests.compare.models import ANOTHER, OTHER, PAIR, RENAMED, RETURNED, SHARED, layers, write
from tests.lint.conftest import Lint, codes, only

OTHER_RULE = """\
rules:
  - id: product-activation
    summary: The same under another name.
    edge: u
    patterns:
      - |
        u = MatMul(x, w)
        y = Sigmoid(u)
    require: [adjacent, single-user]
    examples:
      - accept: |
          g (float[2,8] x, float[8,4] w) => (float[2,4] y) { u = MatMul(x, w)  y = Sigmoid(u) }
      - reject: multi-user
        model: |
          g (float[2,8] x, float[8,4] w) => (float[2,4] y, float[2,4] z) {
            u = MatMul(x, w)  y = Sigmoid(u)  z = Neg(u)
          }
"""


@pytest.mark.parametrize(
    ("before", "after", "code", "cause"),
    [
        (PAIR, RETURNED, "fusion-lost", "u is now returned by the graph"),
        (PAIR, ANOTHER, "fusion-lost", "act is now Cos, was Sigmoid"),
        (RETURNED, PAIR, "fusion-gained", "u is no longer returned by the graph"),
        (
            RETURNED,
            SHARED,
            "reason-changed",
            "u now also feeds neg; u is no longer returned by the graph",
        ),
        (
            OTHER,
            RETURNED,
            "candidate-new",
            "mm (MatMul) -> act (Sigmoid) was in no decision before; u is returned by the graph",
        ),
        (RETURNED, OTHER, "candidate-gone", "the model has no MatMul and no Sigmoid any more"),
    ],
)
def test_a_change_is_found_and_explained(
    before: str, after: str, code: str, cause: str, repo: Path, lint: Lint
) -> None:
    write(repo / "m.onnxtxt", before)
    assert not lint(update_baseline=True).findings
    assert not lint().findings
    write(repo / "m.onnxtxt", after)
    finding = only(lint())
    assert (finding.code, finding.cause) == (code, cause)
    assert finding.severity == ("info" if code == "candidate-gone" else "error")
    assert finding.accept == f"fusectl lint --accept {finding.fingerprint}"
    assert not lint(accept=[finding.fingerprint]).findings
    assert not lint().findings


def test_another_rule_is_a_change_of_its_own(repo: Path, lint: Lint) -> None:
    rules = repo / "rules"
    rules.mkdir()
    (rules / "other.yaml").write_text(OTHER_RULE)
    head = "target: my-npu\nsummary: A machine.\nextends: lut-npu\npasses:\n"
    path = "paths:\n  product-activation: {source: here, producers: [MatMul]}\n"
    target = rules / "my-npu.yaml"
    (repo / "fusectl.yaml").write_text("models: [m.onnxtxt]\ntargets: [my-npu]\nrules: [rules]\n")
    target.write_text(f"{head}  - fuse: [matmul-activation]\n{path}")
    lint(update_baseline=True)
    target.write_text(f"{head}  - fuse: [product-activation, matmul-activation]\n{path}")
    found = [f for f in lint().findings if f.code != "candidate-new"]
    assert [f.code for f in found] == ["fusion-changed"]
    assert found[0].rule == "product-activation"
    assert "product-activation takes the edge now, where matmul-activation did" in found[0].cause


def test_a_table_is_blamed_where_the_model_is_the_same(repo: Path, lint: Lint) -> None:
    target = repo / "my-npu.yaml"
    text = (
        "target: my-npu\nsummary: A machine.\nextends: lut-npu\npaths:\n  matmul-activation:\n"
        "    source: here\n    producers: [MatMul]\n    functions: {%s: {table: true}}\n"
    )
    target.write_text(text % "Sigmoid")
    (repo / "fusectl.yaml").write_text("models: [m.onnxtxt]\ntargets: [my-npu.yaml]\n")
    lint(update_baseline=True)
    target.write_text(text % "Tanh")
    lost = only(lint())
    assert lost.code == "fusion-lost"
    assert lost.cause.startswith("the model is the same, the tables say otherwise: Sigmoid is now")
    assert "my-npu.yaml:6" in lost.cause
    assert str(repo) not in lost.cause, "paths are those of the repository"
    lint(update_baseline=True)
    target.write_text(text % "Sigmoid")
    gained = only(lint())
    assert gained.code == "fusion-gained"
    assert "my-npu.yaml:6" in gained.cause


def test_comments_in_a_table_change_nothing(repo: Path, lint: Lint) -> None:
    target = repo / "my-npu.yaml"
    target.write_text("target: my-npu\nsummary: A machine.\nextends: lut-npu\n")
    (repo / "fusectl.yaml").write_text("models: [m.onnxtxt]\ntargets: [my-npu.yaml]\n")
    lint(update_baseline=True)
    lock = (repo / "fusion.lock.yaml").read_bytes()
    target.write_text("# new\n\ntarget: my-npu\nsummary: Other words.\nextends: lut-npu\n")
    assert not lint().findings
    lint(update_baseline=True)
    assert (repo / "fusion.lock.yaml").read_bytes() == lock


def test_a_renamed_model_is_the_same_model(repo: Path, lint: Lint) -> None:
    lint(update_baseline=True)
    write(repo / "m.onnxtxt", RENAMED)
    assert not lint().findings
    write(
        repo / "m.onnxtxt", RENAMED.replace("(float[2,8] out)", "(float[2,8] out, float[2,8] mid)")
    )
    finding = only(lint())
    assert (finding.code, finding.matched) == ("fusion-lost", "structure")


def test_accepting_one_change_leaves_the_others(repo: Path, lint: Lint) -> None:
    two = layers(2)
    write(repo / "m.onnxtxt", two)
    lint(update_baseline=True)
    write(
        repo / "m.onnxtxt",
        two.replace("(float[8,8] y1)", "(float[8,8] y1, float[8,8] u0, float[8,8] u1)"),
    )
    first, second = lint().findings
    assert codes(lint(accept=[first.fingerprint])) == ["fusion-lost"]
    left = only(lint())
    assert (left.fingerprint, left.cause) == (second.fingerprint, second.cause)
    text = (repo / "fusion.lock.yaml").read_text()
    assert text.count("- keep: ") == text.count("- fuse: ") == 1


def test_a_new_decision_is_accepted_at_its_place(repo: Path, lint: Lint) -> None:
    write(repo / "m.onnxtxt", layers(2, prefix="a"))
    lint(update_baseline=True)
    grown = layers(3, prefix="a")
    write(repo / "m.onnxtxt", grown.replace("(float[8,8] ay2)", "(float[8,8] ay2, float[8,8] au0)"))
    found = {f.code: f for f in lint().findings}
    assert set(found) == {"fusion-lost", "fusion-gained"}
    lint(accept=[found["fusion-gained"].fingerprint])
    lock = (repo / "fusion.lock.yaml").read_text()
    assert [line.split()[-1] for line in lock.splitlines() if "from:" in line] == [
        "au0]", "au1]", "au2]",
    ]  # fmt: skip
    assert codes(lint()) == ["fusion-lost"]


def test_an_unknown_fingerprint_is_refused_and_nothing_written(repo: Path, lint: Lint) -> None:
    lint(update_baseline=True)
    write(repo / "m.onnxtxt", RETURNED)
    lock = (repo / "fusion.lock.yaml").read_bytes()
    with pytest.raises(UsageError, match="no change has the fingerprint 000000000000"):
        lint(accept=["000000000000", only(lint()).fingerprint])
    assert (repo / "fusion.lock.yaml").read_bytes() == lock


def test_a_fingerprint_does_not_depend_on_what_stands_elsewhere(repo: Path, lint: Lint) -> None:
    write(repo / "m.onnxtxt", layers(3))
    lint(update_baseline=True)
    returned = layers(3).replace("(float[8,8] y2)", "(float[8,8] y2, float[8,8] u1)")
    write(repo / "m.onnxtxt", returned)
    before = only(lint())
    write(repo / "m.onnxtxt", returned.replace("float[8,8] u1)", "float[8,8] u1, float[8,8] u0)"))
    assert before.fingerprint in [f.fingerprint for f in lint().findings]


def test_models_without_a_section_and_sections_without_a_model(repo: Path, lint: Lint) -> None:
    lint(update_baseline=True)
    write(repo / "new.onnxtxt", PAIR)
    finding = only(lint())
    assert (finding.code, finding.model) == ("model-unlocked", "new.onnxtxt")
    assert finding.accept.endswith("--update-baseline")
    lint(update_baseline=True)
    (repo / "m.onnxtxt").unlink()
    missing = only(lint())
    assert (missing.code, missing.model) == ("model-missing", "m.onnxtxt")
    assert not lint(accept=[missing.fingerprint]).findings
    assert "m.onnxtxt" not in (repo / "fusion.lock.yaml").read_text()


def test_without_a_lock_file_it_says_how_to_make_one(repo: Path, lint: Lint) -> None:
    finding = only(lint())
    assert (finding.code, finding.severity) == ("model-unlocked", "warning")
    assert finding.accept == "fusectl lint --update-baseline"
    given = only(lint("m.onnxtxt", target="lut-npu"))
    assert given.accept == "fusectl lint m.onnxtxt --target lut-npu --update-baseline"


def test_given_models_rewrite_their_own_sections_only(repo: Path, lint: Lint) -> None:
    write(repo / "n.onnxtxt", PAIR)
    lint(update_baseline=True)
    write(repo / "m.onnxtxt", RETURNED)
    write(repo / "n.onnxtxt", RETURNED)
    lint("n.onnxtxt", update_baseline=True)
    assert [f.model for f in lint().findings] == ["m.onnxtxt"]


def test_the_line_of_a_text_model_is_shown(repo: Path, lint: Lint) -> None:
    lint(update_baseline=True)
    write(repo / "m.onnxtxt", RETURNED)
    where = only(lint()).where
    line = (repo / "m.onnxtxt").read_text().splitlines()[where.line - 1]
    assert (where.path, line[where.column - 1 :]) == ("m.onnxtxt", "y = Sigmoid(u)")
