"""The decisions of a large model, alike ones together."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from fusectl.render.causes import Cause, Kept, headline, kind
from fusectl.render.chains import Chain, chains, rows
from fusectl.render.names import edge, escape, globs, pair, shared_path, shorten, without
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count, observation, remedy, slug, told
from fusectl.report.types import Report

_LEAST = 12
"""Cells below which a list of names is not worth starting."""
_INSET = 7


def add_fused(sheet: Sheet, report: Report, rows_shown: int) -> None:
    """Add what fuses: operators, rule and names, one line per kind."""
    found = rows(chains(report.decisions))
    if not found:
        return
    sheet.blank()
    sheet.add((f"✓ FUSE {report.summary.fuse}", "bold green"))
    shown = found[:rows_shown]
    digits = len(str(len(shown[0])))
    ops = max(cell_len(r[0].operators) for r in shown)
    rules = max(cell_len(r[0].rules) for r in shown)
    for row in shown:
        _add_row(sheet, row, digits, min(ops, 40), min(rules, 28))
    rest = found[rows_shown:]
    if rest:
        fusions = sum(len(c.decisions) for row in rest for c in row)
        sheet.add(f"and {count(fusions, 'fusion')} of {count(len(rest), 'other kind')}", indent=2)


def _add_row(sheet: Sheet, row: Sequence[Chain], digits: int, ops: int, rules: int) -> None:
    first = row[0]
    lead = f"  {len(row):>{digits}}x "
    operators = first.operators.ljust(ops)
    rule = first.rules.ljust(rules)
    room = sheet.width - len(lead) - cell_len(operators) - cell_len(rule) - 4
    names = _names(sheet, [c.label for c in row], room) if room >= _LEAST else ""
    sheet.add(lead, operators, "  ", (rule.rstrip() if not names else rule, "cyan"),
              f"  {names}" if names else "", hang=len(lead))  # fmt: skip


def _names(sheet: Sheet, labels: Sequence[str], room: int) -> str:
    """Return as many names as fit, folded where they differ only in numbers."""
    folded = [escape(n, sheet.encoding) for n in globs(labels)]
    text = folded[0] = shorten(folded[0], room - 3 * (len(folded) > 1), sheet.dots)
    for place, name in enumerate(folded[1:], 2):
        longer = f"{text}, {name}"
        if cell_len(longer) + 3 * (place < len(folded)) > room:
            return f"{text}, {sheet.dots}"
        text = longer
    return text


def add_kept(sheet: Sheet, groups: Sequence[Kept], ranked: Sequence[Cause], lines: int) -> None:
    """Add what does not fuse, alike ones together, in at most so many lines."""
    numbers = {c.decisions[0].id: n for n, c in enumerate(ranked, 1)}
    blocks = [
        _Block(sheet, group, numbers.get(group.first.id, 0))
        for group in sorted(groups, key=lambda g: _place(g, numbers))
    ]
    heads = 2 * len({kind(g.first) for g in groups})
    shown = _levels(blocks, lines - heads)
    for state, title, style in (
        ("kept", "✗ KEEP", "bold red"),
        ("unknown", "? UNKNOWN", "bold magenta"),
    ):
        these = [g for g in groups if kind(g.first) == state]
        if these:
            sheet.blank()
            sheet.add((f"{title} {sum(len(g.decisions) for g in these)}", style))
        for block, level in zip(blocks, shown, strict=False):
            if kind(block.group.first) == state:
                sheet.lines.extend(block.lines(level))
    left = [b.group for b in blocks[len(shown) :]]
    if left:
        edges = count(sum(len(g.decisions) for g in left), "more edge")
        causes = count(len(left), "other cause")
        sheet.add(f"and {edges} with {causes}; --full lists every decision", indent=2)


def _place(group: Kept, numbers: dict[str, int]) -> tuple[bool, int, int, int]:
    order = ("fixable", "several", "policy", "machine", "held", "elsewhere")
    late = kind(group.first) == "unknown"
    number = numbers.get(group.first.id, 99)
    return late, order.index(group.fate), number, -len(group.decisions)


def _levels(blocks: Sequence[_Block], lines: int) -> list[int]:
    """Return how much to tell of each block: all that fits, the first ones most."""
    shown = [0] * (len(blocks) if len(blocks) <= lines else max(lines - 1, 3))
    spare = lines - sum(len(b.lines(0)) for b in blocks[: len(shown)]) - (len(shown) < len(blocks))
    for level in (1, 2):
        for place, block in enumerate(blocks[: len(shown)]):
            cost = len(block.lines(level)) - len(block.lines(shown[place]))
            if cost <= spare:
                shown[place] = level
                spare -= cost
    return shown


class _Block:
    """A group of kept decisions, in one line, with an example, or with the cause as well."""

    def __init__(self, sheet: Sheet, group: Kept, number: int) -> None:
        self.group = group
        self._sheet = sheet
        self._number = number
        self._known: dict[int, list[Text]] = {}

    def lines(self, level: int) -> list[Text]:
        if level not in self._known:
            part = Sheet(self._sheet.console)
            self._add(part, level)
            self._known[level] = part.lines
        return self._known[level]

    def _add(self, sheet: Sheet, level: int) -> None:
        first, edges = self.group.first, len(self.group.decisions)
        slugs = " + ".join(dict.fromkeys(slug(f) for f in first.blockers)) or "no finding"
        pairs = list(dict.fromkeys(pair(d) for d in self.group.decisions))
        listed = ", ".join(pairs[:2]) + (", ..." if len(pairs) > 2 else "")
        sheet.add(
            f"{edges:>5}x ",
            (slugs, "cyan"),
            f"  {first.rule}  {listed}",
            (f"  (see {self._number})", "dim") if self._number else "",
            hang=_INSET,
        )
        # What stands above has shown the first one.
        examples = self.group.decisions[1 if self._number else 0 :]
        if level > 0 and examples:
            lead = "also " if self._number else ""
            tail = f" and {len(examples) - 1} more" if len(examples) > 1 else ""
            room = sheet.width - _INSET - len(lead + tail)
            text = edge(examples[0], room, sheet.encoding, ops=False)
            sheet.add(f"{lead}{text}{tail}", indent=_INSET, hang=2)
        if level > 1 and not self._number:
            self._add_cause(sheet)

    def _add_cause(self, sheet: Sheet) -> None:
        first = self.group.first
        home = shared_path([first.edge.producer.label, first.edge.consumer.label])
        for finding in told(first)[:3]:
            said = observation(first, finding)
            sheet.add(f"{without(home, said, sheet.dots)}.", indent=_INSET)
        found = headline(first)
        if self.group.fate == "fixable" and found is not None and found.help:
            helped = without(home, remedy(found), sheet.dots)
            sheet.add(("help: ", "green"), helped, indent=_INSET)
