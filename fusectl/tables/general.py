"""Whether one pattern matches wherever another one does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from fusectl.errors import Span
from fusectl.tables.patterns import Pattern, PatternNode
from fusectl.tables.schema import Range


def covers(general: Pattern, special: Pattern) -> dict[str, str] | None:
    """Return which value of ``special`` each value of ``general`` is, or None.

    Not None says: wherever ``special`` matches, ``general`` matches with the same edge. The
    answer is sure; where it would take more than the text of both to tell, it is None.
    """
    if len(general.nodes) != len(special.nodes) or not within(special.opset, general.opset):
        return None
    for names in _play(general.nodes, special.nodes, 0, frozenset(), {}):
        facts = ((names[v], fact) for v, fact in general.where.items())
        held = all(bare(fact) == bare(special.where.get(v)) for v, fact in facts)
        if held and names[general.edge] == special.edge:
            return names
    return None


def bare(value: object, without: frozenset[str] = frozenset()) -> object:
    """Return what a record of a table says, without the places where it says it."""
    if isinstance(value, dict):
        return {key: bare(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return tuple(map(bare, value))
    if not is_dataclass(value):
        return value
    named = ((f.name, getattr(value, f.name)) for f in fields(value) if f.name not in without)
    return {name: bare(entry) for name, entry in named if not isinstance(entry, Span)}


def within(inner: Range, outer: Range) -> bool:
    """Tell whether a range of versions lies inside another one."""
    upper = not outer.max or (0 < inner.max <= outer.max)
    return inner.min >= outer.min and upper


def _play(
    general: tuple[PatternNode, ...],
    special: tuple[PatternNode, ...],
    index: int,
    used: frozenset[int],
    names: dict[str, str],
) -> Iterator[dict[str, str]]:
    """Yield every way in which the nodes of one pattern can play those of the other."""
    if index == len(general):
        yield names
        return
    for other, node in enumerate(special):
        if other in used or not _takes(general[index], node):
            continue
        for bound in _bindings(general[index], node, names):
            yield from _play(general, special, index + 1, used | {other}, bound)


def _takes(general: PatternNode, special: PatternNode) -> bool:
    alike = len(general.inputs) == len(special.inputs)
    alike = alike and len(general.outputs) == len(special.outputs)
    attrs = all(special.attrs.get(key) == value for key, value in general.attrs.items())
    return alike and attrs and special.ops <= general.ops and special.variadic <= general.ops


def _bindings(
    general: PatternNode, special: PatternNode, names: dict[str, str]
) -> Iterator[dict[str, str]]:
    orders = [special.inputs]
    if general.commutative and special.commutative:
        orders.append(special.inputs[::-1])
    for inputs in orders:
        bound = dict(names)
        pairs = (*zip(general.inputs, inputs, strict=True),)
        pairs += (*zip(general.outputs, special.outputs, strict=True),)
        if all(bound.setdefault(own, value) == value for own, value in pairs):
            yield bound
