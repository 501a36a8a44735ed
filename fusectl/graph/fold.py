"""Constant folding on an overlay: what is computed from constants alone is a constant."""

from __future__ import annotations

from collections.abc import Container, Iterable

from fusectl.graph.overlay import Group, Overlay

_RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli")
NOT_FOLDED = frozenset((*_RANDOM, "Multinomial", "Dropout", "If", "Loop", "Scan", "SequenceEmpty"))


def fold(
    overlay: Overlay,
    left: Iterable[str] = (),
    shapes: bool = True,
    types: bool = False,
    also: Container[str] = (),
) -> None:
    """Fold every node that reads only constants, except operators in ``left``.

    Operators outside ONNX are left alone unless ``also`` has them: nothing can compute them here.

    ``shapes``: the Shape of a value whose dimensions are all numbers is a constant as well.
    ``types``: so is a constant that is cast to the type of a value, if that type is known.
    """
    kept = NOT_FOLDED.union(left)
    for group in overlay.groups:
        if not group.alive or group.fused or group.op in kept or not group.outputs:
            continue
        foreign = "." in group.op and group.op not in also
        if foreign or any(o in overlay.returned for o in group.outputs):
            continue
        if shapes and group.op in ("Shape", "Size") and _static(overlay, group):
            overlay.fold(group)
            continue
        reads = [v for v in group.inputs if v]
        if types and group.op == "CastLike" and overlay.type_of(reads[-1]).dtype:
            reads = reads[:1]
        if reads and all(overlay.is_constant(v) for v in reads):
            overlay.fold(group)


def _static(overlay: Overlay, group: Group) -> bool:
    return overlay.type_of(group.inputs[0]).static is not None
