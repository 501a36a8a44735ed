"""A comparison for people: the sums, then the changes by cause."""

from __future__ import annotations

import io
from collections import Counter

from rich.console import Console

from fusectl.render.changes import ends, grep_edge, state
from fusectl.render.names import escape
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count
from fusectl.report.comparison import Answer, Cause, Change, Comparison, Kind, Side

_SHOWN = 3
"""Changes of one cause that are shown; the other formats have all."""
_TITLES: dict[Kind, tuple[str, str]] = {
    "lost": ("Fusions lost", "bold red"),
    "gained": ("Fusions gained", "bold green"),
    "rule": ("Fused by another rule", "bold yellow"),
    "reason": ("Kept for other reasons", "bold yellow"),
    "new": ("New candidates that do not fuse", "bold"),
    "gone": ("Candidates that did not fuse and are gone", "bold"),
}


def render_comparison_text(comparison: Comparison, console: Console) -> None:
    """Print a comparison for people."""
    sheet = Sheet(console)
    _add_head(sheet, comparison)
    if not comparison.changes:
        sheet.blank()
        sheet.add(("Every decision is the same.", "bold green"))
    for kind, (title, style) in _TITLES.items():
        causes = [c for c in comparison.causes if c.kind == kind]
        if causes:
            sheet.blank()
            sheet.add((f"{title}: {sum(len(c.changes) for c in causes)}", style))
        for cause in causes:
            _add_cause(sheet, comparison, cause)
    sheet.trim()
    sheet.print()


def to_comparison_text(comparison: Comparison, width: int = 80) -> str:
    """Return the text for people as a string, without colour."""
    file = io.StringIO()
    render_comparison_text(comparison, Console(file=file, width=width, color_system=None))
    return file.getvalue()


def to_comparison_concise(comparison: Comparison) -> str:
    """Return one line per change, made for grep."""
    return "".join(f"{escape(_line(comparison, c))}\n" for c in comparison.changes)


def _line(comparison: Comparison, change: Change) -> str:
    answer = _told(change)
    head = f"{comparison.b.label}: {grep_edge(answer.edge)}: {change.kind}"
    way = f"{state(change.before)} -> {state(change.after)}"
    return f"{head}: {way} {answer.rule}: {change.cause}"


def _told(change: Change) -> Answer:
    found = change.after or change.before
    assert found is not None, "a change has a side"
    return found


def _add_head(sheet: Sheet, comparison: Comparison) -> None:
    a, b = comparison.a, comparison.b
    sheet.add((f"{a.label} -> {b.label}", "bold"), _common(a, b), hang=2)
    for note in comparison.notes:
        sheet.add(note, indent=2, hang=2)
    sheet.blank()
    counts = Counter(c.kind for c in comparison.changes)
    total = f"{count(len(comparison.changes), 'change')}, {comparison.same} the same"
    sheet.add_items(
        f"{total}: " if counts else total, (f"{k} {counts[k]}" for k in _TITLES if counts[k])
    )
    sheet.add(f"fused: {a.fuse} of {a.candidates} -> {b.fuse} of {b.candidates}", indent=2)
    ways = ", ".join(f"{n} by {way}" for way, n in comparison.matched.items())
    sheet.add(f"matched: {ways or 'none'}", indent=2)


def _common(a: Side, b: Side) -> str:
    """Return what both sides share and their labels do not say."""
    shared = []
    if a.target == b.target and a.target not in (a.label, b.label):
        shared.append(f"target {b.target}")
    if a.model == b.model and a.model not in (a.label, b.label):
        shared.append(a.model)
    return "".join(f", {s}" for s in shared)


def _add_cause(sheet: Sheet, comparison: Comparison, cause: Cause) -> None:
    changes = [comparison.changes[i] for i in cause.changes]
    sheet.add(f"{len(changes):>3}x ", (cause.cause, "cyan"), hang=5)
    for change in changes[:_SHOWN]:
        answer = _told(change)
        tail = f"  {answer.rule}"
        room = sheet.width - 5 - len(tail)
        sheet.add(f"{ends(answer.edge, room, sheet.encoding)}{tail}", indent=5, hang=2)
        if change.kind not in ("lost", "gained") or change.matched is None:
            way = f"{state(change.before)} -> {state(change.after)}"
            sheet.add((way, "dim"), indent=7, hang=2)
        sheet.add(f"{change.cause}.", indent=7, hang=2)
    if len(changes) > _SHOWN:
        sheet.add(f"and {len(changes) - _SHOWN} more", indent=5)
