"""One decision in full: the edge, what stands between, every blocker or every finding."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from fusectl.render.causes import KINDS, alike, kind, told
from fusectl.render.chains import form_of
from fusectl.render.difference import add_instructions
from fusectl.render.edges import edge
from fusectl.render.sheet import Part, Sheet
from fusectl.render.wording import count, observed, remedy, slug, statement
from fusectl.report.types import Decision, Finding, Report

_MARKS = {
    "fused": ("✓ FUSE", "bold green"),
    "kept": ("✗ KEEP", "bold red"),
    "unknown": ("? UNKNOWN", "bold magenta"),
}
_SIGNS = {"pass": ("✓", "green"), "fail": ("✗", "red"), "unknown": ("?", "magenta")}


def add_single(sheet: Sheet, decision: Decision, report: Report, why: bool) -> None:
    """Add one decision; ``why`` shows the findings that passed too."""
    mark, style = _MARKS[kind(decision)]
    sheet.blank()
    room = 2 * sheet.width - len(mark) - 12  # it may take two lines
    sheet.add((mark, style), "  ", (edge(decision, room, sheet.encoding), "bold"), hang=2)
    sheet.add(*_about(decision, report), indent=2, hang=2)
    if why:
        _add_tree(sheet, decision)
        add_instructions(sheet, decision, report)
        return
    for finding in told(decision):
        _add_finding(sheet, decision, finding)
    if decision.verdict == "fuse":
        _add_notes(sheet, decision)
    add_instructions(sheet, decision, report)


def _add_finding(sheet: Sheet, decision: Decision, finding: Finding) -> None:
    """Add a blocker; its help stands on the same line only if all of it fits there."""
    said: list[Part] = [(slug(finding), "cyan"), f": {statement(decision, finding)}"]
    helped: list[Part] = [("help: ", "bold green"), remedy(finding)] if finding.help else []
    more = alike(decision, finding)
    whole = "".join(p if isinstance(p, str) else p[0] for p in (*said, " ", *helped))
    if helped and not more and cell_len(sheet.fit(whole, sheet.width)) <= sheet.width - 2:
        sheet.add(*said, " ", *helped, indent=2)
        return
    sheet.add(*said, indent=2, hang=2)
    if more:
        sheet.add(more, indent=4)
    if helped:
        sheet.add(*helped, indent=4)


def _add_notes(sheet: Sheet, decision: Decision) -> None:
    """Add how a requirement holds, where that is worth reading."""
    for finding in decision.findings:
        if finding.status == "pass" and finding.subject:
            sheet.add((slug(finding), "cyan"), f": {observed(finding)}", indent=2, hang=2)


def _about(decision: Decision, report: Report) -> list[Part]:
    """Return the rule, the form it makes, what it removes, what it builds on, its source."""
    parts: list[Part] = [(decision.rule, "cyan")]
    if decision.verdict == "fuse":
        form = form_of(decision)
        parts.append(f" makes {form}" if form else "")
        written = decision.materialises
        gone = [v for v in decision.swallows if v not in written]
        parts += [_values(gone, "no longer stored"), _values(written, "still written")]
    else:
        parts.append(f" on {decision.edge.value}, {count(len(decision.blockers), 'blocker')}")
    parts.extend(f"; builds on {text}" for text in _bases(decision, report))
    if decision.source:
        parts.append((f"; {decision.source}", "dim"))
    return parts


def _values(values: Sequence[str], what: str) -> str:
    if not values:
        return ""
    return f"; {', '.join(values)} {'is' if len(values) == 1 else 'are'} {what}"


def _bases(decision: Decision, report: Report) -> list[str]:
    """Return the groups that a decision builds on; the last one of a chain tells it whole."""
    wanted = set(decision.builds_on)
    bases = [d for d in report.decisions if d.id in wanted]
    inner = {i for d in bases for i in d.builds_on}
    return [
        f"{' + '.join(n.label for n in d.nodes)} ({d.rule})" for d in bases if d.id not in inner
    ]


def _add_tree(sheet: Sheet, decision: Decision) -> None:
    """Add all findings as a tree: blockers in full, telling passes in short, others together."""
    plain = [f for f in decision.findings if f.status == "pass" and not f.subject]
    told = [f for f in decision.findings if f.status != "pass" or f.subject]
    for place, finding in enumerate(told, 1):
        last = place == len(told) and not plain
        fork, rail = ("  └─ ", "     ") if last else ("  ├─ ", "  │  ")
        if finding.status == "pass":
            sheet.add(*_passed(finding), lead=fork, rail=rail, hang=2)
            continue
        meaning = KINDS.get(finding.group, finding.group)
        where: Part = (f"  {finding.where}" if finding.where else "", "dim")
        sheet.add(*_named(finding), f" ({meaning})", where, lead=fork, rail=rail, hang=2)
        for name, text in (
            ("required", finding.required),
            ("observed", observed(finding)),
            ("help", finding.help),
        ):
            if text:
                sheet.add((f"{name:<10}", "dim"), text, lead=rail, indent=2, hang=10)
    if plain:
        slugs = ", ".join(dict.fromkeys(slug(f) for f in plain))
        parts: list[Part] = [_SIGNS["pass"], " ", ("checked and fine: ", "dim"), slugs]
        sheet.add(*parts, lead="  └─ ", rail="     ", hang=2)


def _named(finding: Finding) -> list[Part]:
    return [_SIGNS[finding.status], " ", (slug(finding), "cyan")]


def _passed(finding: Finding) -> list[Part]:
    facts = [t for t in (finding.required, finding.observed and observed(finding)) if t]
    where = f"  {finding.where}" if finding.where else ""
    return [*_named(finding), f": {'; '.join(facts)}" if facts else "", (where, "dim")]
