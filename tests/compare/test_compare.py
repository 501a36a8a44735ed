"""What differs between two answers, how their decisions are recognised, and what is blamed."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from fusectl import api
from fusectl.compare.match import match
from fusectl.report.schema import schemas
from fusectl.report.types import Report
from tests.compare.models import (
    ANOTHER,
    CUT,
    LIMITED,
    OTHER,
    PAIR,
    RENAMED,
    RETURNED,
    SHARED,
    answers,
    compared,
    layers,
)
from tests.render.factory import decision, multi_user, report


@pytest.mark.parametrize(
    ("before", "after", "kind", "cause"),
    [
        (PAIR, RETURNED, "lost", "u is now returned by the graph"),
        (RETURNED, PAIR, "gained", "u is no longer returned by the graph"),
        (PAIR, SHARED, "lost", "u now also feeds neg"),
        (SHARED, PAIR, "gained", "u no longer feeds neg"),
        (RETURNED, SHARED, "reason", "u now also feeds neg; u is no longer returned by the graph"),
        (PAIR, ANOTHER, "lost", "act is now Cos, was Sigmoid"),
        (ANOTHER, PAIR, "gained", "act was Cos, is Sigmoid"),
        (PAIR, CUT, "lost", "act (Sigmoid) reads x and nothing of u"),
        (RETURNED, ANOTHER, "gone", "act is now Cos, was Sigmoid"),
        (RETURNED, OTHER, "gone", "the model has no MatMul and no Sigmoid any more"),
        (
            OTHER,
            RETURNED,
            "new",
            "the model had no MatMul and no Sigmoid before; u is returned by the graph",
        ),
        (ANOTHER, RETURNED, "new", "act was Cos, is Sigmoid; u is returned by the graph"),
    ],
)
def test_the_cause_says_what_made_the_difference(
    before: str, after: str, kind: str, cause: str
) -> None:
    changes = [c for c in compared(before, after).changes if c.kind == kind]
    assert [c.cause for c in changes] == [cause]


def test_an_operator_that_newly_stands_between_is_named() -> None:
    (change,) = [c for c in compared(PAIR, LIMITED, "ideal").changes if c.kind == "lost"]
    assert "lim" in change.cause or "Relu" in change.cause


def test_equal_models_do_not_differ() -> None:
    found = compared(SHARED, SHARED)
    assert not found.changes
    assert (found.same, found.matched) == (1, {"id": 1})


def test_renamed_decisions_are_found_by_structure() -> None:
    found = compared(PAIR, RENAMED)
    assert not found.changes
    assert found.matched == {"structure": 1}


def test_numbers_for_names_count_only_in_the_same_file() -> None:
    one = numbered(layers(3))
    two = numbered(layers(3, "x0 = Neg(x)"))
    # 10, 11, 12 and 20, 21, 22 are the exporter's counter: what is 11 here may be 10 there.
    assert "id" not in compared(one, two).matched
    assert compared(one, one).matched == {"id": 3}


def numbered(text: str) -> str:
    """u0 becomes 10, y0 becomes 20."""
    return re.sub(r"\b([uy])(\d)", lambda m: f'"{"uy".index(m[1]) + 1}{m[2]}"', text)


def test_a_node_that_comes_does_not_shift_the_others() -> None:
    """The new first layer is the one without a partner, though all look alike by structure."""
    before, after = answers(layers(6, prefix="a")), answers(layers(7, prefix="b"))
    pairs = match(before.answers, after.answers, False)
    assert [p.after - p.before for p in pairs] == sorted(p.after - p.before for p in pairs)
    assert len(pairs) == 6
    assert {p.by for p in pairs} <= {"structure", "alignment"}


def test_what_only_one_side_has_is_not_paired_with_something_else() -> None:
    found = compared(PAIR, "g (float[2,8] x) => (float[2,8] y) { y = Neg(x) }")
    assert found.matched == {}
    assert [(c.kind, c.matched, c.after) for c in found.changes] == [("lost", None, None)]


def test_another_opset_is_noted() -> None:
    found = compared(PAIR, RETURNED, opsets=(13, 17))
    assert "opset of ai.onnx: 13 -> 17" in found.notes


def test_the_tables_are_blamed_where_the_model_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text('<ir_version: 8, opset_import: ["" : 17]>\n' + PAIR)
    head = "target: my-npu\nsummary: A machine.\nextends: lut-npu\n"
    for name, functions in (("old", "{Sigmoid: {table: true}}"), ("new", "{Tanh: {table: true}}")):
        (tmp_path / f"{name}.yaml").write_text(
            f"{head}paths:\n  matmul-activation:\n    source: here\n    producers: [MatMul]\n"
            f"    functions: {functions}\n"
        )
    old, new = str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml")
    lost = api.compare_targets(path, old, new)
    assert [c.kind for c in lost.changes] == ["lost"]
    assert f"({new}:6)" in lost.changes[0].cause
    assert "the model is the same, the tables say otherwise" in lost.changes[0].cause
    assert "the rules or the target my-npu changed" in lost.notes
    gained = api.compare_targets(path, new, old)
    assert [c.kind for c in gained.changes] == ["gained"]
    assert f"({old}:6)" in gained.changes[0].cause


def test_a_fusion_that_another_rule_takes_is_one_change() -> None:
    """Both rules' decisions differ, and one sentence says so."""
    found = api.compare_targets("samples/bert.onnxtxt", "onnxruntime-cpu", "ideal")
    rules = [c for c in found.changes if c.kind == "rule"]
    assert {(c.before.rule, c.after.rule) for c in rules if c.before and c.after} == {
        ("bias-add-layernorm", "add-layernorm"),
        ("add-gelu", "matmul-activation"),
    }
    told = {c.before.id for c in rules if c.before}
    assert not told & {c.before.id for c in found.changes if c.before and c.kind == "lost"}


