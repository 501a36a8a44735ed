"""Holds what ``writes`` says against the rule that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fusectl.errors import Problem, did_you_mean
from fusectl.graph.types import DTYPES
from fusectl.tables.patterns import Pattern
from fusectl.tables.schema import Taken, Writes


def check_writes(
    name: str, entries: Iterable[Writes], patterns: Iterable[Pattern], problems: list[Problem]
) -> None:
    """Refuse values and spellings that the rule ``name`` does not have."""
    patterns = tuple(patterns)
    values = {v for p in patterns for n in p.nodes for v in (*n.inputs, *n.outputs)}
    spellings = {p.name for p in patterns}
    known = set(DTYPES.values())
    for how in entries:
        for value in _values(how):
            if value and value not in values:
                hint = did_you_mean(value, values)
                problems.append(Problem(how.span, f"{name}: {value} is no value of the rule", hint))
        for dtype in set(how.casts.values()) - known:
            hint = did_you_mean(dtype, known)
            problems.append(Problem(how.span, f"{name}: {dtype} is no element type", hint))
        for wanted in how.patterns:
            if wanted not in spellings:
                hint = did_you_mean(wanted, spellings)
                message = f"{name} has no pattern named {wanted}"
                problems.append(Problem(how.span, message, hint))
        if not how.op and not how.keep:
            problems.append(Problem(how.span, f"{name}: writes needs the key op or the key keep"))


def _values(how: Writes) -> Iterator[str]:
    yield how.keep
    yield from (text.partition(".")[0] for text in how.inputs)
    yield from how.outputs
    yield from how.casts
    yield from how.zeros
    yield from how.zeros.values()
    yield from how.only
    yield from how.types
    if how.unsigned is not None:
        yield from (how.unsigned.codes, how.unsigned.zero, how.unsigned.beside)
    for taken in how.attributes.values():
        yield from _taken(taken)


def _taken(taken: Taken) -> Iterator[str]:
    yield from (taken.op, taken.constant, taken.of, taken.tail)
