"""The pieces of the renderers, one fact each."""

import json

import jsonschema
import pytest

from fusectl.render import FORMATS, render
from fusectl.render.causes import skeleton
from fusectl.render.chains import chains, rows
from fusectl.render.markup import code, prose
from fusectl.render.names import escape, share, shorten
from fusectl.render.paths import globs, shared_path, without
from fusectl.render.wording import required, statement
from fusectl.report.schema import report_schema
from tests.render import examples
from tests.render.factory import blocker, decision, multi_user, report


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain/name.0", "plain/name.0"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\u202eb", r"a\u202eb"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
        ("é层", "é层"),
    ],
)
def test_escape(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_escape_for_a_poorer_encoding() -> None:
    assert escape("é层", "latin-1") == "é\\u5c42"


def test_shorten_keeps_both_ends() -> None:
    assert shorten("/encoder/layer.0/MatMul", 12) == "/en…0/MatMul"
    assert shorten("short", 12) == "short"
    assert shorten("层层层层", 5) == "…层层"


def test_share_gives_short_names_what_they_need() -> None:
    assert share([5, 100], 50) == [5, 45]
    assert share([100, 100], 50) == [25, 25]
    assert share([3, 4], 50) == [3, 4]


def test_globs_fold_what_differs_in_numbers_only() -> None:
    names = [f"/b.{i}/conv1/Conv" for i in range(5)]
    assert globs(names) == ["/b.*/conv1/Conv"]
    assert globs(names[:2]) == names[:2]
    assert globs(["a", "b", "a"]) == ["a", "b"]


def test_paths_that_names_share() -> None:
    assert shared_path(["/b.0/mm/u", "/b.0/mm/y"]) == "/b.0/mm/"
    assert shared_path(["encoder.0.u", "encoder.0.y"]) == "encoder.0."
    assert shared_path(["mm", "act"]) == ""
    assert without("/b.0/mm/", "(/b.0/mm/u) x/b.0/mm/u", "…") == "(…/u) x/b.0/mm/u"


def test_skeleton_drops_names_and_numbers_but_not_types() -> None:
    names = frozenset({"u", "side"})
    assert skeleton("compute u twice for side, add_3", names) == "compute # twice for #"
    assert skeleton("export in float16, not int8", names) == "export in float16, not int8"
    assert skeleton("unit 12", names) == "unit #"


@pytest.mark.parametrize(
    ("stated", "clause"),
    [
        ("The value has one user", "r requires that the value has one user"),
        ("MatMul has a bias", "r requires that MatMul has a bias"),
        ("needs one user", "r needs one user"),
        ("one user", "r requires one user"),
        ("", ""),
    ],
)
def test_required_is_a_clause(stated: str, clause: str) -> None:
    assert required(blocker("multi-user", "u", "", stated), "r") == clause


def test_a_statement_names_its_subject_once() -> None:
    made = decision("mm:MatMul:u", "act:Sigmoid", multi_user("u", "act", "b"))
    assert statement(made, made.findings[0]) == (
        "u also feeds b; matmul-activation requires that the intermediate value has one user "
        "(rules/fusions/activation.yaml:14)."
    )
    slot = blocker("already-fused", "mm", "its slot is taken", "")
    assert statement(made, slot, where=False) == "mm: its slot is taken."


def test_chains_are_told_once_and_in_order() -> None:
    found = chains(examples.chain().decisions)
    assert [len(c.decisions) for c in found] == [2]
    assert found[0].operators == "MatMul + Add + Relu -> FusedGemm"
    assert found[0].rules == "matmul-bias, gemm-activation"
    assert found[0].label == "mm"


def test_every_fusion_is_in_exactly_one_chain() -> None:
    made = examples.resnet()
    told = [d.id for row in rows(chains(made.decisions)) for c in row for d in c.decisions]
    assert sorted(told) == sorted(d.id for d in made.decisions if d.verdict == "fuse")


def test_json_satisfies_the_published_schema() -> None:
    for example in (examples.hostile, examples.encoder, examples.near_miss):
        made = render(example(), "json")
        assert isinstance(made, bytes)
        jsonschema.validate(json.loads(made), report_schema())
        assert json.loads(made) == json.loads(example().json())
        assert made.endswith(b"}\n")


def test_jsonl_has_a_line_for_each_decision() -> None:
    lines = bytes(render(examples.chain(), "jsonl")).splitlines()  # type: ignore[arg-type]
    first = json.loads(lines[0])
    assert len(lines) == 3
    assert list(first)[:3] == ["model", "target", "id"]
    assert (first["model"], first["target"], first["rule"]) == (
        "model.onnx",
        "ideal",
        "matmul-bias",
    )


def test_concise_is_the_documented_line() -> None:
    out = render(examples.three_blockers(), "concise")
    assert out == (
        "019-three-blockers.onnxtxt: u -> act: keep [requantize, multi-user, graph-output] "
        "matmul-activation (3 blockers)\n"
    )


def test_markdown_names_cannot_become_markup() -> None:
    assert code("a`b") == "``a`b``"
    assert code("`") == "`` ` ``"
    assert code("a|b", cell=True) == r"`a\|b`"
    assert prose("<b> *x* @me #12") == r"\<b\> \*x\* @<!-- -->me #<!-- -->12"


def test_an_empty_report_renders_in_every_format() -> None:
    for format in FORMATS:
        assert render(report([]), format) is not None
