"""What the formats of ``lint`` share: titles, paragraphs, places and identities of findings."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator

from fusectl.render.edges import scope
from fusectl.render.names import escape, shorten
from fusectl.report.lint import LintFinding, LintReport, Place
from fusectl.report.types import Edge, NodeRef

ROOM = 160
"""Cells of a title: names of exporters can be longer than any view shows."""


def title(finding: LintFinding) -> str:
    """Return ``fusion-lost: mm -> act (matmul-activation)``, fit for a screen."""
    about = ends(finding.edge) if finding.edge else finding.model
    by = f" ({finding.rule})" if finding.rule else ""
    return shorten(escape(f"{finding.code}: {about}{by}"), ROOM)


def ends(edge: Edge) -> str:
    """Return ``mm -> act``, with the scope outside the main graph."""
    place = scope(edge.producer)
    return f"{edge.producer.label} -> {edge.consumer.label}" + (f" in {place}" if place else "")


def paragraphs(finding: LintFinding) -> list[str]:
    """Return what there is to say: the message, the cause, what helps, how to accept it."""
    parts = [
        _sentence("", finding.message),
        _sentence("cause: ", finding.cause),
        _sentence("help: ", finding.help),
    ]
    if finding.accept:
        parts.append(f"accept: {finding.accept}")
    return [escape(p) for p in parts if p]


def _sentence(label: str, text: str) -> str:
    text = text.strip()
    return f"{label}{text.rstrip('.')}." if text else ""


def place(finding: LintFinding, report: LintReport, folder: str) -> Place:
    """Return a text file and a line from 1 on where a person should look.

    A finding without a place of its own stands at the policy, the lock file or the model.
    """
    where = finding.where
    found = where.path or report.config or report.baseline or finding.model
    line = max(where.line, 1) if where.path else 1
    return Place(rooted(found, folder), line, max(where.column, 0) if where.path else 0)


def rooted(path: str, folder: str) -> str:
    """Return a path of the report as seen from the top of the repository."""
    return posixpath.normpath(posixpath.join(folder, path)) if path else path


def identities(report: LintReport) -> Iterator[tuple[LintFinding, str]]:
    """Yield each finding with an identity that no other has: its fingerprint and an ordinal."""
    seen: Counter[str] = Counter()
    for finding in report.findings:
        seen[finding.fingerprint] += 1
        yield finding, f"{finding.fingerprint}:{seen[finding.fingerprint]}"


def counted(report: LintReport) -> Iterator[LintFinding]:
    """Yield the findings that are not suppressed."""
    return (f for f in report.findings if f.suppressed is None)


def qualified(node: NodeRef, name: str) -> str:
    """Return a name with its scope in front: ``if_12.then_branch::mm``."""
    steps = (f"{s.node}.{s.attr}" if s.node else f"{s.call}:{s.function}" for s in node.graph)
    return "::".join([*steps, name])


def tally(codes: Iterable[str]) -> str:
    """Return ``fusion-lost 3, budget 1``: the most frequent first."""
    found = sorted(Counter(codes).items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{code} {number}" for code, number in found)
