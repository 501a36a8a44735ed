"""What the policy demands of a model: edges, budgets, reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fusectl.compare.account import Account, scope_of
from fusectl.lint.changes import ends
from fusectl.lint.places import Places
from fusectl.lint.policy import Budget, EdgePattern
from fusectl.lint.read import patterns
from fusectl.lint.scope import applies, names_match
from fusectl.lint.severity import severity
from fusectl.lint.task import Task, fingerprint
from fusectl.report.comparison import Answer
from fusectl.report.lint import Code, LintFinding, Place
from fusectl.report.types import Edge, NodeRef, StepRecord

_PERCENT = 100


@dataclass(frozen=True, slots=True)
class Spot:
    """An edge of the model: the decisions on it, and whether it is gone in what fuses."""

    edge: Edge
    answers: tuple[Answer, ...]
    swallowed: bool

    @property
    def fused(self) -> Answer | None:
        """The decision that fuses the edge."""
        return next((a for a in self.answers if a.verdict == "fuse"), None)


class Demands:
    """Holds one account against the policy."""

    def __init__(self, task: Task, account: Account, places: Places) -> None:
        self._task = task
        self._account = account
        self._places = places
        self._seen: Counter[str] = Counter()
        self.met: set[int] = set()

    def findings(self) -> Iterator[LintFinding]:
        """Yield what the policy complains about, in the policy's order."""
        yield from self._unfused()
        policy = self._task.policy
        wanted = [
            *((p, "must-fuse") for p in patterns(policy.must_fuse)),
            *((p, "must-not-fuse") for p in patterns(policy.must_not_fuse)),
        ]
        spots: list[Spot] | None = None
        for number, (pattern, code) in enumerate(wanted):
            if self._about(pattern):
                spots = _spots(self._account) if spots is None else spots
                yield from self._edges(number, pattern, code, spots)  # type: ignore[arg-type]
        for budget in policy.budgets:
            if self._about(budget):
                yield from self._budget(budget)

    def _about(self, entry: EdgePattern | Budget) -> bool:
        return applies(entry.models, entry.targets, self._task.model, self._account.target)

    def _unfused(self) -> Iterator[LintFinding]:
        for answer, source in zip(self._account.answers, self._account.sources, strict=True):
            if answer.verdict == "keep" and (answer.headline or "") in self._task.policy.severity:
                level = severity(self._task.policy, "unfused", answer.headline or "")
                if level == "off":
                    continue
                text = f"{ends(answer.edge)} does not fuse by {answer.rule}: {answer.headline}"
                place = self._places.of(answer.edge.consumer) or Place(self._places.model)
                yield self._finding("unfused", text, place, answer, source=source)

    def _edges(
        self, number: int, pattern: EdgePattern, code: Code, spots: list[Spot]
    ) -> Iterator[LintFinding]:
        rule = pattern.rule.value if pattern.rule else ""
        for spot in spots:
            if not _matches(pattern, spot.edge):
                continue
            self.met.add(number)
            fused = spot.fused
            by_rule = fused is not None and (not rule or fused.rule == rule)
            is_fused = by_rule or (fused is None and not rule and spot.swallowed)
            span = pattern.edge.span
            place = Place(self._task.shown_policy, span.line, span.column)
            if code == "must-fuse" and not is_fused:
                yield self._unmet(spot, rule, place)
            elif code == "must-not-fuse" and is_fused:
                by = f" by {fused.rule}" if fused is not None else " inside a larger group"
                text = f"{ends(spot.edge)} fuses{by}, and must not"
                yield self._finding(code, text, place, fused, spot.edge)

    def _unmet(self, spot: Spot, rule: str, place: Place) -> LintFinding:
        kept = next((a for a in spot.answers if not rule or a.rule == rule), None)
        if kept is None:
            why = f"{rule} has no candidate here" if rule else "no rule has a candidate here"
        elif kept.verdict == "fuse":
            why = f"it fuses by {kept.rule}"
        else:
            why = f"{kept.rule} keeps it: {', '.join(kept.blockers)}"
        text = f"{ends(spot.edge)} must fuse{f' by {rule}' if rule else ''}; {why}"
        return self._finding("must-fuse", text, place, kept, spot.edge)

    def _budget(self, budget: Budget) -> Iterator[LintFinding]:
        total = len(self._account.answers)
        fused = sum(a.verdict == "fuse" for a in self._account.answers)
        if budget.max_unfused is not None and total - fused > budget.max_unfused.value:
            span = budget.max_unfused.span
            left = _do(total - fused, "do not fuse", "does not fuse")
            text = f"{left}; at most {budget.max_unfused.value} may"
            yield self._over(text, span.line, span.column, "max_unfused")
        if budget.min_fused is not None:
            asked, span = budget.min_fused.value, budget.min_fused.span
            share = asked.endswith("%")
            have = _PERCENT * fused / total if share and total else float(fused)
            if have < float(asked.rstrip("%")) and (total or not share):
                shown = f"{fused} of {_do(total, 'fuse', 'fuses')}"
                shown += f" ({have:.1f}%)" if share else ""
                yield self._over(f"{shown}; at least {asked} must", span.line, span.column, asked)

    def _over(self, text: str, line: int, column: int, which: str) -> LintFinding:
        place = Place(self._task.shown_policy, line, column)
        return self._finding("budget", text, place, None, anchor=which)

    def _finding(
        self,
        code: Code,
        text: str,
        place: Place,
        answer: Answer | None,
        edge: Edge | None = None,
        source: str = "",
        anchor: str = "",
    ) -> LintFinding:
        edge = edge or (answer.edge if answer is not None else None)
        reason = (answer.headline or "") if answer is not None else ""
        if edge is not None:
            rule = answer.rule if answer is not None else ""
            scope = scope_of(edge.consumer)
            anchor = "\x1f".join((scope, edge.value, edge.consumer.output, rule, reason))
        blockers = answer.findings if answer is not None else ()
        key = fingerprint(code, self._task.model, self._account.target, anchor)
        self._seen[key] += 1
        if self._seen[key] > 1:
            key = fingerprint(key, str(self._seen[key]))
        return LintFinding(
            code,
            severity(self._task.policy, code, reason if code == "unfused" else ""),  # type: ignore[arg-type]
            self._task.model,
            self._account.target,
            text,
            "; ".join(dict.fromkeys(f.observed.rstrip(".") for f in blockers)),
            next((f.help.rstrip(".") for f in blockers if f.help), ""),
            "",
            answer.rule if answer is not None else "",
            reason,
            edge,
            None,
            None,
            answer,
            place,
            source,
            key,
        )


