"""Which causes matter: what a user can change, what the machine cannot, what is alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

from fusectl.render.wording import missed
from fusectl.report.types import Decision, Finding

Kind = Literal["fused", "unknown", "kept"]
Fate = Literal["fixable", "several", "machine", "policy", "held", "elsewhere", "farther"]

KINDS = {
    "adjacency": "legality", "users": "legality", "state": "legality", "pattern": "legality",
    "numerics": "legality", "target": "target", "policy": "policy", "coverage": "coverage",
}  # fmt: skip
"""What a reason's class means to a reader: the model, the machine, or a choice."""

_TOKEN = re.compile(r"[^\s,;:()\[\]\"'`]+")
_TYPE = re.compile(r"(u?int|b?float|complex)\d+\w*$")
_REPEAT = re.compile(r"#(?:(?:, | and )#)+")


@dataclass(frozen=True, slots=True)
class Cause:
    """One finding that alone keeps these decisions from fusing, or that heads them."""

    finding: Finding
    rule: str
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Decisions with the same verdict for the same causes."""

    decisions: tuple[Decision, ...]
    fate: Fate

    @property
    def first(self) -> Decision:
        """The example."""
        return self.decisions[0]


def kind(decision: Decision) -> Kind:
    """Return the verdict, an unknown headline told apart from a refusal."""
    if decision.verdict == "fuse":
        return "fused"
    found = headline(decision)
    return "unknown" if found is not None and found.status == "unknown" else "kept"


def headline(decision: Decision) -> Finding | None:
    """Return the finding that heads a decision that does not fuse."""
    blockers = decision.blockers
    return next((f for f in blockers if f.reason == decision.headline), next(iter(blockers), None))


def spot(decision: Decision) -> tuple[Hashable, ...]:
    """Return what can fuse once: the consumer, whatever rule or producer would take it."""
    return decision.edge.consumer.graph, decision.edge.consumer.output


def skeleton(text: str, names: frozenset[str]) -> str:
    """Return a sentence without its names and numbers: what is left is the cause."""

    def blank(match: re.Match[str]) -> str:
        word = match[0].rstrip(".")
        named = word in names or "/" in word or any(c.isdigit() for c in word)
        return "#" if named and not _TYPE.match(word) else match[0]

    return _REPEAT.sub("#", _TOKEN.sub(blank, text))


def told(decision: Decision) -> tuple[Finding, ...]:
    """Return the blockers worth telling: of those that differ in names only, the first."""
    return tuple(findings[0] for findings in _keyed(decision).values())


def alike(decision: Decision, finding: Finding) -> str:
    """Return a sentence on whom else a blocker concerns that is told once, or nothing."""
    same = next((fs for fs in _keyed(decision).values() if fs[0] is finding), [finding])
    if len(same) == 1 or missed(decision, finding):
        return ""
    return f"The same holds for {', '.join(dict.fromkeys(f.subject for f in same[1:]))}."


_KEYED: dict[int, tuple[Decision, dict[tuple[str, ...], list[Finding]]]] = {}
_MANY_KEYED = 1 << 17


def _keyed(decision: Decision) -> dict[tuple[str, ...], list[Finding]]:
    """Return the blockers by what those share that differ in names only; asked for repeatedly."""
    known = _KEYED.get(id(decision))
    if known is not None and known[0] is decision:
        return known[1]
    if len(_KEYED) > _MANY_KEYED:
        _KEYED.clear()
    found = _by_key(decision)
    _KEYED[id(decision)] = (decision, found)
    return found


def _by_key(decision: Decision) -> dict[tuple[str, ...], list[Finding]]:
    names = _names(decision)
    found: dict[tuple[str, ...], list[Finding]] = {}
    for finding in decision.blockers:
        texts = (skeleton(t, names) for t in (finding.required, finding.help))
        found.setdefault((finding.reason, finding.status, *texts), []).append(finding)
    return found


def _names(decision: Decision) -> frozenset[str]:
    """Return the names that a decision's sentences may use."""
    nodes = (decision.edge.producer, decision.edge.consumer, *decision.nodes, *decision.between)
    found = {n for node in nodes for n in (node.name, node.output)}
    found.update(decision.swallows, (decision.edge.value,))
    found.update(p for f in decision.findings for p in f.subject.split(", "))
    return frozenset(found - {""})


def kept_groups(decisions: Iterable[Decision]) -> tuple[Kept, ...]:
    """Group the decisions that do not fuse by identical causes, in report order."""
    decisions = tuple(decisions)
    settled, nearest, inner = _settled(decisions), _nearest(decisions), _inner(decisions)
    groups: dict[tuple[str, Fate, Hashable], list[Decision]] = {}
    for decision in decisions:
        if decision.verdict == "fuse":
            continue
        keys = frozenset(_keyed(decision))
        fate = "farther" if decision.id in inner else _fate(decision, settled, nearest)
        groups.setdefault((decision.rule, fate, keys), []).append(decision)
    return tuple(Kept(tuple(g), fate) for (_, fate, _), g in groups.items())


