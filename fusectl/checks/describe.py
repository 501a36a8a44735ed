"""Words for nodes, values and constants in findings."""

from __future__ import annotations

import numpy as np

from fusectl.graph.constants import Unreadable
from fusectl.graph.overlay import Group, Overlay
from fusectl.match.candidate import Candidate


def number(value: float) -> str:
    """Return a number as people write it: seven digits, no trailing zeros."""
    return f"{value:.7g}"


def constant(overlay: Overlay, value: str) -> str:
    """Return a constant's contents in a few characters, or why they cannot be shown."""
    if not value:
        return "none"
    if not overlay.is_constant(value):
        return f"{value} (run time)"
    try:
        array = overlay.array(value)
    except (Unreadable, KeyError) as error:
        return f"unreadable ({error})"
    if array.size == 1:
        item = array.reshape(-1)[0]
        return str(item) if array.dtype.kind in "iub" else number(float(item))
    if array.size <= 4 and array.dtype.kind in "iuf":
        return "[" + ",".join(number(float(v)) for v in array.reshape(-1)) + "]"
    return f"{array.dtype}{list(array.shape)}"


def dtype_now(overlay: Overlay, value: str) -> str:
    """Return a value's element type, and what an earlier pass made of it."""
    stored, now = overlay.view.type_of(value).dtype, overlay.type_of(value).dtype
    if stored == now:
        return now or "of unknown type"
    return f"{stored}, which an earlier pass turned into {now}"


def types(overlay: Overlay, value: str) -> str:
    """Return element type and shape of a value."""
    return str(overlay.type_of(value))


def barrier(candidate: Candidate, group: Group) -> str:
    """Return a node that stands between, with what it does: scales, bounds, types, shapes."""
    overlay, inputs = candidate.overlay, group.inputs
    op = candidate.operators.acts_as(group.op)
    name = f"{group.label} {group.op}"
    if op in ("QuantizeLinear", "DequantizeLinear") and len(inputs) > 1:
        zero = constant(overlay, inputs[2]) if len(inputs) > 2 and inputs[2] else "0"
        coded = group.outputs[0] if op == "QuantizeLinear" else inputs[0]
        dtype = overlay.view.type_of(coded).dtype or "?"
        return f"{name} ({dtype}, scale {constant(overlay, inputs[1])}, zero point {zero})"
    if op == "Clip":
        low, high = bounds(candidate, group)
        return f"{name} [{low}, {high}]"
    if op in ("Min", "Max"):
        others = [constant(overlay, v) for v in inputs if overlay.is_constant(v)]
        return f"{name} {', '.join(others)}".rstrip()
    if op in ("Cast", "CastLike"):
        source, made = overlay.type_of(inputs[0]).dtype, overlay.type_of(group.outputs[0]).dtype
        return f"{name} ({source or '?'} to {made or '?'})"
    if candidate.operators.barrier(group.op) == "layout":
        return f"{name} ({types(overlay, inputs[0])} to {types(overlay, group.outputs[0])})"
    return name


def bounds(candidate: Candidate, group: Group) -> tuple[str, str]:
    """Return a Clip's limits as text, whether attributes or inputs."""
    overlay = candidate.overlay
    shown = []
    for slot, name, open_end in ((1, "min", "-inf"), (2, "max", "inf")):
        if len(group.inputs) > slot and group.inputs[slot]:
            shown.append(constant(overlay, group.inputs[slot]))
            continue
        stated = group.lead.attrs.get(name) if group.lead is not None else None
        infinite = stated is None or abs(float(str(stated))) >= float(np.finfo(np.float32).max)
        shown.append(open_end if infinite else number(float(str(stated))))
    return shown[0], shown[1]
