"""No-ops: what a node must look like to change nothing. Facts of the ONNX operators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fusectl.graph.constants import Unreadable
from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.types import fits_into

_DEQUANTISER = "DequantizeLinear"

Predicate = Callable[[Overlay, Group], str]
"""Returns why the node changes nothing, or an empty string."""


def _identity(overlay: Overlay, group: Group) -> str:
    return "it passes its input on"


def _dropout(overlay: Overlay, group: Group) -> str:
    mask = group.outputs[1] if len(group.outputs) > 1 else ""
    if mask and (overlay.users(mask) or mask in overlay.returned):
        return ""
    mode = group.inputs[2] if len(group.inputs) > 2 else ""
    if mode and overlay.scalar(mode) != 0:
        return ""
    return "inference mode: it passes its input on"


def _cast(overlay: Overlay, group: Group) -> str:
    before = overlay.type_of(group.inputs[0]).dtype
    after = overlay.type_of(group.outputs[0]).dtype
    return f"{before} to {after}: the same type" if before and before == after else ""


def _same_shape(overlay: Overlay, group: Group) -> str:
    before = overlay.known_type_of(group.inputs[0]).dims
    after = overlay.known_type_of(group.outputs[0]).dims
    if before is None or before != after or None in before:
        return ""
    return "the shape stays as it is"


def _transpose(overlay: Overlay, group: Group) -> str:
    perm = overlay.attr(group, "perm")
    identity = isinstance(perm, tuple) and list(perm) == list(range(len(perm)))
    return "the permutation moves nothing" if identity else ""


def _clip(overlay: Overlay, group: Group) -> str:
    if any(group.inputs[1:]):
        return ""
    stated = group.lead.attrs if group.lead is not None else {}
    biggest = float(np.finfo(np.float32).max)
    low, high = stated.get("min", -biggest), stated.get("max", biggest)
    open_ended = float(str(low)) <= -biggest and float(str(high)) >= biggest
    return "it has no bounds" if open_ended else ""


def _neutral(operand: float, sides: tuple[int, ...]) -> Predicate:
    """An operand that changes nothing: one element, since a whole tensor of zeros is a bias."""

    def predicate(overlay: Overlay, group: Group) -> str:
        side = _neutral_side(overlay, group, operand, sides)
        return "" if side is None else f"{group.inputs[side]} is {operand:g}"

    return predicate


def _neutral_side(
    overlay: Overlay, group: Group, operand: float, sides: tuple[int, ...]
) -> int | None:
    for side in sides:
        value, other = group.inputs[side], group.inputs[1 - side]
        if not overlay.is_constant(value) or overlay.scalar(value) != operand:
            continue
        if _kept(overlay, group, value, other):
            return side
    return None


def _neutral_tensor(operand: float, sides: tuple[int, ...]) -> Predicate:
    """An operand of any size that is neutral throughout and does not make the result larger."""

    def predicate(overlay: Overlay, group: Group) -> str:
        side = _neutral_tensor_side(overlay, group, operand, sides)
        return "" if side is None else f"{group.inputs[side]} is {operand:g} throughout"

    return predicate


def _neutral_tensor_side(
    overlay: Overlay, group: Group, operand: float, sides: tuple[int, ...]
) -> int | None:
    for side in sides:
        value, other = group.inputs[side], group.inputs[1 - side]
        shapes = overlay.type_of(value).dims, overlay.type_of(other).dims
        if not overlay.is_constant(value) or not fits_into(*shapes):
            continue
        try:
            array = overlay.array(value)
        except (Unreadable, KeyError):
            continue
        if array.size and bool(np.all(array == operand)):
            return side
    return None


def _kept(overlay: Overlay, group: Group, single: str, source: str) -> bool:
    """Tell whether broadcasting against one element leaves a shape as it is.

    Sizes may be unknown, but the rank has to be known before sizes are followed through the graph:
    compilers stop there.
    """
    before, after = overlay.known_type_of(source), overlay.known_type_of(group.outputs[0])
    if before.dims is not None and before == after and None not in before.dims:
        return True
    one, dims = overlay.type_of(single).dims, overlay.plain_type_of(source).dims
    return one is not None and dims is not None and len(one) <= len(dims)


def _single(overlay: Overlay, group: Group) -> str:
    return "it has one input" if len(group.inputs) == 1 else ""


def _requantised(overlay: Overlay, group: Group) -> str:
    """A quantiser of what a dequantiser made of the same codes, each with one reader."""
    before = overlay.producers.get(group.inputs[0])
    if before is None or before.op != _DEQUANTISER or before.fused:
        return ""
    maker = overlay.producers.get(before.inputs[0])
    values = (before.inputs[0], *before.outputs, *group.outputs)
    single = all(
        len(overlay.users(v)) == 1 and v not in overlay.returned and v not in overlay.captured
        for v in values
    )
    behind = single and overlay.users(group.outputs[0])[0][0].op == _DEQUANTISER
    if maker is None or maker.op != "QuantizeLinear" or not behind:
        return ""
    return "it gives the codes that were dequantised" if _same_codes(overlay, before, group) else ""


def _same_codes(overlay: Overlay, one: Group, other: Group) -> bool:
    """Tell whether a dequantiser and a quantiser undo each other: one scale, one zero point.

    Sure for codes of 8 bits and a scale in single precision: the quotient is off by less than half
    a code. Of 16 bits, or in half precision, it need not be.
    """
    if len(one.inputs) != len(other.inputs) or len(one.inputs) < 3:
        return False
    scale, zero_point = (overlay.type_of(v).dtype for v in one.inputs[1:3])
    if scale != "float32" or zero_point not in ("int8", "uint8"):
        return False
    for a, b in zip(one.inputs[1:], other.inputs[1:], strict=True):
        if not overlay.is_constant(a) or not overlay.is_constant(b):
            return False
        if overlay.type_of(a).dtype != overlay.type_of(b).dtype:
            return False
        if overlay.scalar(a) is None or overlay.scalar(a) != overlay.scalar(b):
            return False
    return True


def passed_on(overlay: Overlay, group: Group) -> str:
    """Return what a no-op's readers read instead.

    Mostly its first operand; the codes behind a dequantiser, the operand beside a neutral one.
    """
    if group.op == "QuantizeLinear":
        return overlay.producers[group.inputs[0]].inputs[0]
    operand, sides = _NEUTRAL.get(group.op, (0.0, ()))
    for find in (_neutral_side, _neutral_tensor_side):
        side = find(overlay, group, operand, sides)
        if side is not None:
            return group.inputs[1 - side]
    return group.inputs[0]


def _pad(overlay: Overlay, group: Group) -> str:
    pads = group.lead.attrs.get("pads") if group.lead is not None else None
    if pads is None and len(group.inputs) > 1 and overlay.is_constant(group.inputs[1]):
        try:
            pads = tuple(overlay.array(group.inputs[1]).reshape(-1).tolist())
        except (Unreadable, KeyError):
            return ""
    return "all pads are 0" if isinstance(pads, tuple) and not any(pads) else ""


_NEUTRAL = {"Add": (0.0, (1, 0)), "Sub": (0.0, (1,)), "Mul": (1.0, (1, 0)), "Div": (1.0, (1,))}
"""The operand that changes nothing, and the places where it may stand, by operator."""

NO_OPS: dict[str, Predicate] = {
    "Identity": _identity,
    "Dropout": _dropout,
    "Cast": _cast,
    "CastLike": _cast,
    "Reshape": _same_shape,
    "Flatten": _same_shape,
    "Expand": _same_shape,
    "Transpose": _transpose,
    "Clip": _clip,
    **{op: _neutral(*how) for op, how in _NEUTRAL.items()},
    "Concat": _single,
    "Sum": _single,
    "Max": _single,
    "Min": _single,
    "Pad": _pad,
    "QuantizeLinear": _requantised,
}

TENSORS: dict[str, Predicate] = {op: _neutral_tensor(*how) for op, how in _NEUTRAL.items()}
"""For compilers that look at every element of a constant operand."""
