"""Which value of the original model a value of the optimised one is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from fusectl.audit.net import Net, Op
from fusectl.audit.prints import Print, Shelf, alike, reach


@dataclass(frozen=True, slots=True)
class Anchors:
    """``of`` maps optimised values to original ones; ``same`` groups originals by their data,
    ``moved`` also by data in another order.

    ``sure`` has the optimised values whose name tells it; the others were found by what computes
    them or by numbers.
    """

    of: Mapping[str, str]
    sure: Collection[str] = ()
    same: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)

    def data(self, value: str) -> str:
        """Return what stands for all original values with these numbers."""
        return self.same.get(value, value)

    def numbers(self, value: str) -> str:
        """Return what stands for all original values with these numbers in any order."""
        return self.moved.get(value, value)


_DEQUANTISER, _QUANTISER = "DequantizeLinear", "QuantizeLinear"
_ON_CODES = "QLinear"

Guess = Callable[[Op, str], str | None]
"""From a node of the optimised graph and its output: what its names tell, perhaps wrongly."""


def by_name(before: Net, after: Net) -> dict[str, str]:
    """Return the values that have kept their name."""
    known = before.values
    return {v: v for v in (*after.leaves, *after.maker) if v in known}


def open_values(after: Net, anchored: Mapping[str, str]) -> list[str]:
    """Return the values of the optimised graph of which nothing is known yet."""
    return [v for op in after.ops for v in op.outputs if v not in anchored and v in after.values]


def anchors(
    before: Net,
    after: Net,
    guess: Guess,
    moves: Collection[str],
    old: Mapping[str, Print] | None = None,
    new: Mapping[str, Print] | None = None,
) -> Anchors:
    """Anchor all values that can be: by name, by the node that computes them, by numbers.

    ``moves`` are the operators that only move data. ``old`` and ``new`` are fingerprints of one
    run each on the same inputs; without them, names and nodes have to do.
    """
    return _Search(before, after, guess, old or {}, new or {}, moves).found()


class _Search:
    def __init__(
        self,
        before: Net,
        after: Net,
        guess: Guess,
        old: Mapping[str, Print],
        new: Mapping[str, Print],
        moves: Collection[str],
    ) -> None:
        self.before, self.after, self.guess, self.moves = before, after, guess, moves
        order = [*sorted(before.leaves), *(v for op in before.ops for v in op.outputs)]
        marks = {v: old[v] for v in order if v in old and v in before.values}
        self.same = _unchanged(before, alike(marks, list(marks)))
        self.moved = alike(marks, list(marks), moved=True)
        self.alike: dict[str, list[str]] = {}
        for value, first in self.same.items():
            self.alike.setdefault(first, []).append(value)
        self.old = {v: mark for v, mark in marks.items() if mark.kind != "whole"}
        self.shelf = Shelf(self.old)
        self.new = {v: mark for v, mark in new.items() if mark.kind != "whole"}
        self.sure = by_name(before, after)
        pairs = (
            (self.new[v], self.old[o])
            for v, o in self.sure.items()
            if v in self.new and o in self.old
        )
        self.within = reach(pairs)
        self.twins = _twins(before, self.same)
        self.asked = self._asked()

    def found(self) -> Anchors:
        known = dict(self.sure)
        for op in self.after.ops:
            for place, value in enumerate(op.outputs):
                if value in known or value not in self.after.values:
                    continue
                name = self._value(op, place, value, known)
                if name is not None:
                    known[value] = name
        return Anchors(known, frozenset(self.sure), self.same, self.moved)

    def _value(self, op: Op, place: int, value: str, known: Mapping[str, str]) -> str | None:
        mark = self.new.get(value)
        hints = (
            self.guess(op, value),
            self._recoded(op, place, known),
            self._copied(op, mark, known),
        )
        for hint in hints:
            if hint is not None and self._close(mark, hint):
                return hint
        for hint in (self._twin(op, place, known), self.asked.get(value)):
            if hint is not None and (self._close(mark, hint) or self._closest(mark, hint)):
                return hint
        return self.shelf.nearest(mark, self.within) if mark is not None else None

    def _close(self, mark: Print | None, hint: str) -> bool:
        there = self.old.get(hint)
        if mark is None or there is None:
            return hint in self.before.values
        return mark.distance(there) <= self.within

    def _closest(self, mark: Print | None, hint: str) -> bool:
        """Tell whether no value is nearer. Codes that saturate differ a lot between kernels."""
        there = self.old.get(hint)
        if mark is None or there is None:
            return False
        reach = mark.distance(there)
        return not (self.shelf.distances(mark) < reach).any()

    def _copied(self, op: Op, mark: Print | None, known: Mapping[str, str]) -> str | None:
        """Return what a node hands on whose result has the numbers of its operand, in order."""
        source = known.get(op.inputs[0], "") if op.op_type in self.moves and op.inputs else ""
        there = self.old.get(source)
        alike = mark is not None and there is not None and mark.in_order(there) <= self.within
        return source if alike else None

    def _recoded(self, op: Op, place: int, known: Mapping[str, str]) -> str | None:
        """Return what a kernel on codes makes: it stands for a node between dequantisers and a
        quantiser, whose result the quantiser has.
        """
        reads = [self._data(known[v]) for v in op.inputs if v in known]
        if not reads:
            return None
        plain = op.op_type.rpartition(".")[2].removeprefix(_ON_CODES)
        found = {
            reader.outputs[0]
            for source in self.alike.get(reads[0], (reads[0],))
            for node in self._behind(source, _DEQUANTISER)
            for inner in self._behind(node.outputs[0], plain)
            if [self._codes(v) for v in inner.inputs if v not in self.before.constant] == reads
            for made in inner.outputs[place : place + 1]
            for reader in self._behind(made, _QUANTISER)
        }
        return found.pop() if len(found) == 1 else None

    def _data(self, value: str) -> str:
        return self.same.get(value, value)

    def _behind(self, value: str, op_type: str) -> list[Op]:
        readers = self.before.readers.get(value, ())
        return [op for op in readers if op.op_type == op_type and op.outputs]

    def _codes(self, value: str) -> str:
        maker = self.before.maker.get(value)
        codes = maker is not None and maker.op_type == _DEQUANTISER
        return self._data(maker.inputs[0] if maker is not None and codes else value)

    def _twin(self, op: Op, place: int, known: Mapping[str, str]) -> str | None:
        """Return the output of the one original node that computes the same from the same."""
        reads = []
        for value in op.inputs:
            if value in known:
                reads.append(self.same.get(known[value], known[value]))
            elif value not in self.after.constant:
                return None
        twins = self.twins.get((op.op_type, tuple(reads)), [])
        if not reads or len(twins) != 1 or place >= len(twins[0].outputs):
            return None
        return twins[0].outputs[place]

    def _asked(self) -> dict[str, str]:
        """Return what operands must be, from nodes that are the same and whose result is known."""
        found: dict[str, str] = {}
        for op in self.after.ops:
            twin = self.before.maker.get(self.sure.get(op.outputs[0], "")) if op.outputs else None
            if twin is None or twin.op_type != op.op_type or op.op_type in self.moves:
                continue
            mine = [i for i in op.inputs if i not in self.after.constant]
            theirs = [i for i in twin.inputs if i not in self.before.constant]
            if len(mine) == len(theirs) == 1:
                found[mine[0]] = theirs[0]
        return found


def _twins(before: Net, same: Mapping[str, str]) -> dict[tuple[str, tuple[str, ...]], list[Op]]:
    found: dict[tuple[str, tuple[str, ...]], list[Op]] = {}
    for op in before.ops:
        reads = tuple(same.get(i, i) for i in op.inputs if i not in before.constant)
        found.setdefault((op.op_type, reads), []).append(op)
    return found


def _unchanged(before: Net, same: Mapping[str, str]) -> dict[str, str]:
    """Add to values with the same numbers those that operators pass on as they are."""
    found = dict(same)
    for op in before.ops:
        if op.op_type in ("Identity", "Dropout") and op.inputs and op.outputs:
            found.setdefault(op.outputs[0], found.get(op.inputs[0], op.inputs[0]))
    return found
