"""Optimisation remarks as LLVM writes them, for opt-viewer, llvm-opt-report and the like.

The form is that of https://llvm.org/docs/Remarks.html. It is written by hand, because LLVM's
reader is no full YAML reader: keys have to be plain, and of quotes it knows the single ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fusectl.render.edges import scope
from fusectl.render.lint_words import paragraphs, rooted
from fusectl.render.names import escape
from fusectl.render.options import LintOptions, Options
from fusectl.render.wording import remedy, slug, statement
from fusectl.report.lint import Code, LintFinding, LintReport
from fusectl.report.types import Decision, NodeRef, Report

_SOURCE = re.compile(r"(?P<file>.+):(?P<line>[0-9]+)(?: in .*)?")
"""An exporter's own source line: ``model.py:157 in forward``."""

_MISSED: frozenset[Code] = frozenset({"fusion-lost", "unfused", "must-fuse"})
_PASSED: frozenset[Code] = frozenset({"fusion-gained", "fusion-changed", "must-not-fuse"})

_Args = Iterable[tuple[str, str]]


def to_remarks(report: Report, options: Options) -> str:
    """Return one remark a decision: ``Passed`` where it fuses, ``Missed`` where it is kept.

    Pass is the rule, Name the headline; DebugLoc stands where the model carries the exporter's
    source line.
    """
    return "".join(_of_decision(d, report) for d in report.decisions)


def lint_remarks(report: LintReport, options: LintOptions) -> str:
    """Return one remark a finding; what is not about a fusion, or suppressed, is ``Analysis``.

    DebugLoc is the exporter's source line, else the line of the model, policy or lock file.
    """
    return "".join(_of_finding(f, options) for f in report.findings)


def _of_decision(decision: Decision, report: Report) -> str:
    fused = decision.verdict == "fuse"
    return _remark(
        "Passed" if fused else "Missed",
        decision.rule,
        "fused" if fused else decision.headline or "kept",
        _source(decision.source),
        _function(report.model.path, decision.edge.producer),
        _told(decision),
    )


def _told(decision: Decision) -> Iterator[tuple[str, str]]:
    edge = decision.edge
    yield "Producer", f"{edge.producer.label} ({edge.producer.op})"
    yield "String", " and "
    yield "Consumer", f"{edge.consumer.label} ({edge.consumer.op})"
    if decision.verdict == "fuse":
        form = decision.fused_node
        yield "String", " are fused"
        if form is not None:
            yield "String", " into "
            yield "Fused", f"{form.domain}.{form.op_type}" if form.domain else form.op_type
        yield "String", " by "
        yield "Rule", decision.rule
        return
    yield "String", " are not fused by "
    yield "Rule", decision.rule
    for finding in decision.blockers:
        yield "String", "; "
        yield "Reason", slug(finding)
        yield "String", ": "
        yield "Observed", statement(decision, finding)
        if finding.help:
            yield "String", " help: "
            yield "Help", remedy(finding)


def _of_finding(finding: LintFinding, options: LintOptions) -> str:
    kind = "Analysis"
    if finding.suppressed is None and finding.code in _MISSED:
        kind = "Missed"
    elif finding.suppressed is None and finding.code in _PASSED:
        kind = "Passed"
    where = finding.where
    line = (rooted(where.path, options.folder), where.line, where.column) if where.line else None
    function = finding.model
    if finding.edge is not None:
        function = _function(finding.model, finding.edge.producer)
    return _remark(
        kind,
        finding.rule or "lint",
        finding.code,
        _source(finding.source) or line,
        function,
        _joined(paragraphs(finding)),
    )


def _joined(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs with spaces between them: readers put the pieces end to end."""
    for number, text in enumerate(texts):
        if number:
            yield "String", " "
        yield ("Finding", "Detail")[number > 0], text


def _source(text: str | None) -> tuple[str, int, int] | None:
    found = _SOURCE.fullmatch(text) if text else None
    return (found["file"], int(found["line"]), 0) if found else None


def _function(model: str, node: NodeRef) -> str:
    place = scope(node)
    return f"{model}: {place}" if place else model


def _remark(
    kind: str,
    rule: str,
    name: str,
    where: tuple[str, int, int] | None,
    function: str,
    args: _Args,
) -> str:
    lines = [f"--- !{kind}", f"Pass:            {_text(rule)}", f"Name:            {_text(name)}"]
    if where is not None:
        file, line, column = where
        place = f"File: {_text(file)}, Line: {line}, Column: {column}"
        lines.append(f"DebugLoc:        {{ {place} }}")
    lines += [f"Function:        {_text(function)}", "Args:"]
    lines += [f"  - {key + ':':<15} {_text(value)}" for key, value in args]
    return "\n".join([*lines, "...\n"])


def _text(text: str) -> str:
    return "'" + escape(text).replace("'", "''") + "'"
