"""The text of an audit: what disagrees, in groups of the same cause, and where to look."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console

from fusectl.render.edges import scope
from fusectl.render.names import ending, escape, share, shorten
from fusectl.render.sheet import Part, Sheet
from fusectl.render.wording import count, observed, slug
from fusectl.report.audit import Audit, AuditedEdge, Witness

_TITLES = {
    "fused-although-illegal": ("✗ FUSED ALTHOUGH ILLEGAL", "bold red"),
    "predicted-not-fused": ("✗ PREDICTED, NOT FUSED", "bold red"),
    "fused-not-predicted": ("✗ FUSED, NOT PREDICTED", "bold yellow"),
}
_WIDTH = 25
_GROUPS = 12
"""Groups of disagreements that are told; ``full`` tells every edge."""
_FINDINGS = 3

Group = list[AuditedEdge]


def render_audit(audit: Audit, console: Console, full: bool = False) -> None:
    """Print an audit for people; ``full`` tells every disagreement by itself."""
    sheet = Sheet(console)
    _add_title(sheet, audit)
    for note in audit.notes:
        sheet.add(("note: ", "bold"), note, hang=6)
    _add_verdict(sheet, audit)
    _add_counts(sheet, audit)
    groups = _groups(audit, full)
    shown = groups if full else groups[:_GROUPS]
    for group in shown:
        _add_group(sheet, group, audit)
    if len(groups) > len(shown):
        left = sum(len(g) for g in groups[len(shown) :])
        sheet.blank()
        sheet.add(f"{count(left, 'further edge')} of other causes; --full shows them")
    sheet.print()


def audit_text(audit: Audit, full: bool = False, width: int = 80) -> str:
    """Return the text for people as a string, without colour."""
    file = io.StringIO()
    render_audit(audit, Console(file=file, width=width, color_system=None), full)
    return file.getvalue()


def _add_title(sheet: Sheet, audit: Audit) -> None:
    target, against = audit.target, audit.against
    told = " ".join(filter(None, (against.title, against.version)))
    told += f", level {against.level}" if against.level else ""
    told += f" (from {against.truth})" if against.truth else ""
    facts = f": {count(audit.model.nodes, 'node')}, target "
    path = ending(escape(audit.model.path, sheet.encoding), max(sheet.width // 2, 16), sheet.dots)
    sheet.add((path, "bold"), facts, (target.id, "bold"), f" v{target.version}", hang=2)
    sheet.add("held against ", (told, "bold"), indent=2, hang=2)


def _add_verdict(sheet: Sheet, audit: Audit) -> None:
    found = audit.summary
    sheet.blank()
    if found.illegal:
        edges = count(found.illegal, "edge")
        sheet.add((f"The compiler fuses {edges} that must not be fused.", "bold red"), hang=2)
        if audit.witness is not None and not audit.witness.differs and not audit.witness.error:
            sheet.add("No input was found that shows it: look at the check first.", indent=2)
    if not found.compared and not found.illegal:
        sheet.add(("Nothing to compare.", "bold"), " No edge between computing nodes was seen.")
    elif found.agreement == 1.0:
        sheet.add((f"All {count(found.compared, 'compared edge')} agree.", "bold green"))
    elif found.compared:
        wrong = found.predicted_not_fused + found.fused_not_predicted
        verb = "disagrees" if wrong == 1 else "disagree"
        sheet.add(
            (f"{wrong} of {count(found.compared, 'compared edge')} {verb}", "bold red"),
            f": agreement {_percent(found.agreement)}, precision {_percent(found.precision)}, "
            f"recall {_percent(found.recall)}.",
            hang=2,
        )


def _percent(value: float | None) -> str:
    return "of nothing" if value is None else f"{100 * value:.1f} %"


def _add_counts(sheet: Sheet, audit: Audit) -> None:
    found, left = audit.summary, audit.summary.not_comparable
    sheet.blank()
    agree = found.fused + found.kept
    rows = [
        ("agree", agree, f"{found.fused} fused, {found.kept} kept"),
        ("predicted but not fused", found.predicted_not_fused, ""),
        ("fused but not predicted", found.fused_not_predicted, ""),
        (
            "fused although illegal",
            found.illegal,
            "left out of the agreement" * bool(found.illegal),
        ),
    ]
    parts = (
        (left.folded, "folded"),
        (left.eliminated, "eliminated"),
        (left.unresolved, "unresolved"),
        (left.moves_data, "only move data"),
        (left.nested, "in bodies and functions"),
    )
    why = ", ".join(f"{number} {word}" for number, word in parts if number)
    rows.append(("not comparable", sum(number for number, _ in parts), why))
    wide = max(len(str(number)) for _, number, _ in rows)
    for title, number, more in rows:
        line = f"{title:<{_WIDTH}}{number:>{wide}}"
        sheet.add((line, "bold"), f"  {more}" if more else "", indent=2, hang=_WIDTH + wide + 2)


def _groups(audit: Audit, full: bool) -> list[Group]:
    """Return disagreements with the same cause together: illegal ones first, then the largest."""
    found: dict[object, Group] = {}
    for place, edge in enumerate(audit.edges):
        if edge.outcome in _TITLES:
            found.setdefault(place if full else _cause(edge), []).append(edge)
    order = list(_TITLES)
    return sorted(found.values(), key=lambda g: (order.index(g[0].outcome), -len(g)))


def _cause(edge: AuditedEdge) -> object:
    """Return what edges share that are told together."""
    if edge.outcome == "fused-although-illegal":
        return edge.decision, edge.node
    ends = edge.edge
    pair = ends.producer.op, ends.consumer.op
    return edge.outcome, pair, edge.rule, edge.headline, edge.kernel


def _add_group(sheet: Sheet, group: Group, audit: Audit) -> None:
    first = group[0]
    title, style = _TITLES[first.outcome]
    times = f" {len(group)}x" if len(group) > 1 else ""
    sheet.blank()
    room = 2 * sheet.width - len(title) - 14
    sheet.add((title + times, style), "  ", (_edge(first, room, sheet), "bold"), hang=2)
    sheet.add(*_said(first), indent=2, hang=2)
    if first.outcome != "predicted-not-fused":
        for finding in first.blockers[:_FINDINGS]:
            sheet.add((slug(finding), "cyan"), f": {observed(finding)}", indent=4, hang=2)
    if first.outcome == "fused-although-illegal" and audit.witness is not None:
        _add_witness(sheet, audit.witness)
    sheet.add(("look at: ", "bold"), ", ".join(first.where), indent=2, hang=9)
    sheet.add(("hint: ", "bold green"), first.hint, indent=2, hang=6)


def _said(edge: AuditedEdge) -> list[Part]:
    """Return what the compiler did and what was decided."""
    ran = f"runs both as {edge.kernel or 'one kernel'}"
    ran += f" ({edge.node})" if edge.node else ""
    did = ran if edge.fate == "fused" else f"keeps {edge.edge.value}"
    parts: list[Part] = [f"the compiler {did}; "]
    if edge.rule is None:
        return [*parts, "no decision is about this edge"]
    if edge.verdict == "fuse":
        return [*parts, (edge.rule, "cyan"), " says fuse"]
    return [*parts, (edge.rule, "cyan"), " says keep, ", (edge.headline or "", "cyan")]


def _add_witness(sheet: Sheet, witness: Witness) -> None:
    if witness.error:
        sheet.add(("witness: ", "bold"), f"none, {witness.error}", indent=2, hang=9)
        return
    if not witness.differs:
        told = f"none on {count(witness.tried, 'input')}: the outputs differ by rounding at most"
        sheet.add(("witness: ", "bold"), told, indent=2, hang=9)
        return
    place = f"{witness.output}[{', '.join(map(str, witness.index))}]"
    a, b = witness.plain, witness.optimised
    gap = f", {abs(a - b):.3g} apart" if a is not None and b is not None else ""
    told = f"{place} is {_number(a)} as the model stands and {_number(b)} optimised{gap}, "
    told += f"for {witness.inputs}"
    kept = f"; the inputs are in {witness.file}" if witness.file else ""
    sheet.add(("witness: ", "bold red"), told + kept, indent=2, hang=9)


def _number(value: float | None) -> str:
    return "no finite number" if value is None else f"{value:.7g}"


def _edge(edge: AuditedEdge, room: int, sheet: Sheet) -> str:
    ends = edge.edge
    nodes = (ends.producer, ends.consumer)
    names = [escape(n.label, sheet.encoding) for n in nodes]
    ops = [f" ({escape(n.op, sheet.encoding)})" for n in nodes]
    place = scope(ends.producer)
    where = f" in {escape(place, sheet.encoding)}" if place else ""
    spent = sum(map(cell_len, ops)) + cell_len(where) + 4
    limits = share([cell_len(n) for n in names], max(room - spent, 16))
    left, right = (shorten(n, r, sheet.dots) for n, r in zip(names, limits, strict=True))
    return f"{left}{ops[0]} -> {right}{ops[1]}{where}"
