"""Markdown for a pull request: the summary, the causes to fix, the details folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fusectl.render.causes import Cause, Kept, fixes, headline, kept_groups
from fusectl.render.chains import chains, rows
from fusectl.render.edges import edge
from fusectl.render.markdown_difference import differences
from fusectl.render.markup import ROOM, code, folded, prose
from fusectl.render.matters import first_causes, heading, tally
from fusectl.render.options import Options
from fusectl.render.paths import globs
from fusectl.render.summary import opset, reasons_by_kind, uncovered
from fusectl.render.wording import count, remedy, slug, statement
from fusectl.report.types import Report

_GROUPS = 100
_NAMED = 6


def to_markdown(report: Report, options: Options) -> str:
    """Return the report for a pull-request comment."""
    groups = kept_groups(report.decisions)
    top = first_causes(fixes(groups), None if options.full else 3)
    parts = [_head(report, options), *_table(report), *_causes(top), *_others(groups)]
    parts += _fused(report)
    parts += _kept(groups, None if options.full else _GROUPS)
    parts += differences(report, options.full)
    parts += _notes(report)
    return "\n\n".join(p for p in parts if p) + "\n"


def _head(report: Report, options: Options) -> str:
    target = f"{report.target.id} {report.target.version}"
    chosen = " (default)" if options.default_target else ""
    return (
        f"### Fusion of {code(report.model.path)} on {code(target)}{chosen}\n\n"
        f"{count(report.model.nodes, 'node')}, {prose(opset(report))}"
    )


def _table(report: Report) -> Iterator[str]:
    summary = report.summary
    if not summary.candidates:
        yield f"**No candidate:** no rule of {code(report.target.id)} has a place in this model."
    else:
        yield (
            "| candidates | fuse | keep | of them unknown |\n|---:|---:|---:|---:|\n"
            f"| {summary.candidates} | {summary.fuse} | {summary.keep} | {summary.unknown} |"
        )
    reasons = "\n".join(
        f"| {kind} | {code(name, cell=True)} | {number} |"
        for kind, found in reasons_by_kind(report)
        for name, number in found
    )
    if reasons:
        yield f"| kind | reason | edges |\n|---|---|---:|\n{reasons}"
    if summary.uncovered_edges:
        yield f"No rule covers {prose(', '.join(uncovered(report)))}".rstrip(".") + "."


def _causes(top: Sequence[Cause]) -> Iterator[str]:
    if not top:
        return
    yield f"**{heading(top)}:**"
    yield "\n".join(f"{number}. {_cause(cause)}" for number, cause in enumerate(top, 1))


def _cause(cause: Cause) -> str:
    finding, first = cause.finding, cause.decisions[0]
    edges = count(len(cause.decisions), "edge") + " like " if len(cause.decisions) > 1 else ""
    text = prose(statement(first, finding, where=False))
    lines = [f"**{slug(finding)}**: {edges}{code(edge(first, ROOM))}", text]
    if finding.help:
        lines.append(f"**help:** {prose(remedy(finding))}")
    return "<br>\n   ".join(lines)


def _others(groups: Sequence[Kept]) -> Iterator[str]:
    machine = [d for g in groups if g.fate == "machine" for d in g.decisions]
    if machine:
        listed = ", ".join(tally(machine, "machine"))
        yield f"No change to the model helps: {count(len(machine), 'candidate')} ({listed})."


def _fused(report: Report) -> Iterator[str]:
    found = rows(chains(report.decisions))
    if not found:
        return
    lines = "\n".join(
        f"| {len(row)} | {code(row[0].operators, cell=True)} | {code(row[0].rules, cell=True)} "
        f"| {_names([c.label for c in row])} |"
        for row in found
    )
    table = f"| count | operators | rule | where |\n|---:|---|---|---|\n{lines}"
    yield folded(f"What fuses ({report.summary.fuse})", table)


def _names(labels: Sequence[str]) -> str:
    folded = globs(labels)
    more = f" and {len(folded) - _NAMED} more" if len(folded) > _NAMED else ""
    return ", ".join(code(n, cell=True) for n in folded[:_NAMED]) + more


def _kept(groups: Sequence[Kept], most: int | None) -> Iterator[str]:
    if not groups:
        return
    ranked = sorted(groups, key=lambda g: -len(g.decisions))
    lines = [_group(g) for g in ranked[:most]]
    if len(ranked) > len(lines):
        lines.append(f"- and {count(len(ranked) - len(lines), 'other cause')}")
    edges = sum(len(g.decisions) for g in groups)
    yield folded(f"What does not, and why ({edges})", "\n".join(lines))


def _group(group: Kept) -> str:
    first, found = group.first, headline(group.first)
    slugs = " + ".join(dict.fromkeys(slug(f) for f in first.blockers))
    more = f" and {len(group.decisions) - 1} more" if len(group.decisions) > 1 else ""
    told = statement(first, found) if found else ""
    text = f"- {len(group.decisions)}x **{slugs}** {code(first.rule)}: {code(edge(first, ROOM))}"
    return f"{text}{more}<br>\n  {prose(told)}"


def _notes(report: Report) -> Iterator[str]:
    notes = sorted(report.notes, key=lambda n: n.level != "warning")
    if notes:
        yield "\n".join(f"- {n.level}: {prose(n.text)}" for n in notes)
