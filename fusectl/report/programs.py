"""What fusions change in a program, to the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusectl.report.types import Cost, Instructions, Programs

if TYPE_CHECKING:
    from fusectl.lower.difference import Difference, Lines
    from fusectl.lower.tally import Tally


def instructions(lines: Lines | None) -> Instructions | None:
    """Return the record of a decision's instructions, None where nobody asked."""
    if lines is None:
        return None
    return Instructions(lines.before, lines.after, lines.would, lines.trouble)


def programs(found: Difference) -> Programs:
    """Return the record of the whole program."""
    return Programs(_cost(found.unfused), _cost(found.fused), found.trouble, found.kind)


def _cost(found: Tally | None) -> Cost | None:
    if found is None:
        return None
    return Cost(
        found.calls,
        found.names,
        found.moved,
        found.peak,
        found.unknown_moved,
        found.unknown_peak,
    )