def _do(number: int, many: str, one: str) -> str:
    return f"1 candidate {one}" if number == 1 else f"{number} candidates {many}"


def _matches(pattern: EdgePattern, edge: Edge) -> bool:
    left, right = pattern.edge.value.split(" -> ")
    producer, consumer = edge.producer, edge.consumer
    return names_match(left, (producer.op, producer.name, producer.output, edge.value)) and (
        names_match(right, (consumer.op, consumer.name, consumer.output))
    )


def _spots(account: Account) -> list[Spot]:
    """Return the edges of a model: those that a decision is about, and those without one."""
    decided: dict[tuple[str, str, str], list[Answer]] = {}
    for answer in account.answers:
        edge = answer.edge
        key = (scope_of(edge.consumer), edge.value, edge.consumer.output)
        decided.setdefault(key, []).append(answer)
    found = [Spot(answers[0].edge, tuple(answers), False) for answers in decided.values()]
    swallowed = set(account.swallowed)
    makers = {(w.scope, v): w for w in account.wiring for v in w.outputs if v}
    for wire in account.wiring:
        for value in dict.fromkeys(wire.inputs):
            maker = makers.get((wire.scope, value))
            output = next((o for o in wire.outputs if o), "")
            if maker is not None and (wire.scope, value, output) not in decided:
                ends_ = (
                    _ref(maker.label, maker.op, maker.outputs),
                    _ref(wire.label, wire.op, wire.outputs),
                )
                found.append(Spot(Edge(value, *ends_), (), (wire.scope, value) in swallowed))
    return found


def _ref(label: str, op: str, outputs: tuple[str, ...]) -> NodeRef:
    domain, _, op_type = op.rpartition(".")
    output = next((o for o in outputs if o), "")
    steps: tuple[StepRecord, ...] = ()
    return NodeRef("" if label == output else label, op_type, domain, output, steps)
