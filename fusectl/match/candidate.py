"""What the matcher finds: roles of a pattern bound to nodes, and what stands between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.view import Node
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import Pattern
from fusectl.tables.rules import Rule
from fusectl.tables.target_schema import PathDoc
from fusectl.tables.targets import Target


@dataclass(frozen=True, slots=True)
class Role:
    """A node of the pattern and what plays it.

    Usually a whole group. Where ``held`` is set, it is one original node inside a group that
    another decision made, and ``node`` is that one.
    """

    group: Group
    node: Node
    held: bool = False

    @property
    def lead(self) -> Node:
        """The node whose attributes count: in a fused group, the one that gave it its operator."""
        return self.node if self.held or self.group.lead is None else self.group.lead

    @property
    def op(self) -> str:
        """The operator that plays the role."""
        return self.node.op if self.held else self.group.op

    @property
    def inputs(self) -> tuple[str, ...]:
        """The values that it reads."""
        return self.node.inputs if self.held else self.group.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The values that it makes."""
        return self.node.outputs if self.held else self.group.outputs


@dataclass(frozen=True, slots=True)
class Barrier:
    """A node between producer and consumer, the value it reads and the reason it gives."""

    group: Group
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Miss:
    """A role that nothing plays: what the pattern expects and what stands there.

    ``beside``: the right node is there, and ``group`` stands between it and the rest.
    """

    role: str
    expected: str
    observed: str
    group: Group | None = None
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where a rule could fire on a target.

    ``roles`` follows the pattern's nodes (None: missing); ``bound`` maps the pattern's values to
    the graph's; ``value`` is what the producer makes, ``slot`` the consumer's input that is
    reached from it; ``turned`` is the same with the producer's two operands exchanged.
    ``parts`` are the groups that the fusion would join, each once, in graph order; ``swallows``
    the values that would no longer exist: those made and read inside. ``off``: the rule is
    switched off for this run.
    """

    rule: Rule
    pattern: Pattern
    target: Target
    path: PathDoc | None
    overlay: Overlay
    operators: Operators
    roles: tuple[Role | None, ...]
    bound: dict[str, str]
    value: str
    producer: Role
    consumer: Role
    slot: int
    between: tuple[Barrier, ...] = ()
    missing: tuple[Miss, ...] = ()
    turned: Candidate | None = None
    equivalence: str = ""
    off: bool = False
    parts: tuple[Group, ...] = field(init=False)
    swallows: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Derive ``parts`` and ``swallows``, which nearly every check reads."""
        object.__setattr__(self, "parts", self._parts())
        object.__setattr__(self, "swallows", self._swallows())

    def _parts(self) -> tuple[Group, ...]:
        found = {id(r.group): r.group for r in self.roles if r is not None}
        if self.between:
            found |= {id(b.group): b.group for b in self.between}
        return tuple(sorted(found.values(), key=lambda g: g.order))

    def _swallows(self) -> tuple[str, ...]:
        if len(self.pattern.inner) == 1 and not self.between:
            several, read = self.producer.group.outputs, self.consumer.group.inputs
            if len(several) < 2 or not self.rule.two_node:
                return (self.value,)
            # A group that writes several values may be read more than once.
            return (self.value, *(v for v in several if v in read and v != self.value))
        inner = {self.bound[v] for v in self.pattern.inner if v in self.bound}
        made = {o: (r.group.order, i) for r in self.roles if r for i, o in enumerate(r.outputs)}
        # What stands in a gap of a near miss would be gone as well, an input of the graph not.
        beside = (g for v in inner - made.keys() if (g := self.overlay.producers.get(v)))
        made |= {o: (g.order, i) for g in beside for i, o in enumerate(g.outputs)}
        found = {v: made[v] for v in inner if v in made}
        found |= {b.group.outputs[0]: (b.group.order, 0) for b in self.between}
        return tuple(sorted(found, key=found.__getitem__))

    @property
    def ops(self) -> Iterator[str]:
        """The operators that play the pattern's roles."""
        return (r.op for r in self.roles if r is not None)

    @property
    def numerics(self) -> str:
        """Whether the fused form keeps the bits: ``exact`` or ``bounded``."""
        stated = self.path.numerics if self.path is not None else ""
        return stated or self.rule.numerics

    @property
    def told_value(self) -> str:
        """The value to tell: of an operator that a quantiser joined, the one before it."""
        core = self.producer.group.core
        return core[0] if core and not self.producer.held else self.value

    @property
    def told_producer(self) -> Node:
        """The node to tell as producer."""
        core = self.producer.group.core
        return core[1] if core and not self.producer.held else self.producer.node

    @property
    def told_between(self) -> tuple[Node, ...]:
        """The nodes to tell as standing between, in order."""
        core = self.producer.group.core
        first = (core[2],) if core and not self.producer.held else ()
        told = self.told_consumer
        joined = self.consumer.group.members if told is not self.consumer.node else ()
        last = (m for m in joined if m.outputs[:1] == told.inputs[:1])
        return (*first, *(b.group.last for b in self.between), *last)

    @property
    def told_consumer(self) -> Node:
        """The node to tell as consumer: of an operator that a quantiser joined, that operator."""
        core = self.consumer.group.core
        return core[1] if core and not self.consumer.held else self.consumer.node

    @property
    def told_op(self) -> str:
        """The operator to tell as consumer."""
        told = self.told_consumer
        return self.consumer.op if told is self.consumer.node else told.op

    def role_of(self, value: str) -> Role | None:
        """Return what plays the node that makes a value of the pattern."""
        for node, role in zip(self.pattern.nodes, self.roles, strict=True):
            if value in node.outputs:
                return role
        return None
