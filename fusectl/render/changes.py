"""Changes of decisions in words: what ``compare`` and ``lint`` say alike."""

from __future__ import annotations

from fusectl.render.edges import chain, scope
from fusectl.report.comparison import Answer
from fusectl.report.types import Edge


def state(answer: Answer | None, most: int = 3) -> str:
    """Return a decision in a few words: ``fuse``, ``keep [clip, shape?]``, ``no candidate``."""
    if answer is None:
        return "no candidate"
    if answer.verdict == "fuse":
        return "fuse"
    shown = answer.blockers
    if len(shown) > most + 1:
        shown = (*shown[:most], f"{len(shown) - most} more")
    return f"keep [{', '.join(shown)}]"


def ends(edge: Edge, room: int, encoding: str = "utf-8") -> str:
    """Return ``head (MatMul) -> score (Sigmoid)``, cut to fit ``room``."""
    return chain((edge.producer, edge.consumer), room, encoding)


def grep_edge(edge: Edge) -> str:
    """Return ``logits -> score`` after its scope, as one line per decision has it."""
    place = scope(edge.producer)
    return f"{place + ': ' if place else ''}{edge.value} -> {edge.consumer.label}"
