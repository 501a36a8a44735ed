"""What differs between two reports: the records of ``compare``, and what ``lint`` builds on."""

from __future__ import annotations

from typing import Literal

from fusectl.report.types import Edge, Finding, Record, Tool, Verdict

SCHEMA = "fusectl.comparison/1"
Matched = Literal["id", "structure", "alignment"]
Kind = Literal["lost", "gained", "reason", "new", "gone", "rule"]


class Side(Record, frozen=True, gc=False):
    """One side of a comparison: a model on a target, or a section of a lock file."""

    label: str
    model: str
    target: str
    version: str
    candidates: int
    fuse: int
    keep: int


class Answer(Record, frozen=True, gc=False):
    """One side's decision about an edge; ``blockers`` are slugs, headline first."""

    id: str
    structure: str
    rule: str
    edge: Edge
    verdict: Verdict
    headline: str | None
    blockers: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


class Change(Record, frozen=True, gc=False):
    """A decision that differs.

    ``lost``: fused before, kept or not decided now; ``gained``: the other way round; ``reason``:
    kept twice for different reasons; ``rule``: fused twice by different rules; ``new`` and
    ``gone``: a kept candidate that only one side has. ``cause`` says in one sentence what in the
    model, the rules or the table made the difference; ``matched`` how the two were recognised as
    the same edge (None where there is only one).
    """

    kind: Kind
    before: Answer | None
    after: Answer | None
    matched: Matched | None
    cause: str


class Cause(Record, frozen=True, gc=False):
    """Changes that share their kind and cause; ``changes`` indexes the comparison's changes."""

    kind: Kind
    cause: str
    changes: tuple[int, ...]


class Comparison(Record, frozen=True, gc=False):
    """Two answers laid side by side. ``matched`` counts pairs by how they were recognised."""

    schema: str
    tool: Tool
    a: Side
    b: Side
    same: int
    matched: dict[str, int]
    changes: tuple[Change, ...]
    causes: tuple[Cause, ...]
    notes: tuple[str, ...] = ()
