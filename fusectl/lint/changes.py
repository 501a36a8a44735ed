"""What changed since the lock file, as findings."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fusectl.compare.account import Account
from fusectl.compare.cause import Causes
from fusectl.compare.differences import Difference, differences
from fusectl.compare.match import match
from fusectl.lint.locked import Section, unlocked
from fusectl.lint.places import Places
from fusectl.lint.policy import Level
from fusectl.lint.severity import severity
from fusectl.lint.task import Held, Task, fingerprint
from fusectl.report.comparison import Answer, Kind
from fusectl.report.lint import Code, LintFinding, Place
from fusectl.report.types import Edge

_CODES: dict[Kind, Code] = {
    "lost": "fusion-lost",
    "gained": "fusion-gained",
    "rule": "fusion-changed",
    "reason": "reason-changed",
    "new": "candidate-new",
    "gone": "candidate-gone",
}
_SAID: dict[Code, str] = {
    "fusion-lost": "{edge} does not fuse any more by {rule}",
    "fusion-gained": "{edge} fuses now by {rule}, and did not",
    "fusion-changed": "{edge} fuses by another rule now: {rule}",
    "reason-changed": "{edge} is kept by {rule} for other reasons than before",
    "candidate-new": "{edge} is a new candidate of {rule} and does not fuse",
    "candidate-gone": "{edge} is no candidate of {rule} any more; it did not fuse",
}


@dataclass(frozen=True, slots=True)
class Changed:
    """A difference and its finding; ``off`` where the policy switches it off."""

    difference: Difference
    finding: LintFinding
    off: bool


def change_findings(
    task: Task, held: Held, old: Section, account: Account, places: Places
) -> list[Changed]:
    """Return what changed since the lock file."""
    before = unlocked(task.model, account.target, old, held.tables)
    causes = Causes(before, account)
    pairs = match(before.answers, account.answers, causes.same_model)
    found = differences(before.answers, account.answers, pairs)
    causes.learn(found)
    seen: Counter[str] = Counter()
    made = []
    for one in found:
        was = None if one.before is None else before.answers[one.before]
        now = None if one.after is None else account.answers[one.after]
        code = _CODES[one.kind]
        print_ = _fingerprint(code, task.model, account.target, was, now, seen)
        level = _level(task, code, was, now)
        made.append(
            Changed(
                one,
                LintFinding(
                    code,
                    "info" if level == "off" else level,
                    task.model,
                    account.target,
                    message(code, was, now),
                    causes.of(one).sentence,
                    _help(now),
                    f"{task.again} --accept {print_}",
                    told(was, now).rule,
                    (now or told(was, now)).headline or "",
                    told(was, now).edge,
                    one.by,
                    was,
                    now,
                    _where(held, old, one, places, told(was, now)),
                    "" if one.after is None else account.sources[one.after],
                    print_,
                ),
                level == "off",
            )
        )
    return made


def told(was: Answer | None, now: Answer | None) -> Answer:
    """Return the side of a change that is told: the later one where there is one."""
    answer = now or was
    assert answer is not None, "a change has a side"
    return answer


def message(code: Code, was: Answer | None, now: Answer | None) -> str:
    """Return what happened, in one sentence."""
    answer = told(was, now)
    return _SAID[code].format(edge=ends(answer.edge), rule=answer.rule)


def ends(edge: Edge) -> str:
    """Return ``head (MatMul) -> score (Sigmoid)``."""
    return " -> ".join(
        f"{n.label} ({n.op})" if n.label else n.op for n in (edge.producer, edge.consumer)
    )


def _level(task: Task, code: Code, was: Answer | None, now: Answer | None) -> Level:
    reason = ""
    if code in ("candidate-new", "reason-changed", "candidate-gone"):
        reason = told(was, now).headline or ""
    return severity(task.policy, code, reason)


def _help(now: Answer | None) -> str:
    found = (f.help.rstrip(".") for f in now.findings) if now is not None else ()
    return next((text for text in found if text), "")


def _fingerprint(
    code: Code,
    model: str,
    target: str,
    was: Answer | None,
    now: Answer | None,
    seen: Counter[str],
) -> str:
    """Name the change by what the lock file calls the edge, and by what became of it."""
    parts = [code, model, target, (was or told(was, now)).id]
    parts += [a.rule + ",".join(a.blockers) if a is not None else "-" for a in (was, now)]
    key = "\x1f".join(parts)
    seen[key] += 1
    return fingerprint(*parts, *([str(seen[key])] if seen[key] > 1 else []))


def _where(held: Held, old: Section, one: Difference, places: Places, answer: Answer) -> Place:
    """Return a line of the model where it is text, else the decision's line in the lock file."""
    found = places.of(answer.edge.consumer) if one.after is not None else None
    if found is not None:
        return found
    if one.before is not None:
        span = old.decisions[one.before].span
        return Place(held.shown, span.line, span.column)
    return Place(places.model)


def again(parts: Iterable[str]) -> str:
    """Return a command line that a shell takes as it is."""
    return " ".join(shlex.quote(p) for p in parts)
