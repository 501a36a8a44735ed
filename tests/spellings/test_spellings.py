"""Every pattern of several nodes, in the spellings of exporters, is one fusion on `ideal`."""

from collections.abc import Callable, Iterator

import onnx
import pytest

from fusectl import api
from fusectl.report.types import Report
from fusectl.tables import Rule
from tests.spellings.build import build
from tests.spellings.draft import Op
from tests.spellings.recipes import recipe_of
from tests.spellings.tables import catalog, patterns, without_recipe
from tests.spellings.variants import variants


def _cases() -> Iterator[object]:
    for name, rule, pattern in patterns():
        recipe = recipe_of(rule, pattern)
        draft = build(rule, pattern, recipe)
        wanted = frozenset(op.name for op in draft.nodes if not _changes_nothing(op, rule))
        for variant, make in variants(draft, pattern, recipe):
            yield pytest.param(rule, wanted, make, id=f"{name}-{variant}")


def _changes_nothing(op: Op, rule: Rule) -> bool:
    # A Cast of a pattern that makes what is there already is removed before any rule runs.
    return op.op_type == "Cast" and op.attrs["to"] == 1 and rule.id == "layernorm"


def fused(report: Report, rule: Rule) -> list[frozenset[str]]:
    """The names of the nodes that each fusion of a rule joined."""
    return [
        frozenset(node.name for node in decision.nodes)
        for decision in report.decisions
        if decision.rule == rule.id and decision.verdict == "fuse"
    ]


@pytest.mark.parametrize(("rule", "wanted", "make"), list(_cases()))
def test_spelling_is_accepted(
    rule: Rule, wanted: frozenset[str], make: Callable[[], onnx.ModelProto]
) -> None:
    model = make()
    onnx.checker.check_model(model, full_check=True)
    report = api.explain(model, "ideal", rules=catalog())
    assert any(wanted <= names for names in fused(report, rule)), [
        (d.rule, d.verdict, d.headline, d.edge.value, sorted(n.name for n in d.nodes))
        for d in report.decisions
    ]


def test_every_pattern_has_a_recipe() -> None:
    """A new pattern may need types and shapes: recipes.py."""
    assert not without_recipe()


def test_every_pattern_has_spellings() -> None:
    for name, rule, pattern in patterns():
        recipe = recipe_of(rule, pattern)
        found = [n for n, _ in variants(build(rule, pattern, recipe), pattern, recipe)]
        assert len(found) >= 3, name
