"""Two accounts to the record of what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fusectl import __version__
from fusectl.compare.account import Account
from fusectl.compare.cause import Causes
from fusectl.compare.differences import differences
from fusectl.compare.match import match
from fusectl.report.comparison import SCHEMA, Cause, Change, Comparison, Kind, Matched, Side
from fusectl.report.types import Tool

_WAYS: tuple[Matched, ...] = ("id", "structure", "alignment")
_ORDER: tuple[Kind, ...] = ("lost", "gained", "rule", "reason", "new", "gone")


def compare(before: Account, after: Account, labels: tuple[str, str] = ("", "")) -> Comparison:
    """Return what differs between two accounts. ``labels`` are what to call the two sides."""
    causes = Causes(before, after)
    pairs = match(before.answers, after.answers, causes.same_model)
    found = differences(before.answers, after.answers, pairs)
    causes.learn(found)
    changes: list[Change] = []
    grouped: dict[tuple[Kind, str], list[int]] = {}
    for number, one in enumerate(found):
        told = causes.of(one)
        changes.append(
            Change(
                one.kind,
                None if one.before is None else before.answers[one.before],
                None if one.after is None else after.answers[one.after],
                one.by,
                told.sentence,
            )
        )
        grouped.setdefault((one.kind, told.gist), []).append(number)
    ordered = sorted(grouped.items(), key=lambda g: (_ORDER.index(g[0][0]), -len(g[1]), g[0][1]))
    ways = Counter(m.by for m in pairs)
    moved = {m for one in found for m in one.moves}
    return Comparison(
        SCHEMA,
        Tool("fusectl", __version__),
        _side(before, labels[0]),
        _side(after, labels[1]),
        sum((m.before, m.after) not in moved for m in pairs),
        {way: ways[way] for way in _WAYS if ways[way]},
        tuple(changes),
        tuple(Cause(kind, gist, tuple(which)) for (kind, gist), which in ordered),
        tuple(_notes(before, after, causes)),
    )


def _side(one: Account, label: str) -> Side:
    fused = sum(a.verdict == "fuse" for a in one.answers)
    total = len(one.answers)
    return Side(label or one.model, one.model, one.target, one.version, total, fused, total - fused)


def _notes(before: Account, after: Account, causes: Causes) -> Iterator[str]:
    """Say what differs between the models and the tables as a whole."""
    if before.target != after.target:
        yield f"the targets are {before.target} and {after.target}"
    elif before.version != after.version:
        yield f"target {after.target}: version {before.version} -> {after.version}"
    elif before.tables and after.tables and before.tables != after.tables:
        yield f"the rules or the target {after.target} changed"
    if causes.same_model:
        return
    for domain in sorted({*before.opset, *after.opset}):
        old, new = before.opset.get(domain), after.opset.get(domain)
        if old != new:
            name = domain or "ai.onnx"
            yield f"opset of {name}: {old or 'none'} -> {new or 'none'}"
    if before.nodes and before.nodes != after.nodes:
        yield f"nodes: {before.nodes} -> {after.nodes}"
