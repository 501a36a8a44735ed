"""Every fact of every pattern, broken alone: the rule does not fire, and says which fact it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec
import onnx
import pytest
from _pytest.mark import ParameterSet

from fusectl import api
from fusectl.report.types import Decision, Report
from fusectl.tables import Rule, Target
from fusectl.tables.patterns import Pattern
from fusectl.tables.target_schema import PassDoc
from fusectl.yamlsrc import spanned
from tests.spellings.build import build
from tests.spellings.draft import plain
from tests.spellings.recipes import recipe_of
from tests.spellings.tables import catalog, patterns
from tests.spellings.twins import Twin, twins

KNOWN: Mapping[str, Sequence[str]] = msgspec.yaml.decode(
    Path(__file__).with_name("known.yaml").read_bytes(), type=dict[str, list[str]]
)
"""Why a twin is not kept for its reason yet, and the names of those twins."""


@cache
def alone(rule: str) -> Target:
    """`ideal` with its clean-up passes and one rule: nothing else may claim a node."""
    target = catalog().target("ideal")
    span = catalog().rules[rule].span
    own = PassDoc(span, fuse=(spanned(rule, span),))
    passes = (*(p for p in target.passes if p.fuse is None), own)
    return replace(target, passes=passes, covered=frozenset({rule}))


def _cases() -> Iterator[ParameterSet]:
    for name, rule, pattern in patterns():
        for twin in twins(rule, pattern, build(rule, pattern, recipe_of(rule, pattern))):
            unique = f"{name}-{twin.name}"
            yield pytest.param(rule, pattern, twin, id=unique, marks=_marks(unique))


def _marks(name: str) -> list[pytest.MarkDecorator]:
    reasons = [r for r, ps in KNOWN.items() if any(fnmatchcase(name, p) for p in ps)]
    return [pytest.mark.xfail(strict=True, reason=r) for r in reasons]


CASES = list(_cases())


@pytest.mark.parametrize(("rule", "pattern", "twin"), CASES)
def test_broken_fact_is_named(rule: Rule, pattern: Pattern, twin: Twin) -> None:
    model = plain(twin.draft)
    onnx.checker.check_model(model, full_check=True)
    report = api.explain(model, alone(rule.id), rules=catalog())
    own = [d for d in report.decisions if d.rule == rule.id]
    fused = [d for d in own if d.verdict == "fuse"]
    for decision in fused:
        assert not _joins(decision, twin.carrier), f"fused {[n.name for n in decision.nodes]}"
    if fused and any(len(p.nodes) < len(pattern.nodes) for p in rule.patterns):
        return  # a shorter spelling, in which the broken fact does not occur
    assert not fused
    assert not twin.slugs or any(_names_it(d, twin) for d in own), _told(report)


def test_known_names_something() -> None:
    for pattern in chain.from_iterable(KNOWN.values()):
        assert any(fnmatchcase(str(case.id), pattern) for case in CASES), pattern


def test_what_stands_in_a_gap_is_no_other_reader() -> None:
    """With the node that is missed in its place, the value would have one user."""
    wrong = []
    for name, rule, pattern in patterns():
        for twin in twins(rule, pattern, build(rule, pattern, recipe_of(rule, pattern))):
            if twin.missing is None:
                continue
            report = api.explain(plain(twin.draft), alone(rule.id), rules=catalog())
            own = [d for d in report.decisions if d.rule == rule.id]
            for finding in (f for d in own for f in d.blockers):
                gap = twin.missing[0]
                if finding.reason == "multi-user" and gap in finding.observed.split():
                    wrong.append(f"{name}-{twin.name}: {finding.observed}")
    assert not wrong


def _joins(decision: Decision, carrier: str) -> bool:
    return carrier in decision.swallows or carrier in {node.name for node in decision.nodes}


def _names_it(decision: Decision, twin: Twin) -> bool:
    told = [(f.reason, f"{f.subject}: {f.observed}") for f in decision.blockers]
    if twin.missing is not None:
        node, op = twin.missing
        missed = any(m.node == node and m.observed == op for m in decision.missing)
        # Or another spelling matches as a whole, and what the node makes is wrong there.
        return missed or any(reason != "op-mismatch" and node in text for reason, text in told)
    return any(
        reason in twin.slugs and all(word in text for word in twin.says) for reason, text in told
    )


def _told(report: Report) -> list[str]:
    return [
        f"{d.rule} {d.verdict} {[(f.reason, f.status, f.subject, f.observed) for f in d.blockers]} "
        f"{[(m.role, m.expected, m.observed, m.node) for m in d.missing]}"
        for d in report.decisions
    ]
