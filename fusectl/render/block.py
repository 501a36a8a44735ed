"""One group of decisions that do not fuse, told at three lengths."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from fusectl.render.causes import Kept, headline, told
from fusectl.render.edges import edge, pair
from fusectl.render.paths import shared_path, without
from fusectl.render.sheet import Part, Sheet
from fusectl.render.wording import observation, remedy, slugs
from fusectl.report.types import Finding

_INSET = 7
_TOLD = 3
_LINES = 2
"""Lines for one sentence."""
_NO_PATH = "unsupported-op"


class Block:
    """A group in one line, with an example, or with the causes in words as well.

    ``number`` is where its cause is told further up, ``above`` the decisions shown there.
    """

    def __init__(self, sheet: Sheet, group: Kept, number: int, above: frozenset[str]) -> None:
        """Prepare a group for a sheet like the given one."""
        self.group = group
        self._console = sheet.console
        self._number = number
        self._above = above
        self._known: dict[int, list[Text]] = {}

    def lines(self, level: int) -> list[Text]:
        """Return the lines of a level from 0 (one line) to 2."""
        if level not in self._known:
            part = Sheet(self._console)
            self._add_head(part, 1 if level == 0 else _LINES)
            if level > 0:
                self._add_example(part)
            if level > 1 and not self._number:
                self._add_causes(part)
            self._known[level] = part.lines
        return self._known[level]

    def _add_head(self, sheet: Sheet, most: int) -> None:
        first = self.group.first
        causes = slugs(first)
        see = f" (see {self._number})" if self._number else ""
        lead = f"{len(self.group.decisions):>5}x "
        room = sheet.width - cell_len(f"{lead}{causes}{see}  {first.rule}  ")
        pairs = f"  {first.rule}  {self._pairs(room)}"
        sheet.add(lead, (causes, "cyan"), (see, "dim"), pairs, hang=_INSET, most=most)

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

    def _add_example(self, sheet: Sheet) -> None:
        decisions = self.group.decisions
        fresh = [d for d in decisions if d.id not in self._above]
        if not fresh:
            return
        lead = "also " if len(fresh) < len(decisions) else ""
        tail = f" and {len(fresh) - 1} more" if len(fresh) > 1 else ""
        room = sheet.width - _INSET - len(lead + tail)
        text = edge(fresh[0], room, sheet.encoding, ops=False)
        sheet.add(f"{lead}{text}{tail}", indent=_INSET, hang=2)

    def _add_causes(self, sheet: Sheet) -> None:
        first = self.group.first
        home = shared_path([first.edge.producer.label, first.edge.consumer.label])
        findings = self._told()
        for finding in findings:
            said = f"{without(home, observation(first, finding), sheet.dots)}."
            named: Part = (f"{finding.reason}: " if len(findings) > 1 else "", "cyan")
            sheet.add(named, said, indent=_INSET, most=_LINES)
        found = headline(first)
        if self.group.fate == "fixable" and found is not None and found.help:
            helped = without(home, remedy(found), sheet.dots)
            sheet.add(("help: ", "green"), helped, indent=_INSET, most=_LINES)

    def _told(self) -> list[Finding]:
        """Return the blockers worth a line: of the machine's, not that there is no path."""
        first = self.group.first
        found = list(told(first))
        if self.group.fate == "machine":
            lacking = [f for f in found if f.group == "target"]
            found = [f for f in lacking if f.reason != _NO_PATH or first.rule not in f.observed]
        return found[:_TOLD]
