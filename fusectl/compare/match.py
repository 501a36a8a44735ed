"""Which decisions of two answers are about the same edge.

By ``id`` first, which rests on names; then by ``structure``, the operators around the edge; what
is left is aligned in graph order. In the same file only the ``id`` counts: what has another name is
another edge. In another file names that are plain numbers do not count: they are the exporter's
counter and meet by chance.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from fusectl.report.comparison import Answer, Matched

_LARGE = 1 << 20
"""Pairs of elements up to which two stretches are aligned; beyond, equals pair in order."""

Key = Callable[[Answer], Hashable]
Indices = list[int]


@dataclass(frozen=True, slots=True)
class Match:
    """Two decisions about the same edge, by their numbers, and how they were recognised."""

    before: int
    after: int
    by: Matched


def match(before: Sequence[Answer], after: Sequence[Answer], same_model: bool) -> list[Match]:
    """Pair decisions. ``same_model`` says that both are about one file: there names are enough."""
    found = _Matcher(before, after)
    found.equal("id", lambda a: a.id if same_model or _named(a) else None, ragged=True)
    if same_model:
        return found.pairs
    found.equal("structure", lambda a: (a.rule, a.structure))
    for key in _KEYS:
        found.align(key)
    for key in _KEYS[2:]:
        found.align(key, landmarks=False)
    return sorted(found.pairs, key=lambda m: m.before)


def _named(answer: Answer) -> bool:
    return not (answer.edge.value.isdigit() or answer.edge.consumer.output.isdigit())


_KEYS: tuple[Key, ...] = (
    lambda a: (a.rule, a.structure),
    lambda a: (a.rule, a.edge.producer.op, a.edge.consumer.op),
    lambda a: (a.rule, a.edge.consumer.op),
    lambda a: a.rule,
)
"""What makes two decisions alike, the strictest first. Another exporter's Gemm is a MatMul here,
and a rule of several nodes has as many edges as spellings."""


class _Matcher:
    def __init__(self, before: Sequence[Answer], after: Sequence[Answer]) -> None:
        self.before, self.after = before, after
        self.pairs: list[Match] = []
        self.left = list(range(len(before)))
        self.right = list(range(len(after)))

    def equal(self, by: Matched, key: Callable[[Answer], Hashable], ragged: bool = False) -> None:
        """Pair equals in order; where one side has more of them only if ``ragged``.

        A function that is called twice has the same ids twice.
        """
        ours, theirs = _grouped(self.before, self.left, key), _grouped(self.after, self.right, key)
        for name, mine in ours.items():
            facing = theirs.get(name, [])
            if name is not None and (ragged or len(mine) == len(facing)):
                self._take(zip(mine, facing, strict=False), by)
        self._forget()

    def align(self, key: Key, landmarks: bool = True) -> None:
        """Align what is left, between the known pairs that stand in the same order in both."""
        marks = _rising(self.pairs) if landmarks else []
        bounds = [*((m.before, m.after) for m in marks), (len(self.before), len(self.after))]
        left, right = iter(self.left), iter(self.right)
        ours, theirs = next(left, None), next(right, None)
        found: list[tuple[int, int]] = []
        for low, high in bounds:
            mine, facing = [], []
            while ours is not None and ours < low:
                mine.append(ours)
                ours = next(left, None)
            while theirs is not None and theirs < high:
                facing.append(theirs)
                theirs = next(right, None)
            if mine and facing:
                found += self._stretch(mine, facing, key)
        self._take(iter(found), "alignment")
        self._forget()

    def _stretch(self, mine: Indices, facing: Indices, key: Key) -> Iterator[tuple[int, int]]:
        ours, theirs = [key(self.before[i]) for i in mine], [key(self.after[i]) for i in facing]
        common = set(ours) & set(theirs)
        # What only one side has would break up the runs that the matcher looks for.
        mine = [i for i, k in zip(mine, ours, strict=True) if k in common]
        facing = [i for i, k in zip(facing, theirs, strict=True) if k in common]
        ours, theirs = [k for k in ours if k in common], [k for k in theirs if k in common]
        if len(ours) * len(theirs) > _LARGE:
            yield from _in_order(zip(ours, mine, strict=True), zip(theirs, facing, strict=True))
            return
        blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
        for start, there, size in blocks:
            yield from zip(mine[start : start + size], facing[there : there + size], strict=True)

    def _take(self, found: Iterator[tuple[int, int]], by: Matched) -> None:
        self.pairs += [Match(a, b, by) for a, b in found]

    def _forget(self) -> None:
        known, facing = {m.before for m in self.pairs}, {m.after for m in self.pairs}
        self.left = [i for i in self.left if i not in known]
        self.right = [i for i in self.right if i not in facing]


def _grouped(answers: Sequence[Answer], which: Indices, key: Key) -> dict[Hashable, Indices]:
    found: dict[Hashable, Indices] = defaultdict(list)
    for index in which:
        found[key(answers[index])].append(index)
    return found


def _in_order(
    ours: Iterator[tuple[Hashable, int]], theirs: Iterator[tuple[Hashable, int]]
) -> Iterator[tuple[int, int]]:
    waiting: dict[Hashable, Indices] = defaultdict(list)
    for key, index in theirs:
        waiting[key].append(index)
    heads = {key: iter(indices) for key, indices in waiting.items()}
    for key, index in ours:
        partner = next(heads.get(key, iter(())), None)
        if partner is not None:
            yield index, partner


def _rising(pairs: Sequence[Match]) -> list[Match]:
    """Return the most pairs that stand in the same order on both sides."""
    ordered = sorted(pairs, key=lambda m: m.before)
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for number, pair in enumerate(ordered):
        at = bisect_left(ends, pair.after)
        previous.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(pair.after)
            last.append(number)
        else:
            ends[at], last[at] = pair.after, number
    chosen: list[Match] = []
    number = last[-1] if last else -1
    while number >= 0:
        chosen.append(ordered[number])
        number = previous[number]
    return chosen[::-1]
