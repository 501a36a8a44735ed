"""The lock file's contents, and what of an account goes into it.

It holds what a review needs to judge a change and a comparison to tell its cause: who fuses with
whom by which rule, what stands in the way of the others, the ``id`` and the ``structure`` of each
decision. No ordinal that shifts, no line number and no version of the program stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from fusectl.compare.account import Account, slugs
from fusectl.compare.cause import plain
from fusectl.errors import Span
from fusectl.reasons import REASONS
from fusectl.report.comparison import Answer
from fusectl.report.types import Edge, Finding, NodeRef, StepRecord
from fusectl.yamlsrc.reader import Spanned

VERSION = 1
_LONG = 160
"""Characters of an observation that are kept."""
DIGITS = 16
"""Hexadecimal digits of a model's digest that are kept."""


@dataclass(frozen=True, slots=True)
class LockedDecision:
    """One decision. ``from_`` and ``to`` are operator, name and first output of a node.

    ``value`` is what the producer makes where that is not its first output, ``in_`` the steps
    into a body or function, ``why`` what was observed by reason.
    """

    span: Span
    from_: tuple[str, ...] = field(metadata={"key": "from"})
    to: tuple[str, ...]
    id: str
    structure: str
    fuse: str = ""
    keep: str = ""
    value: str = ""
    in_: tuple[dict[str, str], ...] = field(default=(), metadata={"key": "in"})
    why: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """The decisions about one model on one target; ``model`` is the beginning of its SHA-256."""

    span: Span
    model: Spanned[str]
    opset: dict[str, int]
    decisions: tuple[LockedDecision, ...]


@dataclass(frozen=True, slots=True)
class LockedTarget:
    """The target and rules as they were: a version and a digest."""

    version: str
    tables: str


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file."""

    lock: Spanned[int]
    targets: dict[str, LockedTarget]
    models: dict[str, dict[str, Section]]


def section(account: Account) -> Section:
    """Return what the lock file keeps of an account."""
    return Section(
        Span(""),
        Spanned(account.sha256[:DIGITS], Span("")),
        {name or "ai.onnx": version for name, version in sorted(account.opset.items())},
        tuple(map(locked, account.answers)),
    )


def locked(answer: Answer) -> LockedDecision:
    """Return what the lock file keeps of a decision."""
    edge = answer.edge
    producer, consumer = edge.producer, edge.consumer
    fused = answer.verdict == "fuse"
    return LockedDecision(
        Span(""),
        (producer.op, producer.name, producer.output),
        (consumer.op, consumer.name, consumer.output),
        answer.id,
        answer.structure,
        answer.rule if fused else "",
        "" if fused else answer.rule,
        "" if edge.value == producer.output else edge.value,
        tuple(_stated(step) for step in consumer.graph),
        {slug: _observed(answer.findings, slug) for slug in answer.blockers},
    )


def _stated(step: StepRecord) -> dict[str, str]:
    names = ("node", "attr", "function", "call")
    return {name: value for name in names if (value := getattr(step, name))}


def _observed(findings: Iterable[Finding], slug: str) -> str:
    status = "unknown" if slug.endswith("?") else "fail"
    found = (f for f in findings if f.reason == slug.rstrip("?") and f.status == status)
    text = " ".join("; ".join(dict.fromkeys(plain(f.observed) for f in found)).split())
    return text if len(text) <= _LONG else f"{text[: _LONG - 3].rstrip()}..."


def unlocked(path: str, target: str, found: Section, tables: LockedTarget | None) -> Account:
    """Return a section as an account, as far as it was kept."""
    return Account(
        path,
        found.model.value,
        {"" if name == "ai.onnx" else name: version for name, version in found.opset.items()},
        0,
        target,
        tables.version if tables else "",
        tables.tables if tables else "",
        tuple(map(answer, found.decisions)),
    )


def answer(entry: LockedDecision) -> Answer:
    """Return a decision of the lock file."""
    steps = tuple(StepRecord(**step) for step in entry.in_)
    findings = tuple(_finding(slug, text) for slug, text in entry.why.items())
    headline = next((f.reason for f in findings), None)
    return Answer(
        entry.id,
        entry.structure,
        entry.fuse or entry.keep,
        Edge(entry.value or entry.from_[2], _node(entry.from_, steps), _node(entry.to, steps)),
        "fuse" if entry.fuse else "keep",
        headline,
        slugs(headline, ((f.reason, f.status) for f in findings)),
        findings,
    )


def _finding(slug: str, observed: str) -> Finding:
    reason = slug.rstrip("?")
    status = "unknown" if slug.endswith("?") else "fail"
    return Finding(reason, REASONS[reason].group, status, "", "", observed, "", "")  # type: ignore[arg-type]


def _node(parts: tuple[str, ...], steps: tuple[StepRecord, ...]) -> NodeRef:
    domain, _, op_type = parts[0].rpartition(".")
    return NodeRef(parts[1], op_type, domain, parts[2], steps)


_NODE_PARTS = 3
_STEP = frozenset({"node", "attr", "function", "call"})
_HEX = re.compile(r"[0-9a-f]+\Z")


def mistake(entry: LockedDecision) -> str:
    """Return what is wrong with an entry that somebody edited by hand, or nothing."""
    if bool(entry.fuse) == bool(entry.keep):
        return "a decision is either fuse or keep"
    if len(entry.from_) != _NODE_PARTS or len(entry.to) != _NODE_PARTS:
        return "from and to are [operator, name, output]"
    unknown = [slug for slug in entry.why if slug.rstrip("?") not in REASONS]
    if unknown:
        return f"unknown reason {unknown[0]}"
    if any(set(step) - _STEP for step in entry.in_):
        return "a step of in has the keys node and attr, or function and call"
    if not _HEX.match(entry.id) or not _HEX.match(entry.structure):
        return "id and structure are hexadecimal digits"
    return "a keep says why" if entry.keep and not entry.why else ""