def test_every_change_has_one_cause_group() -> None:
    found = api.compare_targets("samples/bert.onnxtxt", "onnxruntime-cpu", "ideal")
    numbers = sorted(n for cause in found.causes for n in cause.changes)
    assert numbers == list(range(len(found.changes)))
    assert all(found.changes[n].kind == c.kind for c in found.causes for n in c.changes)
    assert all(c.cause for c in found.changes)
    assert all(c.cause for c in found.causes)


def test_reports_are_compared_as_well_as_models() -> None:
    """Without the models at hand only decisions can be asked: the kinds stay the same."""
    one = report([decision("mm:MatMul:u", "act:Sigmoid:y")])
    two = report([decision("mm:MatMul:u", "act:Sigmoid:y", multi_user("u", "act", "neg"))])
    two = _with_sha(two, "1" * 64)
    found = api.compare_reports(one, two, ("a", "b"))
    assert [(c.kind, c.cause) for c in found.changes] == [("lost", "u now also feeds neg")]
    assert (found.a.label, found.b.label) == ("a", "b")
    gone = api.compare_reports(one, _with_sha(report([]), "2" * 64))
    assert [c.cause for c in gone.changes] == [
        "mm (MatMul) -> act (Sigmoid) is in no decision any more"
    ]


def _with_sha(found: Report, sha256: str) -> Report:
    model = msgspec.structs.replace(found.model, sha256=sha256)
    return msgspec.structs.replace(found, model=model)


def test_json_is_what_the_schema_says() -> None:
    schema = schemas()["comparison"]
    Draft202012Validator.check_schema(schema)
    found = api.compare_targets("samples/bert.onnxtxt", "onnxruntime-cpu", "ideal")
    Draft202012Validator(schema).validate(json.loads(found.json()))


def test_a_large_stretch_of_equals_is_paired_in_order() -> None:
    before = answers(layers(3, prefix="a")).answers * 700
    after = answers(layers(4, prefix="b")).answers * 700
    pairs = match(before, after, False)
    assert len(pairs) > 2000
