"""What a caller can ask of a renderer."""

from __future__ import annotations

from collections.abc import Callable
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


def _no_page(reason: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class LintOptions:
    """What a caller tells the formats of ``lint``.

    ``page`` returns the Markdown page of a reason, for formats that carry help; it is asked only
    for reasons that were found. ``folder`` is where the report's paths start, as seen from the
    top of the repository, with ``/``; empty where that is the same folder.
    """

    page: Callable[[str], str] = _no_page
    folder: str = ""
