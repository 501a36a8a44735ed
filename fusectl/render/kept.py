"""What does not fuse in a large model: identical causes together, within a number of lines."""

from __future__ import annotations

from collections.abc import Sequence

from fusectl.render.block import Block
from fusectl.render.causes import Cause, Kept, kind
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count

_HEADS = (("kept", "✗ KEEP", "bold red"), ("unknown", "? UNKNOWN", "bold magenta"))
_FEWEST = 3
"""Groups that are shown however short of lines the text is."""


def add_kept(sheet: Sheet, groups: Sequence[Kept], ranked: Sequence[Cause], lines: int) -> None:
    """Add what does not fuse, in at most so many lines."""
    numbers = {d.id: n for n, c in enumerate(ranked, 1) for d in c.decisions}
    told = frozenset(c.decisions[0].id for c in ranked)
    blocks = [
        Block(sheet, group, _number(group, numbers), told)
        for group in sorted(groups, key=lambda g: _place(g, numbers))
    ]
    heads = 2 * len({kind(g.first) for g in groups})
    shown = _levels(blocks, lines - heads)
    for state, title, style in _HEADS:
        these = [
            (b, n) for b, n in zip(blocks, shown, strict=False) if kind(b.group.first) == state
        ]
        if not these:
            continue
        number = sum(len(g.decisions) for g in groups if kind(g.first) == state)
        sheet.blank()
        sheet.add((f"{title} {number}", style))
        for block, level in these:
            sheet.lines.extend(block.lines(level))
    left = [b.group for b in blocks[len(shown) :]]
    if left:
        edges = count(sum(len(g.decisions) for g in left), "more edge")
        causes = count(len(left), "other cause")
        sheet.add(f"and {edges} with {causes}; --full lists every decision", indent=2)


def _place(group: Kept, numbers: dict[str, int]) -> tuple[bool, bool, int, int]:
    late = kind(group.first) == "unknown"
    number = _number(group, numbers) or len(numbers) + 1
    return late, group.fate != "fixable", number, -len(group.decisions)


def _number(group: Kept, numbers: dict[str, int]) -> int:
    """Return the number under which a group's cause is told further up, or 0."""
    return next((numbers[d.id] for d in group.decisions if d.id in numbers), 0)


def _levels(blocks: Sequence[Block], lines: int) -> list[int]:
    """Return how much to tell of each block: all that fits, the first ones most."""
    shown: list[int] = []
    spare = lines
    for place, block in enumerate(blocks):
        cost = len(block.lines(0))
        if place >= _FEWEST and cost + (place + 1 < len(blocks)) > spare:
            break
        spare -= cost
        shown.append(0)
    spare -= len(shown) < len(blocks)
    for level in (1, 2):
        for place, block in enumerate(blocks[: len(shown)]):
            cost = len(block.lines(level)) - len(block.lines(shown[place]))
            if cost <= spare:
                shown[place] = level
                spare -= cost
    return shown
