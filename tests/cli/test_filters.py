"""Filters list fewer decisions and leave the rest of the report as it is."""

from collections.abc import Callable

import msgspec
import pytest

from fusectl import api
from fusectl.errors import UsageError
from fusectl.report import Report
from fusectl.report.filter import Filter, Names, check_names, names_of, select
from tests.cli.models import CASES, CHAIN, SHARED
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]


@pytest.fixture(scope="module")
def chain() -> Report:
    return api.explain(CHAIN, target="ideal")


def edges(report: Report) -> list[tuple[str, str, str]]:
    return [(d.edge.value, d.edge.consumer.label, d.rule) for d in report.decisions]


def test_no_filter_is_the_report_itself(chain: Report) -> None:
    assert select(chain, Filter()) is chain


@pytest.mark.parametrize(
    "wanted",
    [Filter(verdict="fuse"), Filter(verdict="keep"), Filter(rule="conv-bias"), Filter(node="relu")],
)
def test_only_the_decisions_change(chain: Report, wanted: Filter) -> None:
    found = select(chain, wanted)
    assert set(found.decisions) <= set(chain.decisions)
    assert found.summary == chain.summary
    assert found.uncovered == chain.uncovered
    assert found.eliminated == chain.eliminated


def test_verdict(chain: Report) -> None:
    fused = select(chain, Filter(verdict="fuse")).decisions
    kept = select(chain, Filter(verdict="keep")).decisions
    assert {d.verdict for d in fused} == {"fuse"}
    assert len(fused) + len(kept) == len(chain.decisions)


def test_rule(chain: Report) -> None:
    rules = {d.rule for d in chain.decisions}
    for rule in rules:
        assert {d.rule for d in select(chain, Filter(rule=rule)).decisions} == {rule}


def test_node_by_name_and_by_output(chain: Report) -> None:
    decision = chain.decisions[0]
    node = decision.edge.producer
    by_name = select(chain, Filter(node=node.name)).decisions
    assert decision in by_name
    assert select(chain, Filter(node=node.output)).decisions == by_name


def test_edge_with_and_without_consumer(chain: Report) -> None:
    ends = chain.decisions[0].edge
    for text in (ends.value, f"{ends.value}:{ends.consumer.name}"):
        found = select(chain, Filter(edge=text)).decisions
        assert chain.decisions[0] in found
        assert {d.edge.value for d in found} == {ends.value}


def test_reason_is_any_blocker_not_only_the_headline() -> None:
    report = api.explain(CASES / "019-three-blockers.onnxtxt", target="ideal")
    for reason in ("requantize", "multi-user", "graph-output"):
        assert len(select(report, Filter(reason=reason)).decisions) == 1
    assert not select(report, Filter(reason="clip")).decisions


def test_filters_add_up(chain: Report) -> None:
    rule = chain.decisions[0].rule
    found = select(chain, Filter(rule=rule, verdict=chain.decisions[0].verdict))
    assert chain.decisions[0] in found.decisions
    other = "keep" if chain.decisions[0].verdict == "fuse" else "fuse"
    assert chain.decisions[0] not in select(chain, Filter(rule=rule, verdict=other)).decisions


def test_a_value_within_a_pattern_finds_the_decision_that_removes_it() -> None:
    report = api.explain(CASES / "083-gelu-float.onnxtxt", target="ideal")
    decision = next(d for d in report.decisions if d.rule == "gelu-erf")
    inner = next(v for v in decision.swallows if v != decision.edge.value)
    assert decision in select(report, Filter(edge=inner)).decisions


def test_names_with_colons() -> None:
    names = Names(frozenset({"b:0"}), frozenset({"a:0", "a"}))
    check_names(Filter(edge="a:0"), names, "m")
    check_names(Filter(edge="a:0:b:0"), names, "m")
    check_names(Filter(edge="a:b:0"), names, "m")
    with pytest.raises(UsageError, match="no consumer 'c'"):
        check_names(Filter(edge="a:0:c"), names, "m")
    with pytest.raises(UsageError, match="no value 'x'"):
        check_names(Filter(edge="x:b:0"), names, "m")


def test_names_of_a_report(chain: Report) -> None:
    names = names_of(chain)
    for decision in chain.decisions:
        assert decision.edge.value in names.values
        assert decision.edge.consumer.name in names.nodes


def test_where_nothing_matches_a_note_says_so(chain: Report) -> None:
    found = select(chain, Filter(reason="requantize"))
    assert not found.decisions
    assert [n.text for n in found.notes[len(chain.notes) :]] == [
        "no decision matches --reason requantize"
    ]


def test_an_edge_without_a_rule_is_pointed_out(cli: Cli) -> None:
    outcome = cli("explain", SHARED, "--target", "ideal", "--node", "side", "--format", "json")
    report = msgspec.json.decode(outcome.stdout, type=Report)
    assert not report.decisions
    assert "no-rule" in report.notes[-1].text


def test_names_that_no_decision_speaks_of_are_known_from_the_model(cli: Cli) -> None:
    model = CASES / "123-no-rule.onnxtxt"
    outcome = cli("explain", model, "--target", "ideal", "--edge", "x")
    assert outcome.code == 0
    assert "no decision matches --edge x" in outcome.out


def test_reason_no_rule_lists_the_edges(cli: Cli) -> None:
    outcome = cli("explain", SHARED, "--target", "ideal", "--reason", "no-rule")
    assert outcome.code == 0
    assert "MatMul -> Neg" in outcome.out


def test_skip_and_equivalence_reach_the_engine(cli: Cli) -> None:
    model = CASES / "001-direct.onnxtxt"
    outcome = cli(
        "explain", model, "--target", "ideal", "--skip", "matmul-activation", "--format", "concise"
    )
    assert "keep [disabled]" in outcome.out
    outcome = cli(
        "explain", CASES / "083-gelu-float.onnxtxt", "--target", "ideal", "--equivalence", "bitwise"
    )
    assert "inexact" in outcome.out
