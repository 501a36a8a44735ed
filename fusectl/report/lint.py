"""What ``lint`` found: the records that its renderers see."""

from __future__ import annotations

from typing import Literal

from fusectl.report.comparison import Answer, Matched
from fusectl.report.types import Edge, Record, Tool

SCHEMA = "fusectl.lint/1"
Severity = Literal["error", "warning", "info"]
Code = Literal[
    "fusion-lost",  # fused in the lock file, not now
    "fusion-gained",  # not fused in the lock file, now it is
    "fusion-changed",  # fused twice, by another rule
    "reason-changed",  # kept twice, for other reasons
    "candidate-new",  # an unfused candidate that the lock file does not have
    "candidate-gone",  # an unfused candidate of the lock file that is no more
    "model-unlocked",  # a model or target without a section in the lock file
    "model-missing",  # a section of the lock file without a model
    "unfused",  # a kept candidate whose reason the policy gives a severity
    "must-fuse",  # an edge the policy demands is not fused, or matches nothing
    "must-not-fuse",  # an edge the policy forbids is fused
    "budget",  # more unfused, or fewer fused, than the policy allows
    "suppression-unused",
    "suppression-expired",
    "model-unusable",  # cannot be read: what explain would exit with 2 for
    "model-crashed",  # the process that explained it died
    "model-timeout",  # it took longer than the limit
]


class Place(Record, frozen=True, gc=False):
    """Where a person can look: a file, with a line (from 1) and column where they are known."""

    path: str
    line: int = 0
    column: int = 0


class Suppression(Record, frozen=True, gc=False):
    """Why a finding does not count. ``expires`` is an ISO date or empty."""

    reason: str
    expires: str
    where: Place


class LintFinding(Record, frozen=True, gc=False):
    """One thing to tell.

    ``message`` is one sentence, ``cause`` what in the model or the table made the difference (or
    empty), ``help`` what to do, ``accept`` the exact command that would accept this one change
    (or empty). ``rule`` and ``reason`` are the fusion rule and the reason slug where there are
    any. ``fingerprint`` stays the same while the finding does, whatever stands elsewhere in the
    model. ``where`` is the line of the model (text formats), the policy or the lock file.
    """

    code: Code
    severity: Severity
    model: str
    target: str
    message: str
    cause: str
    help: str
    accept: str
    rule: str
    reason: str
    edge: Edge | None
    matched: Matched | None
    before: Answer | None
    after: Answer | None
    where: Place
    source: str
    fingerprint: str
    suppressed: Suppression | None = None


class LintedModel(Record, frozen=True, gc=False):
    """One model on one target; ``error`` says why there is no answer."""

    model: str
    target: str
    candidates: int
    fuse: int
    keep: int
    findings: int
    error: str = ""


class LintSummary(Record, frozen=True, gc=False):
    """Counts of findings that are not suppressed, by severity, and of those that are."""

    models: int
    error: int
    warning: int
    info: int
    suppressed: int


class LintReport(Record, frozen=True, gc=False):
    """All that one run of ``lint`` found; paths are relative to the policy's folder, with ``/``."""

    schema: str
    tool: Tool
    config: str
    baseline: str
    summary: LintSummary
    models: tuple[LintedModel, ...]
    findings: tuple[LintFinding, ...]
