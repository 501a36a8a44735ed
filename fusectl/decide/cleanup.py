"""The passes that open and close fusions: eliminate, share, retype, merge equal nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from math import prod

from fusectl.decide.noop import NO_OPS, TENSORS, passed_on
from fusectl.graph.constants import Unreadable
from fusectl.graph.fold import NOT_FOLDED
from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.view import Node
from fusectl.tables.operators import Operators
from fusectl.tables.target_schema import Retype, Share


@dataclass(frozen=True, slots=True)
class Removed:
    """A node that a pass removed, and why it may."""

    node: Node
    step: int
    why: str


def eliminate(
    overlay: Overlay, ops: Iterable[str], step: int, tensors: bool = False
) -> list[Removed]:
    """Remove the no-ops among the listed operators: those that do nothing where they stand.

    ``tensors``: a constant operand of several elements may be neutral as well.
    """
    removed: list[Removed] = []
    known = {**NO_OPS, **TENSORS} if tensors else NO_OPS
    for group in overlay.of_op(ops):
        predicate = known.get(group.op)
        if predicate is None or group.fused or not group.inputs or not group.inputs[0]:
            continue
        why = predicate(overlay, group)
        if why:
            removed += _bypass(overlay, group, why, step)
    return removed


def _bypass(overlay: Overlay, group: Group, why: str, step: int) -> Iterator[Removed]:
    """Take a no-op out, and with a quantiser the dequantiser that nobody reads without it."""
    before, source = overlay.producers.get(group.inputs[0]), passed_on(overlay, group)
    if not overlay.bypass(group, source):
        return
    yield Removed(group.last, step, why)
    if before is None or source not in before.inputs or overlay.users(before.outputs[0]):
        return
    if overlay.bypass(before, source):
        yield Removed(before.last, step, "nobody reads it any more")


def merge_equal(overlay: Overlay, apart: Collection[str] = ()) -> None:
    """Merge nodes that compute the same from the same inputs.

    ``apart``: operators of which each reader has a copy of its own, so that no two read the same.
    """
    seen: dict[tuple[object, ...], Group] = {}
    for group in list(overlay.groups):
        if not group.alive or group.fused or group.op in NOT_FOLDED or group.op in apart:
            continue
        makers = (overlay.producers.get(v) for v in group.inputs)
        if apart and any(m is not None and m.op in apart for m in makers):
            continue
        if any(o in overlay.returned or o in overlay.captured for o in group.outputs):
            continue
        attributes = tuple(
            sorted(a.SerializeToString(deterministic=True) for a in group.last.proto.attribute)
        )
        key = (group.op, group.inputs, len(group.outputs), attributes)
        twin = seen.setdefault(key, group)
        if twin is not group:
            overlay.merge(group, twin)


def share(overlay: Overlay, how: Share) -> None:
    """Let equal small constants be one value, so that what reads them can be merged."""
    seen: dict[tuple[str, tuple[int, ...], bytes], str] = {}
    for value in list(overlay.uses):
        known = overlay.type_of(value)
        size = known.static
        if size is None or prod(size) > how.elements or not overlay.is_constant(value):
            continue
        if how.dtypes and known.dtype not in how.dtypes:
            continue
        if value in overlay.returned or value in overlay.captured:
            continue
        try:
            array = overlay.array(value)
        except (Unreadable, KeyError):
            continue
        twin = seen.setdefault((known.dtype, size, array.tobytes()), value)
        if twin is not value:
            overlay.redirect(value, twin)


def retype(overlay: Overlay, how: Retype, operators: Operators) -> None:
    """Change the codes between a quantiser and its only reader, a dequantiser with its zero point.

    Adding the same offset to codes and zero points changes no value.
    """
    for group in overlay.of_op(operators.expand("QuantizeLinear")):
        coded = group.outputs[0]
        users = overlay.users(coded)
        if coded in overlay.returned or len(users) != 1 or len(group.inputs) < 3:
            continue
        reader = users[0][0]
        if operators.acts_as(reader.op) != "DequantizeLinear" or len(reader.inputs) < 3:
            continue
        value = reader.outputs[0]
        readers = len(overlay.users(value)) + (value in overlay.returned)
        readers += len(overlay.captured.get(value, ()))
        # A dequantiser with several readers is copied for each, so its quantiser has several;
        # behind a transposition that was moved here, each reader has a pair of its own.
        alone = readers == 1 or value in overlay.transposed
        if overlay.type_of(coded).dtype != how.from_ or not alone:
            continue
        ours, theirs = overlay.scalar(group.inputs[2]), overlay.scalar(reader.inputs[2])
        if ours is not None and ours == theirs:
            overlay.retyped[coded] = how.to
