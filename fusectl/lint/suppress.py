"""Findings that the policy says do not count; and suppressions that suppress nothing."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator

import msgspec

from fusectl.lint.policy import Policy, SuppressionDoc
from fusectl.lint.scope import applies
from fusectl.lint.severity import severity
from fusectl.lint.task import fingerprint
from fusectl.report.lint import Code, LintFinding, Place, Suppression


class Suppressions:
    """Applies the suppressions of a policy on one day."""

    def __init__(self, policy: Policy, shown: str, today: datetime.date) -> None:
        self._policy, self._shown, self._today = policy, shown, today
        self._used: set[int] = set()

    def apply(self, findings: Iterable[LintFinding]) -> Iterator[LintFinding]:
        """Yield the findings, marked where a suppression that still holds is about them."""
        for finding in findings:
            chosen = None
            for number, doc in enumerate(self._policy.suppressions):
                if _about(doc, finding):
                    self._used.add(number)
                    if chosen is None and not self._expired(doc):
                        chosen = self._record(doc)
            yield msgspec.structs.replace(finding, suppressed=chosen)

    def findings(self, whole: bool) -> Iterator[LintFinding]:
        """Yield what is wrong with the suppressions; unused ones only after a ``whole`` run."""
        for number, doc in enumerate(self._policy.suppressions):
            name = _named(doc)
            if self._expired(doc):
                day = doc.expires.value if doc.expires else ""
                text = f"the suppression of {name} expired on {day}: {doc.reason.value}"
                help = "mend what it hides, or give it another date"
                yield from self._finding("suppression-expired", doc, number, text, help)
            elif whole and number not in self._used:
                text = f"nothing is suppressed by the suppression of {name}: {doc.reason.value}"
                yield from self._finding("suppression-unused", doc, number, text, "take it out")

    def _expired(self, doc: SuppressionDoc) -> bool:
        if doc.expires is None:
            return False
        return datetime.date.fromisoformat(doc.expires.value) < self._today

    def _record(self, doc: SuppressionDoc) -> Suppression:
        return Suppression(
            doc.reason.value, doc.expires.value if doc.expires else "", self._place(doc)
        )

    def _place(self, doc: SuppressionDoc) -> Place:
        return Place(self._shown, doc.span.line, doc.span.column)

    def _finding(
        self, code: Code, doc: SuppressionDoc, number: int, text: str, help: str
    ) -> Iterator[LintFinding]:
        level = severity(self._policy, code)
        if level == "off":
            return
        where = self._place(doc)
        key = fingerprint(code, _named(doc), doc.reason.value, *(t.value for t in doc.models))
        rule = doc.rule.value if doc.rule else ""
        yield LintFinding(
            code,
            level,
            "",
            "",
            text,
            "",
            help,
            "",
            rule,
            "",
            None,
            None,
            None,
            None,
            where,
            "",
            key,
        )


def _about(doc: SuppressionDoc, finding: LintFinding) -> bool:
    return (
        (doc.fingerprint is None or doc.fingerprint.value == finding.fingerprint)
        and (doc.rule is None or doc.rule.value == finding.rule)
        and (doc.code is None or doc.code.value == finding.code)
        and applies(doc.models, doc.targets, finding.model, finding.target)
    )


def _named(doc: SuppressionDoc) -> str:
    parts = [t.value for t in (doc.fingerprint, doc.rule, doc.code) if t is not None]
    return ", ".join(parts)
