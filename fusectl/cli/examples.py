"""The examples of rules: an accepted one has to fuse, a rejected one to be kept as it says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fusectl import api
from fusectl.errors import ModelError, Span
from fusectl.graph.read import parse
from fusectl.report import Decision, Report
from fusectl.rewrite.source import Model
from fusectl.tables import Catalog, Rule, Target
from fusectl.tables.schema import Example
from fusectl.tables.target_schema import PassDoc
from fusectl.tables.targets import DEFAULT
from fusectl.yamlsrc import spanned

HEADER = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft": 1]>\n'
"""Stands before an example that has no header of its own."""

_COMMENTS = re.compile(r"(\s|#[^\n]*(\n|$))*")


@dataclass(frozen=True, slots=True)
class Failure:
    """An example that is not decided as it says."""

    span: Span
    rule: str
    expected: str
    got: str

    def __str__(self) -> str:
        """Return the line that says so."""
        return f"{self.span}: {self.rule}: expected {self.expected}, got {self.got}"


def run_examples(rules: Iterable[Rule], catalog: Catalog) -> Iterator[Failure]:
    """Run the examples of some rules and yield those that fail."""
    legal = catalog.target(catalog.defaults.legality)
    for rule in rules:
        for example in rule.examples:
            # Among all rules another one may be faster, and the machine may write two results;
            # what counts is that this rule is right by itself.
            among = _run(rule, example, legal, catalog)
            if among is not None and _run(rule, example, _alone(rule, legal), catalog):
                yield among


def _alone(rule: Rule, target: Target) -> Target:
    """Return a target's clean-up passes with only this rule after them, and one result each."""
    cleanup = (p for p in target.passes if p.fuse is None)
    own = PassDoc(rule.span, fuse=(spanned(rule.id, rule.span),))
    path = target.paths.get(rule.id) or target.paths[DEFAULT]
    paths = {**target.paths, rule.id: replace(path, dual_output=())}
    return replace(target, passes=(*cleanup, own), paths=paths, covered=frozenset({rule.id}))


def _run(rule: Rule, example: Example, target: Target, catalog: Catalog) -> Failure | None:
    reject = example.reject.value if example.reject else ""
    text = example.accept or example.model
    if text is None:
        return None
    expected = f"keep [{reject}]" if reject else "fuse"
    try:
        report = api.explain(_model(text.value), target, rules=catalog)
    except ModelError as error:
        return Failure(example.span, rule.id, expected, str(error))
    own = [d for d in report.decisions if d.rule == rule.id]
    if any(_as_said(d, reject) for d in own):
        return None
    return Failure(example.span, rule.id, expected, _got(own, report))


def _model(text: str) -> Model:
    start = _COMMENTS.match(text)
    whole = text if start and text[start.end() :].startswith("<") else HEADER + text
    return parse("example.onnxtxt", whole.encode("utf-8"))


def _as_said(decision: Decision, reject: str) -> bool:
    if not reject:
        return decision.verdict == "fuse"
    return any(f.reason == reject for f in decision.blockers)


def _got(own: Iterable[Decision], report: Report) -> str:
    told = [_verdict(d) for d in own]
    if told:
        return "; ".join(dict.fromkeys(told))
    others = dict.fromkeys(f"{_verdict(d)} by {d.rule}" for d in report.decisions)
    return "no candidate" + (f" of this rule ({'; '.join(others)})" if others else "")


def _verdict(decision: Decision) -> str:
    if decision.verdict == "fuse":
        return "fuse"
    return f"keep [{', '.join(dict.fromkeys(f.reason for f in decision.blockers))}]"
