"""The decisions of a large model, alike ones together."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from fusectl.render.causes import Cause, Kept, headline, kind
from fusectl.render.chains import Chain, chains, rows
from fusectl.render.names import edge, escape, globs, pair, shared_path, shorten, without
from fusectl.render.sheet import Part, Sheet
from fusectl.render.wording import count, observation, remedy, slug, told
from fusectl.report.types import Finding, Report

_LEAST = 20
"""Cells that a list of names needs to stand beside what it lists; else it takes a line."""
_OPERATORS, _RULES = 34, 20
"""Columns as wide as most operators and rules; longer ones push the names aside."""
_INSET = 7
_TOLD = 3


def add_fused(sheet: Sheet, report: Report, rows_shown: int) -> None:
    """Add what fuses: operators, rule and names, one line per kind."""
    found = rows(chains(report.decisions))
    if not found:
        return
    sheet.blank()
    sheet.add((f"✓ FUSE {report.summary.fuse}", "bold green"))
    shown = found[:rows_shown]
    lead = len(f"  {len(shown[0])}x ")
    ops = min(max(len(r[0].operators) for r in shown), _OPERATORS)
    rules = min(max(len(r[0].rules) for r in shown), _RULES)
    for row in shown:
        _add_row(sheet, row, lead, ops, rules)
    rest = found[rows_shown:]
    if rest:
        fusions = sum(len(c.decisions) for row in rest for c in row)
        sheet.add(f"and {count(fusions, 'fusion')} of {count(len(rest), 'other kind')}", indent=2)


def _add_row(sheet: Sheet, row: Sequence[Chain], lead: int, ops: int, rules: int) -> None:
    """Add one kind of chain; its names stand beside it if there is room, else below."""
    start = f"{len(row):>{lead - 2}}x {row[0].operators.ljust(ops)}  "
    rule = row[0].rules.ljust(rules)
    room = sheet.width - len(start) - len(rule) - 2
    labels = [c.label for c in row]
    if room >= _LEAST:
        sheet.add(start, (rule, "cyan"), f"  {_names(sheet, labels, room)}", hang=lead)
        return
    sheet.add(start, (rule.rstrip(), "cyan"), hang=lead)
    sheet.add(_names(sheet, labels, sheet.width - lead), indent=lead)


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
    numbers = {d.id: n for n, c in enumerate(ranked, 1) for d in c.decisions}
    blocks = [
        _Block(sheet, group, _number(group, numbers))
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
    number = _number(group, numbers) or len(numbers) + 1
    return late, order.index(group.fate), number, -len(group.decisions)


def _number(group: Kept, numbers: dict[str, int]) -> int:
    """Return the number under which a group's cause is told further up, or 0."""
    return next((numbers[d.id] for d in group.decisions if d.id in numbers), 0)


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
        see = f" (see {self._number})" if self._number else ""
        told = len(slugs + see) + len(first.rule) + _INSET + 4
        listed = self._pairs(sheet.width - told)
        sheet.add(f"{edges:>5}x ", (slugs, "cyan"), (see, "dim"), f"  {first.rule}  {listed}",
                  hang=_INSET)  # fmt: skip
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

    def _pairs(self, room: int) -> str:
        """Return the operator pairs, as many as fit but at least one."""
        first, *others = dict.fromkeys(pair(d) for d in self.group.decisions)
        text = first
        for place, other in enumerate(others, 1):
            longer = f"{text}, {other}"
            if len(longer) + 5 * (place < len(others)) > room:
                return f"{text}, ..."
            text = longer
        return text

    def _add_cause(self, sheet: Sheet) -> None:
        first = self.group.first
        home = shared_path([first.edge.producer.label, first.edge.consumer.label])
        findings = self._told()
        for finding in findings:
            said = f"{without(home, observation(first, finding), sheet.dots)}."
            named: Part = (f"{finding.reason}: " if len(findings) > 1 else "", "cyan")
            sheet.add(named, said, indent=_INSET)
        found = headline(first)
        if self.group.fate == "fixable" and found is not None and found.help:
            helped = without(home, remedy(found), sheet.dots)
            sheet.add(("help: ", "green"), helped, indent=_INSET)

    def _told(self) -> list[Finding]:
        """Return the blockers worth a line: of the machine's, not that there is no path."""
        first = self.group.first
        found = list(told(first)[:_TOLD])
        if self.group.fate == "machine":
            found = [f for f in told(first) if f.group == "target"][:_TOLD]
            found = [
                f for f in found if f.reason != "unsupported-op" or first.rule not in f.observed
            ]
        return found
