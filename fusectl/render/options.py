"""What a caller can ask of a renderer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How much to show, and for whom.

    ``why`` shows every finding of every decision, passes too; ``full`` aggregates nothing;
    ``uncovered`` lists the edges that no rule covers; ``default_target`` says that nobody chose
    the target. ``width`` serves text that goes to a string instead of a console.
    """

    why: bool = False
    full: bool = False
    uncovered: bool = False
    default_target: bool = False
    width: int = 80
