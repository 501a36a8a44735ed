"""What kind of difference two matched answers have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fusectl.compare.account import scope_of
from fusectl.compare.match import Match
from fusectl.report.comparison import Answer, Kind, Matched

Moves = tuple[tuple[int | None, int | None], ...]
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """A decision that differs, by its numbers on both sides.

    ``moves`` are all the pairs that it speaks of: where a fusion goes from one rule to another,
    both rules' decisions changed.
    """

    kind: Kind
    before: int | None
    after: int | None
    by: Matched | None
    moves: Moves


def differences(
    before: Sequence[Answer], after: Sequence[Answer], pairs: Sequence[Match]
) -> list[Difference]:
    """Return what differs, in the order of the later answer, then what it no longer has."""
    found = list(_found(before, after, pairs))
    lost = [d for d in found if d.kind == "lost"]
    gained: dict[Place, Difference] = {}
    for other in (d for d in found if d.kind == "gained"):
        for place in _places(before, after, other):
            gained.setdefault(place, other)
    merged: dict[int, Difference] = {}
    for one in lost:
        facing = next((gained[p] for p in _places(before, after, one) if p in gained), None)
        if facing is not None and id(facing) not in merged:
            moves = (*one.moves, *facing.moves)
            merged[id(one)] = Difference("rule", one.before, facing.after, one.by or "id", moves)
            merged[id(facing)] = merged[id(one)]
    told = {id(d): d for d in (merged.get(id(d), d) for d in found)}
    return sorted(told.values(), key=lambda d: (d.after is None, d.after or 0, d.before or 0))


def _found(
    before: Sequence[Answer], after: Sequence[Answer], pairs: Sequence[Match]
) -> Iterator[Difference]:
    for pair in pairs:
        kind = _kind(before[pair.before], after[pair.after])
        if kind is not None:
            move = ((pair.before, pair.after),)
            yield Difference(kind, pair.before, pair.after, pair.by, move)
    known, facing = {m.before for m in pairs}, {m.after for m in pairs}
    for index, answer in enumerate(before):
        if index not in known:
            fused = answer.verdict == "fuse"
            yield Difference("lost" if fused else "gone", index, None, None, ((index, None),))
    for index, answer in enumerate(after):
        if index not in facing:
            fused = answer.verdict == "fuse"
            yield Difference("gained" if fused else "new", None, index, None, ((None, index),))


def _kind(one: Answer, two: Answer) -> Kind | None:
    if one.verdict != two.verdict:
        return "lost" if one.verdict == "fuse" else "gained"
    if one.headline != two.headline or set(one.blockers) != set(two.blockers):
        return "reason"
    return None


def _places(before: Sequence[Answer], after: Sequence[Answer], one: Difference) -> Iterator[Place]:
    """Yield the edge of a decision, as either side calls it."""
    for answers, index in ((before, one.before), (after, one.after)):
        if index is not None:
            edge = answers[index].edge
            yield scope_of(edge.consumer), edge.value, edge.consumer.output
