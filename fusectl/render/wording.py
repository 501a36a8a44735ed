"""Sentences: findings, counts, near misses."""

from __future__ import annotations

import re

from fusectl.report.types import Decision, Finding

_COUNTED = re.compile(r"\d+ of \d+ nodes match; ")
_GAPS = 2
"""Nodes of a near miss that are told; with many more of them it is another function."""
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def count(number: int, noun: str) -> str:
    """Return ``1 edge``, ``2 edges``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def spelled(number: int) -> str:
    """Return a small number as a word."""
    return _SMALL[number] if number < len(_SMALL) else str(number)


def slug(finding: Finding) -> str:
    """Return the reason, marked where it is not known whether it blocks."""
    return f"{finding.reason} (unknown)" if finding.status == "unknown" else finding.reason


def slugs(decision: Decision, most: int = 3) -> str:
    """Return a decision's blockers in a few words: ``clip + shape? + 2 more``."""
    failed = [f.reason for f in decision.blockers if f.status == "fail"]
    unknown = [f.reason for f in decision.blockers if f.status != "fail"]
    found = [*dict.fromkeys(failed), *(f"{u}?" for u in dict.fromkeys(unknown) if u not in failed)]
    if len(found) > most + 1:
        found = [*found[:most], f"{len(found) - most} more"]
    return " + ".join(found) or "no finding"


def observed(finding: Finding) -> str:
    """Return what was observed, of whom."""
    text = finding.observed.rstrip(".")
    named = any(_names(text, piece) for piece in finding.subject.split(", "))
    return text if named else f"{finding.subject}: {text}" if text else finding.subject


def _names(text: str, name: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def required(finding: Finding, rule: str) -> str:
    """Return what the rule asks for, as a clause: ``matmul-activation requires that ...``."""
    text = finding.required.strip().rstrip(".")
    if not text:
        return ""
    if text.startswith(("needs ", "need ", "requires ", "takes ", "must ")):
        return f"{rule} {text}"
    if not text[0].isupper():
        return f"{rule} requires {text}"
    first, space, rest = text.partition(" ")
    word = first.lower() if first.istitle() else first
    return f"{rule} requires that {word}{space}{rest}"


def statement(decision: Decision, finding: Finding, where: bool = True) -> str:
    """Return observed and required in one sentence, with the line that requires it.

    A pattern that nearly matched says itself what it has. What a machine lacks says without
    ``where`` what it requires.
    """
    parts = [observation(decision, finding)]
    if not _COUNTED.match(finding.observed) and (where or finding.group != "target"):
        parts.append(required(finding, decision.rule))
    place = f" ({finding.where})" if where and finding.where else ""
    return "; ".join(filter(None, parts)) + place + "."


def observation(decision: Decision, finding: Finding) -> str:
    """Return what was observed; of a near miss, how near it came."""
    return near_miss(decision) if missed(decision, finding) else observed(finding)


def missed(decision: Decision, finding: Finding) -> bool:
    """Tell whether a finding says that a node of the pattern is not there."""
    return bool(decision.missing) and finding.reason == "op-mismatch"


def remedy(finding: Finding) -> str:
    """Return the help as a sentence, or nothing."""
    text = finding.help.strip().rstrip(".")
    return f"{text}." if text else ""


def near_miss(decision: Decision) -> str:
    """Return how near a pattern of several nodes came, and the first things that are missing."""
    seen = [f.observed.rstrip(".") for f in decision.blockers if missed(decision, f)]
    matching, _, _ = seen[0].partition("; ")
    gaps = list(dict.fromkeys(s.partition("; ")[2] for s in seen))
    more = len(gaps) - _GAPS
    shown = [*gaps[:_GAPS], f"and {count(more, 'other')}"] if more > 1 else gaps
    return "; ".join((matching, *shown))
