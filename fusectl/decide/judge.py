"""All checks on one candidate: a ruling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fusectl.checks import ALWAYS, CHECKS, GROUPS, TARGET, Check, Outcome
from fusectl.checks.machine import path_outcome
from fusectl.checks.users import other_readers, written_beside, written_twice
from fusectl.errors import Span
from fusectl.graph.overlay import Group
from fusectl.graph.view import Node
from fusectl.match.candidate import Candidate
from fusectl.reasons import ORDER
from fusectl.tables.patterns import Pattern
from fusectl.tables.rules import Requirement, requirements
from fusectl.tables.schema import Range, Value
from fusectl.tables.target_schema import PathDoc

Checked = tuple[Check, Outcome | None, Span]


@dataclass(slots=True)
class Ruling:
    """A candidate with what every check found, frozen in the state in which it was judged.

    Of one that fused, ``group`` is what it made, ``stays`` the parts that were copied into it.
    """

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
    stays: tuple[Group, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two rulings the same candidate: rule, value, the consumer's output."""
        outputs = self.candidate.consumer.outputs
        return (self.candidate.rule.id, self.candidate.value, outputs[0] if outputs else "")


Entry = tuple[Check, dict[str, Value], Span, bool, Checked]

_PLANS: dict[tuple[int, int], tuple[Pattern, PathDoc | None, list[Entry], list[Entry]]] = {}


def _plan(candidate: Candidate) -> tuple[list[Entry], list[Entry]]:
    """The checks of a pattern and those of a path, each once, and whether each has work to do."""
    pattern, path = candidate.pattern, candidate.path
    key = (id(pattern), id(path))
    known = _PLANS.get(key)
    if known is not None and known[0] is pattern and known[1] is path:
        return known[2], known[3]
    rule = candidate.rule
    wanted = list(_named(rule.require))
    seen = {name for name, _, _ in wanted}
    wanted += [(name, {}, rule.span) for name in ALWAYS if name not in seen]
    if len(pattern.inner) > 1:
        wanted += [(n, {}, rule.span) for n in GROUPS["single-user"] if n not in seen]
    wanted.append(("product-agrees", {}, rule.span))
    own = [_entry(name, args, span, pattern, path) for name, args, span in wanted]
    span = path.span if path is not None else candidate.target.span
    machine = [_entry(name, {}, span, pattern, path) for name in TARGET]
    if path is not None:
        asked = _named(requirements(path.require))
        machine += [_entry(name, args, at, pattern, path) for name, args, at in asked]
    _PLANS[key] = (pattern, path, own, machine)
    return own, machine


def _named(required: Iterable[Requirement]) -> Iterator[tuple[str, dict[str, Value], Span]]:
    """The checks that a rule or path asks for, groups of them taken apart, each once."""
    seen: set[str] = set()
    for requirement in required:
        for name in GROUPS.get(requirement.check, (requirement.check,)):
            if name not in seen or requirement.args:
                yield name, dict(requirement.args), requirement.span
            seen.add(name)


def _entry(
    name: str, args: dict[str, Value], span: Span, pattern: Pattern, path: PathDoc | None
) -> Entry:
    check = CHECKS[name]
    live = check.concerns is None or check.concerns(pattern, path or _NO_PATH)
    # One object for all candidates where the check finds nothing: the report knows it again.
    return check, args, span, live, (check, None, span)


_NO_PATH = PathDoc(Span(""))


def _run(candidate: Candidate, gate: Range) -> list[Checked]:
    own, machine = _plan(candidate)
    found: list[Checked] = []
    facts = candidate.operators.facts.get(candidate.producer.op)
    recoded = facts is not None and facts.quantized_output
    absent = {
        "" if candidate.between or recoded else "barriers",
        "" if candidate.missing else "missing",
        "" if candidate.equivalence or candidate.off else "asked",
        "" if any(map(candidate.operators.stands_in, candidate.ops)) else "stand-ins",
    } - {""}
    _ask(candidate, own, found, absent)
    path = candidate.path
    span = path.span if path is not None else candidate.target.span
    lacking = path_outcome(candidate)
    found.append((CHECKS["path-exists"], lacking, (lacking and lacking.where) or span))
    if path is not None and lacking is None:
        _ask(candidate, machine, found, absent)
        if gate.min or gate.max:
            found.append((CHECKS["opset-in-table"], _gated(candidate, gate), span))
    return found


def _ask(
    candidate: Candidate, entries: list[Entry], found: list[Checked], absent: set[str]
) -> None:
    for check, args, span, live, nothing in entries:
        if not live or check.needs in absent:
            found.append(nothing)
            continue
        outcomes = check.run(candidate, args)
        if outcomes is None:
            found.append(nothing)
        else:
            told = {(o.reason or c.reason, o.subject, o.observed) for c, o, _ in found if o}
            for outcome in outcomes:
                key = (outcome.reason or check.reason, outcome.subject, outcome.observed)
                if key not in told:
                    told.add(key)
                    found.append((check, outcome, outcome.where or span))


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
    if written_beside(candidate):
        held.pop(id(candidate.producer.group), None)
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
    parts = {id(g) for g in candidate.parts}
    return tuple(
        v
        for v in candidate.swallows
        if v in overlay.returned
        or v in overlay.captured
        or any(id(g) not in parts for g in other_readers(candidate, v))
    )