_EXPORTED = ("unsupported-shape", "unsupported-dtype", "unsupported-opset", "lut-incomplete")
"""Limits of the machine that another export of the same model meets."""


def _nearest(decisions: Iterable[Decision]) -> dict[Hashable, int]:
    """Return for each edge how few things stand in the way of the rule that comes nearest."""
    found: dict[Hashable, int] = {}
    for decision in decisions:
        if decision.verdict == "keep":
            key = (decision.edge.value, spot(decision))
            found[key] = min(len(told(decision)), found.get(key, len(told(decision))))
    return found


def _inner(decisions: Iterable[Decision]) -> frozenset[str]:
    """Return the patterns of several nodes (by id) that lie inside a larger one.

    A normalisation by the root of a mean square is the end of one that subtracts the mean; what
    keeps both from fusing is told once.
    """
    kept = [d for d in decisions if d.verdict == "keep" and len(d.swallows) > 1 and not d.between]
    nodes = {d.id: {(n.graph, n.output) for n in d.nodes} for d in kept}
    at: dict[Hashable, list[Decision]] = {}
    for decision in kept:
        for node in nodes[decision.id]:
            at.setdefault(node, []).append(decision)
    return frozenset(
        d.id
        for d in kept
        if any(
            other.rule != d.rule and nodes[d.id] < nodes[other.id]
            for other in at[next(iter(nodes[d.id]))]
        )
    )


def _settled(decisions: Iterable[Decision]) -> frozenset[tuple[Hashable, ...]]:
    """Return the consumers that some rule fuses with some producer."""
    return frozenset(spot(d) for d in decisions if d.verdict == "fuse")


def _fate(
    decision: Decision, settled: frozenset[tuple[Hashable, ...]], nearest: dict[Hashable, int]
) -> Fate:
    if spot(decision) in settled:
        return "elsewhere"
    if len(told(decision)) > nearest[decision.edge.value, spot(decision)]:
        return "farther"
    failed = [f for f in decision.blockers if f.status == "fail"]
    tests: tuple[tuple[Fate, Callable[[Finding], bool]], ...] = (
        ("machine", lambda f: f.group == "target" and f.reason not in _EXPORTED),
        ("held", lambda f: f.reason == "claimed"),
        ("policy", lambda f: f.group == "policy"),
    )
    for fate, test in tests:
        if any(map(test, failed)):
            return fate
    return "fixable" if len(told(decision)) == 1 else "several"


def fixes(groups: Iterable[Kept]) -> tuple[Cause, ...]:
    """Return the causes that alone stand in the way and that a user can change, best first.

    Findings that differ in names only are one cause: they have the same remedy.
    An edge counts once, for the cause that gains most.
    """
    rest = [
        Cause(g.first.blockers[0], g.first.rule, g.decisions) for g in groups if g.fate == "fixable"
    ]
    counted: set[tuple[Hashable, ...]] = set()
    ranked: list[Cause] = []
    for cause in sorted(rest, key=_rank):
        fresh: list[Decision] = []
        for decision in cause.decisions:
            if spot(decision) not in counted:
                counted.add(spot(decision))
                fresh.append(decision)
        if fresh:
            ranked.append(Cause(cause.finding, cause.rule, tuple(fresh)))
    return tuple(sorted(ranked, key=_rank))


def lacks(groups: Iterable[Kept]) -> tuple[Cause, ...]:
    """Return what the machine lacks, first where nothing else stands in the way."""
    found = []
    for group in groups:
        finding = decisive(group.first, group.fate)
        if group.fate == "machine" and finding is not None:
            found.append(Cause(finding, group.first.rule, group.decisions))
    return tuple(sorted(found, key=_lack))


def _lack(cause: Cause) -> tuple[bool, int]:
    return len(told(cause.decisions[0])) > 1, -len(cause.decisions)


def decisive(decision: Decision, fate: Fate) -> Finding | None:
    """Return the blocker that makes a decision's fate, else its headline."""
    group = {"machine": "target", "policy": "policy", "held": "state"}.get(fate)
    failed = (f for f in decision.blockers if f.group == group and f.status == "fail")
    return next(failed, headline(decision))


def _rank(cause: Cause) -> tuple[int, int, bool]:
    finding = cause.finding
    return doubt(finding), -len(cause.decisions), finding.status == "unknown"


def doubt(finding: Finding) -> int:
    """Return how doubtful it is that a remedy gains something: 0 for most findings.

    A near miss may simply be another function; a slot that is taken serves another fusion.
    """
    return 2 if finding.group == "state" else int(finding.reason == "op-mismatch")
