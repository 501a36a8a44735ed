"""What made the difference, in one sentence, and in a few words that equal causes share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fusectl.compare.account import Account, scope_of
from fusectl.compare.differences import Difference
from fusectl.compare.presence import Presence, Told
from fusectl.report.comparison import Answer
from fusectl.report.types import Finding

_MOST = 2
_VERB = re.compile(r"(?<!\w)(is|are|has|have|also feeds|feeds|stands|stand|reads|became)(?!\w)")
_BEFORE_VERB = ("stands", "stand", "reads", "feeds", "also feeds", "became")
_DECISION = re.compile(r" \(decision \w+\)")


class Causes:
    """Tells causes. ``before`` may come from a lock file, which knows less than a report."""

    def __init__(self, before: Account, after: Account) -> None:
        self._before, self._after = before, after
        self.same_model = bool(before.sha256) and _same(before.sha256, after.sha256)
        self._lead = "the model is the same, the tables say otherwise: "
        if not self.same_model or before.target != after.target:
            self._lead = ""
        self.same_tables = bool(before.tables) and before.tables == after.tables
        self._told: dict[str, Callable[[Difference], Told]] = {
            "lost": self._lost,
            "gained": self._gained,
            "reason": self._reason,
            "rule": self._rule,
            "new": self._appeared,
            "gone": self._vanished,
        }
        self._flips: dict[tuple[str, str, str], Difference] = {}
        self._there = Presence(before, "before")
        self._here = Presence(after, "now")

    def of(self, difference: Difference) -> Told:
        """Return the cause of a difference."""
        return self._told[difference.kind](difference)

    def learn(self, found: Sequence[Difference]) -> None:
        """Take note of fusions that came and went: others follow from them."""
        for one in found:
            if one.kind not in ("lost", "gained", "rule"):
                continue
            for move in one.moves:
                for side, answers, index in zip(
                    ("before", "now"),
                    (self._before.answers, self._after.answers),
                    move,
                    strict=True,
                ):
                    if index is not None:
                        edge = answers[index].edge
                        for node in (edge.producer, edge.consumer):
                            self._flips.setdefault((side, scope_of(node), node.output), one)

    def _lost(self, one: Difference) -> Told:
        if one.after is None:
            return self._vanished(one)
        return self._blocked(self._after.answers[one.after], ())

    def _gained(self, one: Difference) -> Told:
        if one.before is None:
            return self._appeared(one)
        rule = self._after.answers[one.after or 0].rule
        return self._freed(self._before.answers[one.before], rule)

    def _reason(self, one: Difference) -> Told:
        old, new = self._before.answers[one.before or 0], self._after.answers[one.after or 0]
        blocked = self._blocked(new, old.blockers)
        freed = self._freed(old, new.rule, new.blockers)
        said = [t for t in (blocked, freed) if t.sentence]
        if not said:
            return Told(f"{new.headline} comes first now", "another headline")
        return Told("; ".join(t.sentence for t in said), "; ".join(t.gist for t in said))

    def _rule(self, one: Difference) -> Told:
        old, new = self._before.answers[one.before or 0], self._after.answers[one.after or 0]
        why = ""
        kept = next((b for a, b in one.moves if a == one.before and b is not None), None)
        if kept is not None:
            told = self._blocked(self._after.answers[kept], ())
            why = f": {told.sentence}"
        return Told(
            f"{new.rule} takes the edge now, where {old.rule} did{why}",
            f"{new.rule} instead of {old.rule}",
        )

    def _blocked(self, answer: Answer, known: Sequence[str]) -> Told:
        """Say what stands in the way that did not before."""
        added = [s for s in answer.blockers if s not in known]
        shown = [f for s in added for f in _with(answer.findings, s)[:1]]
        if not shown:
            return Told("", "")
        parts = [self._now(f) for f in shown[:_MOST]]
        more = f" (and {len(shown) - _MOST} more)" if len(shown) > _MOST else ""
        where = f" at {shown[0].where}" if self.same_model and shown[0].where else ""
        return Told(f"{self._lead}{'; '.join(parts)}{more}", f"now {' and '.join(added)}{where}")

    def _now(self, finding: Finding) -> str:
        text = _insert(plain(finding.observed), "now") or finding.reason
        if finding.status == "unknown":
            text = f"it cannot be told any more: {plain(finding.observed)}"
        return f"{text} ({finding.where})" if self.same_model and finding.where else text

    def _freed(self, old: Answer, rule: str, still: Sequence[str] = ()) -> Told:
        """Say what stood in the way and does not any more."""
        gone = [s for s in old.blockers if s not in still]
        if not gone:
            return Told("", "")
        parts = []
        for slug in gone[:_MOST]:
            found = _with(old.findings, slug)
            said = _insert(plain(found[0].observed), "no longer") if found else ""
            parts.append(said or f"{slug} is no longer in the way")
        more = f" (and {len(gone) - _MOST} more)" if len(gone) > _MOST else ""
        text, where = "; ".join(parts) + more, ""
        if self.same_model:
            line = self._after.lines.get(rule, {}).get(gone[0].rstrip("?"), "")
            where = f" at {line}" if line else ""
            place = f" ({line})" if line else ""
            text = f"{self._lead}{text}{place}"
        return Told(text, f"no longer {' and '.join(gone)}{where}")

    def _vanished(self, one: Difference) -> Told:
        old = self._before.answers[one.before or 0]
        return (
            self._moved(old)
            or self._here.absent(old, "any more", self._there)
            or self._follows(old, "before", one)
        )

    def _appeared(self, one: Difference) -> Told:
        new = self._after.answers[one.after or 0]
        told = (
            self._moved(new)
            or self._there.absent(new, "before", self._here)
            or self._follows(new, "now", one)
        )
        if one.kind == "new" and new.findings and not self.same_model:
            first = new.findings[0]
            return Told(f"{told.sentence}; {plain(first.observed)}", told.gist)
        return told

    def _follows(self, answer: Answer, side: str, mine: Difference) -> Told:
        """Name the fusion that came or went on one of the nodes: it changed what is a candidate."""
        for node in (answer.edge.producer, answer.edge.consumer):
            one = self._flips.get((side, scope_of(node), node.output))
            if one is None or one is mine:
                continue
            fused = one.after if one.kind != "lost" else one.before
            answers = self._after.answers if one.kind != "lost" else self._before.answers
            other = answers[fused or 0]
            what = "does not fuse any more" if one.kind == "lost" else "fuses now"
            return Told(
                f"follows from {other.edge.value} -> {other.edge.consumer.label}, which {what} "
                f"({other.rule})",
                f"follows from {other.rule}, which {what}",
            )
        text = "both nodes are there, and what surrounds them is another"
        return Told(text, "another neighbourhood")

    def _moved(self, answer: Answer) -> Told | None:
        """Blame the tables, or the program, where the model is the same file."""
        if not self.same_model:
            return None
        if self.same_tables:
            text = "model and tables are the same: this version of fusectl looks elsewhere"
            return Told(text, text)
        if self._before.target != self._after.target:
            text = f"{answer.rule} has no candidate here on the other target"
            return Told(text, text)
        lines = self._after.lines.get(answer.rule) or self._before.lines.get(answer.rule) or {}
        where = next(iter(lines.values()), "")
        place = f" ({where})" if where else ""
        return Told(
            f"the model is the same: the rules or the target changed for {answer.rule}{place}",
            f"the tables changed for {answer.rule}",
        )


def plain(observed: str) -> str:
    """Return what was observed without what only one report can know."""
    return _DECISION.sub("", observed).rstrip(".")


def _same(one: str, two: str) -> bool:
    """Compare digests, of which one may be shortened."""
    return one.startswith(two) or two.startswith(one)


def _with(findings: Sequence[Finding], slug: str) -> list[Finding]:
    return [f for f in findings if f.reason == slug.rstrip("?")]


def _insert(text: str, word: str) -> str:
    """Put ``now`` or ``no longer`` where it belongs: ``u is now returned by the graph``."""
    if not text:
        return ""
    found = list(_VERB.finditer(text))
    if len(found) != 1 or (word != "now" and re.search(r"\b(not|no|cannot)\b", text)):
        return f"{word}: {text}"
    verb, (start, end) = found[0][1], found[0].span()
    if verb in _BEFORE_VERB or (word != "now" and verb in ("has", "have")):
        verb = verb.removeprefix("also ") if word != "now" else verb
        return f"{text[:start]}{word} {verb}{text[end:]}"
    return f"{text[:end]} {word}{text[end:]}"
