"""What fuses in a large model: alike chains in one row."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from fusectl.render.chains import Chain, chains, rows
from fusectl.render.names import escape, shorten
from fusectl.render.paths import globs
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count
from fusectl.report.types import Report

_LEAST = 20
"""Cells that a list of names needs to stand beside what it lists; else it takes a line."""
_OPERATORS, _RULES = 34, 20
"""Columns as wide as most operators and rules; longer ones push the names aside."""


def add_fused(sheet: Sheet, report: Report, lines: int) -> None:
    """Add what fuses, operators, rules and names, in at most so many lines."""
    found = rows(chains(report.decisions))
    if not found:
        return
    sheet.blank()
    sheet.add((f"✓ FUSE {sum(d.verdict == 'fuse' for d in report.decisions)}", "bold green"))
    spare = lines - 2
    parts = _parts(sheet, found, below=True)
    if sum(map(len, parts)) > spare:
        parts = _parts(sheet, found, below=False)
    for place, part in enumerate(parts):
        last = place + 1 == len(parts)
        if place and len(part) + (not last) > spare:
            rest = found[place:]
            fusions = count(sum(len(c.decisions) for row in rest for c in row), "fusion")
            sheet.add(f"and {fusions} of {count(len(rest), 'other kind')}", indent=2)
            return
        spare -= len(part)
        sheet.lines.extend(part.lines)


def _parts(sheet: Sheet, found: Sequence[Sequence[Chain]], below: bool) -> list[Sheet]:
    """Return the rows; ``below``: names that have no room beside a row take a line of their own."""
    lead = len(f"  {len(found[0])}x ")
    ops = min(max(len(r[0].operators) for r in found), _OPERATORS)
    rules = min(max(len(r[0].rules) for r in found), _RULES)
    parts = []
    for row in found:
        part = Sheet(sheet.console)
        _add_row(part, row, (lead, ops, rules), below)
        parts.append(part)
    return parts


def _add_row(
    sheet: Sheet, row: Sequence[Chain], columns: tuple[int, int, int], below: bool
) -> None:
    lead, ops, rules = columns
    start = f"{len(row):>{lead - 2}}x {row[0].operators.ljust(ops)}  "
    rule = row[0].rules.ljust(rules)
    room = sheet.width - len(start) - len(rule) - 2
    folded = [escape(n, sheet.encoding) for n in globs(c.label for c in row)]
    if room >= min(_LEAST, cell_len(", ".join(folded))):
        names = _names(folded, room, sheet.dots)
        sheet.add(start, (rule, "cyan"), f"  {names}", hang=lead)
        return
    sheet.add(start, (rule.rstrip(), "cyan"), hang=lead)
    if below:
        sheet.add(_names(folded, sheet.width - lead, sheet.dots), indent=lead)


def _names(folded: Sequence[str], room: int, dots: str) -> str:
    """Return as many names as fit."""
    mark = len(dots) + 2
    text = shorten(folded[0], room - mark * (len(folded) > 1), dots)
    for place, name in enumerate(folded[1:], 2):
        longer = f"{text}, {name}"
        if cell_len(longer) + mark * (place < len(folded)) > room:
            return f"{text}, {dots}"
        text = longer
    return text
