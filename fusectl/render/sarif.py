"""SARIF 2.1.0, as the standard says and as GitHub code scanning shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from fusectl.render import sarif_types as sarif
from fusectl.render.lint_codes import CODES
from fusectl.render.lint_words import identities, paragraphs, place, qualified, rooted
from fusectl.render.machine import visible
from fusectl.render.names import escape
from fusectl.render.options import LintOptions
from fusectl.report.lint import LintFinding, LintReport, Place, Severity, Suppression
from fusectl.report.types import NodeRef

_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_WORDS = re.compile(r"[-/]")
_HEADING = re.compile(r"^#+ *", re.MULTILINE)
_LINK = re.compile(r"\]\(")


def to_sarif(report: LintReport, options: LintOptions) -> bytes:
    """Return what ``lint`` found as a SARIF log with one run, in the report's order."""
    kinds = {_rule_id(f): f for f in reversed(report.findings)}
    ids = sorted(kinds)
    rules = tuple(_rule(name, kinds[name], options) for name in ids)
    indices = {name: index for index, name in enumerate(ids)}
    results = tuple(_results(report, indices, options))
    top = _text("The top of the repository.")
    run = sarif.Run(
        sarif.Tool(sarif.Driver(report.tool.name, report.tool.version, report.tool.version, rules)),
        # What stands before the last slash is GitHub's category: two policies, two categories.
        sarif.Automation(f"fusectl/{escape(rooted(report.config, options.folder))}/"),
        (_invocation(report),),
        {sarif.ROOT: sarif.ArtifactLocation(description=top)},
        "unicodeCodePoints",
        results,
    )
    log = sarif.Log(sarif.SCHEMA, sarif.VERSION, (run,))
    return visible(msgspec.json.format(msgspec.json.encode(log), indent=2)) + b"\n"


def _rule_id(finding: LintFinding) -> str:
    """Return the code; of a kept edge with its reason, because the help is that of the reason."""
    if finding.code == "unfused" and finding.reason:
        return f"{finding.code}/{finding.reason}"
    return finding.code


def _rule(name: str, example: LintFinding, options: LintOptions) -> sarif.Rule:
    meaning = CODES[example.code]
    reason = name.partition("/")[2]
    page = options.page(reason).strip() if reason else ""
    short = f"{meaning.short}: {reason}" if reason else meaning.short
    plain = _HEADING.sub("", page) if page else meaning.full
    # Help takes no arguments, and readers show its code as it is: braces are not doubled.
    return sarif.Rule(
        name,
        "".join(w.capitalize() for w in _WORDS.split(name)),
        _text(short),
        _text(meaning.full),
        sarif.Message(plain, page or meaning.full),
        sarif.Configuration(_LEVELS[meaning.usual]),
        {"tags": ("fusion", *([reason] if reason else []))},
    )


def _results(
    report: LintReport, indices: dict[str, int], options: LintOptions
) -> Iterator[sarif.Result]:
    for finding, identity in identities(report):
        name = _rule_id(finding)
        where = place(finding, report, options.folder)
        held = finding.suppressed
        yield sarif.Result(
            name,
            indices[name],
            _LEVELS[finding.severity],
            _text("\n".join(paragraphs(finding))),
            (
                sarif.Location(
                    physical_location=_physical(where), logical_locations=_logical(finding)
                ),
            ),
            # GitHub matches alerts by the second one alone. Left to itself it would hash the
            # line, and merge all findings about a model that stand at one line of the lock file.
            {"fusectlFinding/v1": identity, "primaryLocationLineHash": identity},
            (_suppression(held, options.folder),) if held is not None else (),
            _related(finding, options.folder),
            _properties(finding),
        )


def _physical(where: Place) -> sarif.PhysicalLocation:
    region = sarif.Region(max(where.line, 1), where.column) if where.line else None
    return sarif.PhysicalLocation(_artifact(where.path), region)


def _artifact(path: str) -> sarif.ArtifactLocation:
    """Return a path as a relative URI; one that leaves the repository has no base."""
    uri = quote(path.encode("utf-8", "backslashreplace"), safe="/")
    outside = path.startswith(("/", "../"))
    return sarif.ArtifactLocation(uri, "" if outside else sarif.ROOT)


def _logical(finding: LintFinding) -> tuple[sarif.LogicalLocation, ...]:
    """Return the value and the two nodes; a tensor is a variable, a node has no standard kind."""
    if finding.edge is None:
        return ()
    ends = finding.edge
    value = sarif.LogicalLocation(
        escape(ends.value), escape(qualified(ends.producer, ends.value)), "variable"
    )
    # The standard wants no two alike, and names may be repeated.
    return tuple(dict.fromkeys((value, _node(ends.producer), _node(ends.consumer))))


def _node(node: NodeRef) -> sarif.LogicalLocation:
    return sarif.LogicalLocation(escape(node.label), escape(qualified(node, node.label)), "node")


def _suppression(held: Suppression, folder: str) -> sarif.Suppression:
    where = Place(rooted(held.where.path, folder), held.where.line, held.where.column)
    return sarif.Suppression(
        "external",
        "accepted",
        escape(held.reason),
        sarif.Location(physical_location=_physical(where)),
        {"expires": escape(held.expires)} if held.expires else {},
    )


def _related(finding: LintFinding, folder: str) -> tuple[sarif.Location, ...]:
    if not finding.model:
        return ()
    where = _physical(Place(rooted(finding.model, folder)))
    return (sarif.Location(1, where, message=_text("the model")),)


def _properties(finding: LintFinding) -> dict[str, str]:
    facts = {
        "model": finding.model,
        "target": finding.target,
        "rule": finding.rule,
        "reason": finding.reason,
        "matchedBy": finding.matched or "",
        "accept": finding.accept,
        "source": finding.source,
    }
    return {key: escape(value) for key, value in facts.items() if value}


def _invocation(report: LintReport) -> sarif.Invocation:
    failed = [m for m in report.models if m.error]
    told = tuple(
        sarif.Notification("error", _text(escape(f"{m.model}: {m.error}"))) for m in failed
    )
    return sarif.Invocation(not failed, told)


def _text(text: str) -> sarif.Message:
    """Return a plain message; in one, ``[a](b)`` would be a link."""
    return sarif.Message(_LINK.sub("] (", _braces(text)))


def _braces(text: str) -> str:
    """Return text whose braces are no placeholders (section 3.11.5 of the standard)."""
    return text.replace("{", "{{").replace("}", "}}")
