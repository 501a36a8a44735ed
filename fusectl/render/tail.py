"""What closes the text: edges without a rule, nodes removed first, notes."""

from __future__ import annotations

from fusectl.render.edges import scope
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count
from fusectl.report.types import Edge, Report

_NAMED = 3
_NOTES = 5


def add_uncovered(sheet: Sheet, report: Report) -> None:
    """List the edges that no rule of the target covers, by operator pair."""
    pairs = sorted(report.uncovered, key=lambda u: (-u.count, u.producer, u.consumer))
    if not pairs:
        return
    sheet.add(("Covered by no rule (no-rule):", "bold"))
    for pair in pairs:
        sheet.add(f"{pair.count}x {pair.producer} -> {pair.consumer}", indent=2)
        for edge in pair.edges:
            sheet.add(_plain(edge), indent=6, hang=2)
        if pair.count > len(pair.edges) > 0:
            sheet.add(f"and {pair.count - len(pair.edges)} more", indent=6)
    sheet.blank()


def _plain(edge: Edge) -> str:
    place = scope(edge.producer)
    return f"{edge.producer.label} -> {edge.consumer.label}" + (f" in {place}" if place else "")


def add_tail(sheet: Sheet, report: Report) -> None:
    """Add the nodes that were removed first and the notes, warnings before the rest."""
    gone = [f"{e.node.op} {e.node.label}" for e in report.eliminated]
    if gone:
        more = [f"{len(gone) - _NAMED} more"] * (len(gone) > _NAMED)
        title = f"{count(len(gone), 'no-op')} removed first: "
        sheet.add_items(title, [*gone[:_NAMED], *more], hang=2)
    notes = sorted(report.notes, key=lambda n: n.level != "warning")
    for note in notes[:_NOTES]:
        style = "bold yellow" if note.level == "warning" else "bold"
        about = "" if not note.subject or note.subject in note.text else f" ({note.subject})"
        sheet.add((f"{note.level}: ", style), f"{note.text}{about}", hang=2)
    if len(notes) > _NOTES:
        sheet.add(f"and {count(len(notes) - _NOTES, 'more note')}")
