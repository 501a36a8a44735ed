"""Partial matches of patterns of several nodes, and what the search for them asks of a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fusectl.graph.overlay import Group
from fusectl.match.candidate import Role
from fusectl.tables.patterns import Pattern, PatternNode

COMMON = frozenset(("Add", "Sub", "Mul", "Div", "MatMul", "Cast", "Gather", "Slice", "Concat"))
"""Operators that stand everywhere: of equally rare ones, another tells more."""
_QUANTISERS = frozenset(("QuantizeLinear", "DequantizeLinear"))
CROWD = 16
"""A value with more readers tells nothing about the neighbourhood."""


@dataclass(frozen=True, slots=True)
class Near:
    """A partial match: what plays the roles, what stands where none does, and how much is wrong.

    ``behind`` are nodes that would play a role if the stand-in did not stand beside them;
    ``skipped``: of one role nothing is there, and its reader reads what it would read.
    ``wrong`` counts the constants that are none or have another value, ``odd`` the values that
    stand-ins should read and do not.
    """

    pattern: Pattern
    roles: tuple[Role | None, ...]
    bound: dict[str, str]
    stand_ins: dict[int, Group]
    behind: dict[int, Group]
    skipped: bool
    wrong: int
    odd: int

    @property
    def missing(self) -> int:
        """How many roles nothing plays."""
        return self.roles.count(None)

    @property
    def lacks(self) -> int:
        """How many facts do not hold; a node of which there is no trace counts twice."""
        traced = len(self.stand_ins) + self.skipped
        return 2 * self.missing - traced + self.wrong + self.odd

    @property
    def rank(self) -> tuple[int, int, bool, int]:
        """Fewest facts that do not hold; then fewest nodes missing, then the larger spelling."""
        return self.lacks, self.missing, self.skipped, -len(self.roles)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the search asks of a pattern again and again.

    ``least`` nodes have to match, and ``most`` may be lacking; ``few``: where the least is fewer
    than three, more has to be right. ``telling`` are the nodes with operators that do not stand
    everywhere; ``around`` are for each node the operators that make what it reads and that read
    what it makes.
    """

    pattern: Pattern
    least: int
    most: int
    few: bool
    quantised: bool
    telling: tuple[bool, ...]
    around: tuple[tuple[frozenset[str], frozenset[str]], ...]
    every: frozenset[str]


_SHAPES: dict[int, Shape] = {}


def shape_of(pattern: Pattern) -> Shape:
    """Return what the search asks of a pattern, made once."""
    known = _SHAPES.get(id(pattern))
    if known is not None and known.pattern is pattern:
        return known
    nodes = pattern.nodes
    quantised = is_quantised(pattern)
    # Quantisers already say what is meant.
    least = 2 if len(nodes) == 3 else max((len(nodes) + 1) // 2, 2 if quantised else 3)
    few = least == 2 and not quantised
    around = tuple((_ops(nodes, n.inputs, True), _ops(nodes, n.outputs, False)) for n in nodes)
    dull = _QUANTISERS if quantised else COMMON
    telling = tuple(n.ops.isdisjoint(dull) for n in nodes)
    every = frozenset().union(*(n.ops for n in nodes))
    found = Shape(pattern, least, len(nodes) - least + 1, few, quantised, telling, around, every)
    _SHAPES[id(pattern)] = found
    return found


def _ops(nodes: Sequence[PatternNode], values: Sequence[str], make: bool) -> frozenset[str]:
    """The operators that make some values of a pattern, or that read them."""
    ends = (n for n in nodes if set(n.outputs if make else n.inputs) & set(filter(None, values)))
    return frozenset().union(*(n.ops for n in ends))


def is_quantised(pattern: Pattern) -> bool:
    """Tell whether a pattern has a quantiser or dequantiser."""
    return any(not n.ops.isdisjoint(_QUANTISERS) for n in pattern.nodes)
