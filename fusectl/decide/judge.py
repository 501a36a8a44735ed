"""All checks on one candidate: a ruling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fusectl.checks import ALWAYS, CHECKS, GROUPS, TARGET, Check, Outcome
from fusectl.checks.machine import path_outcome
from fusectl.checks.users import other_readers, written_twice
from fusectl.errors import Span
from fusectl.graph.overlay import Group
from fusectl.graph.view import Node
from fusectl.match.candidate import Candidate
from fusectl.reasons import ORDER
from fusectl.tables.rules import Rule
from fusectl.tables.schema import Range

Checked = tuple[Check, Outcome | None, Span]


@dataclass(slots=True)
class Ruling:
    """A candidate with what every check found, frozen in the state in which it was judged."""

    candidate: Candidate
    checked: tuple[Checked, ...]
    step: int
    id: str
    builds_on: tuple[str, ...]
    nodes: tuple[Node, ...]
    between: tuple[Node, ...]
    swallows: tuple[str, ...]
    materialises: tuple[str, ...]
    accepted: bool
    headline: str
    group: Group | None = field(default=None)

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two rulings the same candidate: rule, value, the consumer's output."""
        outputs = self.candidate.consumer.outputs
        return (self.candidate.rule.id, self.candidate.value, outputs[0] if outputs else "")


_PLANS: dict[int, tuple[Rule, list[tuple[Check, dict[str, object], Span]]]] = {}


def _plan(rule: Rule) -> list[tuple[Check, dict[str, object], Span]]:
    """The checks of a rule, each once, in the order of its file."""
    known = _PLANS.get(id(rule))
    if known is not None and known[0] is rule:
        return known[1]
    plan: list[tuple[Check, dict[str, object], Span]] = []
    seen: set[str] = set()
    for wanted in rule.require:
        for name in GROUPS.get(wanted.check, (wanted.check,)):
            if name not in seen or wanted.args:
                plan.append((CHECKS[name], dict(wanted.args), wanted.span))
            seen.add(name)
    plan += [(CHECKS[name], {}, rule.span) for name in ALWAYS if name not in seen]
    if any(len(p.inner) > 1 for p in rule.patterns):
        users = [n for n in GROUPS["single-user"] if n not in seen]
        plan += [(CHECKS[name], {}, rule.span) for name in users]
    plan.append((CHECKS["product-agrees"], {}, rule.span))
    _PLANS[id(rule)] = (rule, plan)
    return plan


def _run(candidate: Candidate, gate: Range) -> Iterator[Checked]:
    for check, args, span in _plan(candidate.rule):
        outcomes = check.run(candidate, args)  # type: ignore[arg-type]
        if outcomes is None:
            yield check, None, span
        else:
            for outcome in outcomes:
                yield check, outcome, outcome.where or span
    path = candidate.path
    span = path.span if path is not None else candidate.target.span
    exists, lacking = CHECKS["path-exists"], path_outcome(candidate)
    yield exists, lacking, (lacking.where if lacking and lacking.where else span)
    if path is None or lacking is not None:
        return
    for name in TARGET:
        check = CHECKS[name]
        outcomes = check.run(candidate, {})
        if outcomes is None:
            yield check, None, span
        else:
            for outcome in outcomes:
                yield check, outcome, outcome.where or span
    if gate.min or gate.max:
        yield CHECKS["opset-in-table"], _gated(candidate, gate), span


def _gated(candidate: Candidate, gate: Range) -> Outcome:
    high = f" to {gate.max}" if gate.max else " on"
    opset = candidate.overlay.view.opset("")
    return Outcome(
        "fail",
        candidate.consumer.node.label,
        f"the model has opset {opset}; the target's pass runs for opset {gate.min or 1}{high}",
        f"export with an opset from {gate.min or 1}{high}",
    )


def judge(candidate: Candidate, step: int, gate: Range | None = None) -> Ruling:
    """Run every check on a candidate. It fuses only where all of them pass."""
    checked = tuple(_run(candidate, gate or Range()))
    worst: tuple[bool, int] | None = None
    headline = ""
    for check, outcome, _ in checked:
        if outcome is None or outcome.status == "pass":
            continue
        reason = outcome.reason or check.reason
        rank = (outcome.status == "unknown", ORDER[reason])
        if worst is None or rank < worst:
            worst, headline = rank, reason
    parts = candidate.parts
    return Ruling(
        candidate,
        checked,
        step,
        "",
        tuple(dict.fromkeys(g.decision for g in parts if g.decision)),
        _nodes(candidate, parts),
        candidate.told_between,
        _swallowed(candidate),
        _materialised(candidate),
        worst is None,
        headline,
    )


def _swallowed(candidate: Candidate) -> tuple[str, ...]:
    """Values that would be gone, and the equal ones that an earlier pass merged with them."""
    merged = candidate.overlay.merged
    return tuple(n for v in candidate.swallows for n in (v, *merged.get(v, ())))


def _nodes(candidate: Candidate, parts: tuple[Group, ...]) -> tuple[Node, ...]:
    """Original nodes of the group after the decision; of a foreign group only the one node."""
    held = {id(r.group): r.node for r in candidate.roles if r is not None and r.held}
    found: dict[int, Node] = {}
    for group in parts:
        members = (held[id(group)],) if id(group) in held else group.members
        found.update({id(n): n for n in members})
    for role in (candidate.producer, candidate.consumer):
        found.setdefault(id(role.node), role.node)
    return tuple(sorted(found.values(), key=lambda n: n.index))


def _materialised(candidate: Candidate) -> tuple[str, ...]:
    """Values inside the group that the fused form still writes for their other users."""
    if not written_twice(candidate):
        return ()
    overlay = candidate.overlay
    return tuple(
        v
        for v in candidate.swallows
        if v in overlay.returned or v in overlay.captured or other_readers(candidate, v)
    )
