"""Edges of the original graph, seen to be fused or kept in the optimised one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

from fusectl.audit.anchor import Anchors
from fusectl.audit.net import SIZES, Net, Op
from fusectl.audit.work import End, Fate, Measured

_RECODE = ("QuantizeLinear", "DequantizeLinear")

Scope = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """One edge; ``kernel`` and ``node`` are what runs it where it is fused."""

    value: str
    producer: Op
    consumer: Op
    fate: Fate
    kernel: str = ""
    node: str = ""
    between: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """What computes an anchored value: its kernels, and the original data that they read."""

    result: str
    ops: tuple[Op, ...]
    reads: frozenset[str]


class Laid:
    """An optimised graph laid over the original one."""

    def __init__(self, before: Net, after: Net, anchors: Anchors, moves: Collection[str]) -> None:
        self.before = before
        self.after = after
        self.anchors = anchors
        self.moves = frozenset(moves)
        self.places: dict[str, list[str]] = {}
        for value, original in anchors.of.items():
            self.places.setdefault(original, []).append(value)
        self.present = {anchors.data(original) for original in self.places}
        self.numbered = {op.index: op for op in before.ops}
        self.eliminated: dict[int, str | None] = {}
        self.region = cache(self._region)
        self.inside = cache(self._inside)
        self.covers = cache(self._covers)

    def measured(self, scope: Scope = ()) -> list[Measured]:
        """Return all edges as the audit takes them; ``scope`` says where the graph is."""
        return [
            Measured(
                seen.value,
                _end(seen.producer),
                _end(seen.consumer),
                seen.fate,
                seen.kernel,
                seen.node,
                seen.between,
                bool({seen.producer.op_type, seen.consumer.op_type} & self.moves)
                or seen.producer.bodies
                or seen.consumer.bodies,
                scope,
            )
            for seen in self.edges()
            if seen.consumer.outputs
        ]

    def edges(self) -> Iterator[Seen]:
        """Yield every edge between two nodes of the original graph, in its order.

        Where nodes have been eliminated, the edge over them is told as well.
        """
        for consumer in self.before.ops:
            for value in dict.fromkeys(consumer.inputs):
                yield from self._edge(value, consumer)

    def _edge(self, value: str, consumer: Op) -> Iterator[Seen]:
        before = self.before
        producer = before.maker.get(value)
        between: list[str] = []
        while producer is not None and producer.op_type != "Constant":
            if value in before.constant:
                yield Seen(value, producer, consumer, "folded", between=tuple(between))
                return
            source = self._passes_on(producer)
            if source is None and not self._vanished(consumer):
                yield self._judge(value, producer, consumer, tuple(between))
                return
            yield Seen(value, producer, consumer, "eliminated", between=tuple(between))
            if source is None:
                return
            between.append(producer.op_type)
            value, producer = source, before.maker.get(source)

    def _vanished(self, op: Op) -> bool:
        return self._passes_on(op) is not None

    def _passes_on(self, op: Op) -> str | None:
        """Return the operand whose data a node passed on, if the optimised graph has it no more."""
        known = self.eliminated.get(op.index, "?")
        if known == "?":
            known = self.eliminated[op.index] = self._source(op)
        return known

    def _source(self, op: Op) -> str | None:
        if any(o in self.places for o in op.outputs):
            return None
        data = {self.anchors.data(o) for o in op.outputs}
        for value in op.inputs:
            if self.anchors.data(value) in data and self._stands(value):
                return value
        return None

    def _stands(self, value: str) -> bool:
        """Tell whether the optimised graph has a value, or it was passed on from one it has.

        A scale of one leaves the same numbers behind as a node that was removed. There the
        optimised graph has only the result.
        """
        if value in self.places:
            return True
        maker = self.before.maker.get(value)
        return maker is not None and self._passes_on(maker) is not None

    def _judge(self, value: str, producer: Op, consumer: Op, between: tuple[str, ...]) -> Seen:
        covers = self.covers(consumer.index)
        data = self.anchors.data(value)
        if any(
            data in region.reads
            or self._moved(region, producer, consumer)
            or self._reordered(region, value, producer, consumer)
            for region in covers
        ):
            return Seen(value, producer, consumer, "kept", between=between)
        kernels = [self._kernel(region, producer) for region in covers]
        if not kernels or None in kernels:
            return Seen(value, producer, consumer, "unresolved", between=between)
        kernel = kernels[0]
        assert kernel is not None
        if value in self.before.sizes and not any(map(self._asks, covers)):
            return Seen(value, producer, consumer, "folded", between=between)
        if consumer.op_type in self.moves and data in map(self.anchors.data, consumer.outputs):
            return Seen(value, producer, consumer, "eliminated", between=between)
        return Seen(value, producer, consumer, "fused", kernel.op_type, kernel.name, between)

    def _reordered(self, region: Region, value: str, producer: Op, consumer: Op) -> bool:
        """Tell whether codes, or what they stand for, are read before the move in front of them.

        Compilers move a transposition behind a quantiser and a dequantiser, which then remain.
        """
        either = [value] if producer.op_type in _RECODE else []
        either += consumer.outputs if consumer.op_type == _RECODE[1] else []
        numbers = set(map(self.anchors.numbers, either))
        return not numbers.isdisjoint(map(self.anchors.numbers, region.reads))

    def _asks(self, region: Region) -> bool:
        """Tell whether a region has to do with sizes; what is known of them is a constant there."""
        sizes = map(self.anchors.data, self.before.sizes)
        asks = any(op.op_type in SIZES for op in region.ops)
        return asks or not region.reads.isdisjoint(sizes)

    def _moved(self, region: Region, producer: Op, consumer: Op) -> bool:
        """Tell whether what computes a value and what moves it are still two nodes."""
        apart = consumer.op_type in self.moves and producer.op_type not in self.moves
        return (
            apart
            and region.ops[0].op_type in self.moves
            and self._kernel(region, producer) is not None
        )

    def _kernel(self, region: Region, producer: Op) -> Op | None:
        """Return the one kernel that computes a region, if the producer is in it."""
        inner = self.inside(region)
        kernels = [op for op in region.ops if op.op_type not in self.moves]
        if inner is None or producer.index not in inner or len(kernels) != 1:
            return None
        return kernels[0]

    def _covers(self, index: int) -> tuple[Region, ...]:
        """Return the regions that compute a node's result, or in which it has vanished."""
        consumer = self.numbered[index]
        # A dequantiser that is left out hands on its codes: what it reads is the codes themselves.
        halting = {*self.moves, "DequantizeLinear"}
        found: dict[str, Region] = {}
        for result in self._anchored_below(consumer):
            for place in self.places[result]:
                region = self.region(place, consumer.op_type not in halting)
                if region is not None:
                    found.setdefault(place, region)
        # A copy of a result reads that result: what computes it counts, if it can be seen.
        makers = [r for r in found.values() if self.anchors.data(r.result) not in r.reads]
        return tuple(
            r
            for r in makers or found.values()
            if (inner := self.inside(r)) is None or index in inner
        )

    def _anchored_below(self, consumer: Op) -> Iterator[str]:
        """Yield the node's results if the optimised graph has them, else the next ones below."""
        own = [o for o in consumer.outputs if o in self.places]
        if own:
            yield from own
            return
        waiting, seen = list(consumer.outputs), set(consumer.outputs)
        while waiting:
            value = waiting.pop()
            for reader in self.before.readers.get(value, ()):
                for output in reader.outputs:
                    if output in seen:
                        continue
                    seen.add(output)
                    if output in self.places:
                        yield output
                    else:
                        waiting.append(output)

    def _region(self, place: str, through: bool) -> Region | None:
        """Walk back from an optimised value to the next ones that are known.

        ``through``: also past copies of the result itself, to what computes it. Where a bias is
        zero, or a factor one, the numbers alone would take a copy for the operand.
        """
        after, known = self.after, self.anchors.of
        top = after.maker.get(place)
        if top is None:
            return None
        ops, reads, waiting = {top.index: top}, set[str](), list(top.inputs)
        while waiting:
            value = waiting.pop()
            if value in known and not (through and self._copies(value, place)):
                reads.add(self.anchors.data(known[value]))
                continue
            op = after.maker.get(value)
            if op is not None and op.index not in ops and value not in after.constant:
                ops[op.index] = op
                waiting += op.inputs
        return Region(known[place], tuple(ops.values()), frozenset(reads))

    def _copies(self, value: str, place: str) -> bool:
        """Tell whether a value without a name of its own holds the same data as another."""
        anchors = self.anchors
        alike = anchors.data(anchors.of[value]) == anchors.data(anchors.of[place])
        return alike and value not in anchors.sure

    def _inside(self, region: Region) -> frozenset[int] | None:
        """Return the original nodes that a region stands for; None if it reads too little."""
        before = self.before
        found, waiting = set[int](), [region.result]
        while waiting:
            value = waiting.pop()
            op = before.maker.get(value)
            if op is None:
                if value in before.constant:
                    continue
                return None
            if value in before.constant or op.index in found:
                continue
            found.add(op.index)
            waiting += [i for i in op.inputs if self.anchors.data(i) not in region.reads]
        return frozenset(found)


def _end(op: Op) -> End:
    return End(op.name, op.op_type, op.outputs[0] if op.outputs else "")
