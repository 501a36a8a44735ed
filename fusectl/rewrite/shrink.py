"""The smallest part of a scope for which something still holds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from fusectl.graph.view import Step
from fusectl.rewrite.extract import Plan, build, captured
from fusectl.rewrite.source import Model, Source, reads

Holds = Callable[[Model], bool]
T = TypeVar("T", bound=Hashable)

_RINGS = 5
"""How far around the decision to look before taking the whole scope."""
_TRIALS = 600
"""Models to try at most."""
_BYTES = 64 << 20
"""Bytes of big constants that a trial may carry."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the part is about, by the names of the model.

    ``core`` names first outputs of nodes that stay; ``values`` are those whose every reader
    matters; ``names`` are further nodes and values that the findings speak of; ``seen_through``
    names first outputs of no-ops, whose readers read what stands before them.
    """

    scope: tuple[Step, ...]
    core: frozenset[str]
    values: frozenset[str]
    names: frozenset[str]
    seen_through: frozenset[str]


def smallest(source: Source, wanted: Wanted, holds: Holds) -> Model | None:
    """Return the smallest model found for which ``holds`` is true, or None if there is none.

    The part grows around the core until it holds, then loses piece after piece while it does.
    """
    return _Search(source, wanted, holds).run()


class _Search:
    def __init__(self, source: Source, wanted: Wanted, holds: Holds) -> None:
        self.source = source
        self.wanted = wanted
        self.holds = holds
        self.trials = 0
        places = source.makers
        self.core = frozenset(places[o] for o in wanted.core if o in places)

    def run(self) -> Model | None:
        plan = self._grown()
        if plan is None:
            return None
        before = None
        while plan != before:
            before = plan
            plan = self._fewer(plan)
        return build(self.source, plan)

    def _try(self, plan: Plan) -> bool:
        if self.trials >= _TRIALS:
            return False
        self.trials += 1
        return self.holds(build(self.source, plan))

    def _grown(self) -> Plan | None:
        part = self._seed()
        for ring in range(_RINGS + 1):
            if ring == _RINGS:
                part = set(range(len(self.source.nodes)))
            for plan in self._plans(self._with_constants(part)):
                if self._try(plan):
                    return plan
            part |= {near for place in part for near in self.source.around(place)}
        return None

    def _seed(self) -> set[int]:
        """The core, who else reads the values it is about, and what the findings name."""
        source = self.source
        part = set(self.core)
        pending = [*self.wanted.values, *(o for p in part for o in source.nodes[p].output)]
        done: set[str] = set()
        while pending:
            value = pending.pop()
            if value in done:
                continue
            done.add(value)
            for place in source.readers.get(value, ()):
                outputs = source.nodes[place].output
                if outputs and outputs[0] in self.wanted.seen_through:
                    pending.append(outputs[0])
                    part.add(place)
                elif value in self.wanted.values or value in self.wanted.seen_through:
                    part.add(place)
        part.update(self._before())
        for place, node in enumerate(source.nodes):
            if node.name in self.wanted.names or (
                node.output and node.output[0] in self.wanted.names
            ):
                part.add(place)
        for name in self.wanted.names:
            if name in source.view.constants:
                part.update(source.readers.get(name, ()))
        return part

    def _before(self) -> Iterator[int]:
        """Yield no-ops that stand in front of nodes of the core."""
        pending = list(self.core)
        while pending:
            for value in reads(self.source.nodes[pending.pop()]):
                maker = self.source.makers.get(value)
                if maker is not None and value in self.wanted.seen_through:
                    yield maker
                    pending.append(maker)

    def _with_constants(self, part: Iterable[int]) -> frozenset[int]:
        """Add the nodes that compute constants for a part."""
        found = set(part)
        pending = list(found)
        while pending:
            for value in reads(self.source.nodes[pending.pop()]):
                maker = self.source.makers.get(value)
                if maker is not None and maker not in found and self.source.fixed(maker):
                    found.add(maker)
                    pending.append(maker)
        return frozenset(found)

    def _plans(self, nodes: frozenset[int]) -> Iterator[Plan]:
        source = self.source
        returned = frozenset(
            o for p in nodes for o in source.nodes[p].output if o in source.view.outputs
        )
        known = {v for p in nodes for v in reads(source.nodes[p]) if v in source.view.constants}
        small = frozenset(v for v in known if source.small(v))
        datas = [small]
        if small != known and self._bytes(known - small) <= _BYTES:
            datas.append(frozenset(known))
        # With inner types, inference may get further than in the whole model; without, less far.
        for data in datas:
            yield from (Plan(nodes, returned, data, types=types) for types in (True, False))

    def _bytes(self, values: Iterable[str]) -> int:
        total = 0
        for value in values:
            size = 8
            for dim in self.source.view.type_of(value).static or ():
                size *= dim
            total += size
        return total

    def _fewer(self, plan: Plan) -> Plan:
        """Take away what is not needed: nodes, outputs, weights, bodies, types."""
        extra = sorted(plan.nodes - self.core)
        kept = _needed(extra, lambda k: self._try(replace(plan, nodes=self.core | k)))
        plan = replace(plan, nodes=self.core | kept)
        made = {o for p in plan.nodes for o in self.source.nodes[p].output}
        plan = replace(plan, returned=plan.returned & made)
        stay = _needed(sorted(plan.returned), lambda k: self._try(replace(plan, returned=k)))
        plan = replace(plan, returned=stay)
        read = {v for p in plan.nodes for v in reads(self.source.nodes[p])}
        small = frozenset(v for v in plan.data & read if self.source.small(v))
        big = _needed(
            sorted((plan.data & read) - small), lambda k: self._try(replace(plan, data=small | k))
        )
        plan = replace(plan, data=small | big)
        return self._plainer(plan)

    def _plainer(self, plan: Plan) -> Plan:
        for place in sorted(plan.nodes - plan.hollow):
            if self._hollows(place, plan):
                trial = replace(plan, hollow=plan.hollow | {place})
                plan = trial if self._try(trial) else plan
        if plan.types and self._try(replace(plan, types=False)):
            plan = replace(plan, types=False)
        return plan

    def _hollows(self, place: int, plan: Plan) -> bool:
        """Tell whether an If can be reduced: it only captures from the part."""
        node = self.source.nodes[place]
        if node.op_type != "If" or node.domain not in ("", "ai.onnx") or place in self.core:
            return False
        made = [o for p in plan.nodes for o in self.source.nodes[p].output if o]
        users = {p for o in node.output for p in self.source.readers.get(o, ())}
        return bool(captured(self.source, place, made)) and not users & plan.nodes


def _needed(items: list[T], holds: Callable[[frozenset[T]], bool]) -> frozenset[T]:
    """Return the items that cannot be taken away, in ever smaller chunks, while it holds."""
    size = len(items)
    while items and size:
        at = 0
        while at < len(items):
            rest = items[:at] + items[at + size :]
            if holds(frozenset(rest)):
                items = rest
            else:
                at += size
        size //= 2
    return frozenset(items)
