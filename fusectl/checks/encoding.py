"""Scales, zero points and the codes they stand for."""

from __future__ import annotations

import numpy as np

from fusectl.checks.describe import constant, number
from fusectl.checks.neighbours import made_along, makers
from fusectl.checks.parameters import parameter
from fusectl.checks.registry import Args, Outcomes, check, fail, names, runtime, unknown
from fusectl.graph.constants import Array, Unreadable
from fusectl.match.candidate import Candidate, Role

_CODES = {
    "int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535),
    "int4": (-8, 7), "uint4": (0, 15),
}  # fmt: skip


def _array(candidate: Candidate, name: str) -> Array | None:
    value = candidate.bound.get(name, "")
    if not value:
        return None
    try:
        return candidate.overlay.array(value)
    except (Unreadable, KeyError):
        return None


@check("implied-by-codes", "clip", takes=("limit", "scale", "zero"))
def implied_by_codes(candidate: Candidate, args: Args) -> Outcomes:
    """The quantiser's codes imply the limit: its bounds quantise to the first and last code."""
    role = candidate.role_of(str(args["limit"]))
    if role is None:
        return None
    low, high, late = bounds(candidate, role)
    if late:
        return [runtime(role.node.label, "a bound", late)]
    coded = candidate.consumer.outputs[0]
    zero = _array(candidate, str(args["zero"]))
    dtype = candidate.overlay.type_of(coded).dtype or (str(zero.dtype) if zero is not None else "")
    scale = _array(candidate, str(args["scale"]))
    if scale is None or dtype not in _CODES or low is None or high is None:
        return [unknown(role.node.label, f"scale, code type or bounds are not known ({dtype})")]
    first, last = _CODES[dtype]
    offset = zero.astype(np.float64) if zero is not None else np.zeros(1)
    step = scale.astype(np.float64)
    with np.errstate(over="ignore"):
        q_low = np.clip(np.rint(low / step) + offset, first, last)
        q_high = np.clip(np.rint(high / step) + offset, first, last)
    if bool(np.all(q_low == first)) and bool(np.all(q_high == last)):
        return None
    shown = f"Q({number(low)}) = {q_low.max():g}, Q({number(high)}) = {q_high.min():g}"
    return [
        fail(
            role.node.label,
            f"{shown}; the codes go from {first} to {last}, so {role.op} still cuts some",
            f"choose scale and zero point so that {first} and {last} stand for its bounds, or "
            "keep it",
        )
    ]


def bounds(candidate: Candidate, role: Role) -> tuple[float | None, float | None, str]:
    """Return a limit's bounds, or the run-time value that is one."""
    if candidate.operators.acts_as(role.op) == "Relu":
        return 0.0, float("inf"), ""
    low, high = (parameter(candidate.overlay, role, n) for n in ("min", "max"))
    if low.runtime or high.runtime:
        return None, None, low.runtime or high.runtime
    return _bound(low.value, float("-inf")), _bound(high.value, float("inf")), ""


def _bound(value: object, default: float) -> float:
    if isinstance(value, tuple):
        value = value[0] if value else None
    return default if value is None else float(str(value))


@check("same-encoding", "requantize", takes=("scales", "zeros"))
def same_encoding(candidate: Candidate, args: Args) -> Outcomes:
    """Scale and zero point are the same in front of the operator and behind it."""
    overlay = candidate.overlay
    found = []
    codes = [candidate.bound.get(n, "") for n in ("xq", "q")]
    kinds = [overlay.type_of(v).dtype for v in codes]
    if kinds[0] != kinds[1]:
        seen = f"{codes[0]} is {kinds[0] or '?'}, {codes[1]} is {kinds[1] or '?'}"
        found.append(fail(candidate.consumer.node.label, seen, "use one code type"))
    for key, word in (("scales", "scale"), ("zeros", "zero point")):
        a, b = (candidate.bound.get(str(n), "") for n in args[key])
        left, right = (_array(candidate, str(n)) for n in args[key])
        if (a and left is None) or (b and right is None):
            found.append(unknown(b or a, f"the {word}s {a} and {b} cannot be compared"))
            continue
        zero = np.zeros(1)
        one, two = (left if left is not None else zero), (right if right is not None else zero)
        same = one.size == two.size == 1 and bool(np.all(one.reshape(-1) == two.reshape(-1)))
        if not same:
            shown = f"{constant(overlay, a)} and {constant(overlay, b)}"
            found.append(
                fail(
                    candidate.consumer.node.label,
                    f"the {word} is {shown}",
                    f"give both sides one {word} for the whole tensor: moving data does not "
                    "change its range",
                )
            )
    if not found and not _codes_return(candidate, kinds[0], args):
        found.append(
            fail(
                candidate.consumer.node.label,
                f"dequantising and quantising again does not give back every {kinds[0]} code",
                "use a wider type for the scale",
            )
        )
    return found or None


def _codes_return(candidate: Candidate, dtype: str, args: Args) -> bool:
    """Tell by enumeration whether every code survives dequantising and quantising."""
    scale = _array(candidate, str(args["scales"][0]))
    zero = _array(candidate, str(args["zeros"][0]))
    if scale is None or dtype not in _CODES:
        return True
    first, last = _CODES[dtype]
    offset = int(zero.reshape(-1)[0]) if zero is not None and zero.size else 0
    codes = np.arange(first, last + 1, dtype=np.int64)
    step = scale.reshape(-1)[:1]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        kind = scale.dtype
        numbers = np.multiply((codes - offset).astype(kind), step, dtype=kind)
        again = np.rint(np.divide(numbers, step, dtype=kind).astype(np.float64)) + offset
    return bool(np.array_equal(np.clip(again, first, last), codes))


@check("positive-scale", "constant-value", takes=("scale",))
def positive_scale(candidate: Candidate, args: Args) -> Outcomes:
    """The scale is positive, so that codes stand in the order of the numbers they mean."""
    name = str(args["scale"])
    scale = _array(candidate, name)
    if scale is None or bool(np.all(scale.astype(np.float64) > 0)):
        return None
    value = candidate.bound.get(name, name)
    return [fail(value, f"{value} is not positive: the largest code is the smallest number")]


@check("zero-point-shifts", "constant-value", takes=("values",))
def zero_point_shifts(candidate: Candidate, args: Args) -> Outcomes:
    """The dequantisers that make these operands have another zero point than 0."""
    found = []
    for _, maker in makers(candidate, args["values"], "DequantizeLinear"):
        zero = maker.inputs[2] if len(maker.inputs) > 2 else ""
        try:
            shifts = bool(zero) and bool(np.any(candidate.overlay.array(zero)))
        except (Unreadable, KeyError):
            found.append(unknown(maker.label, f"the zero point {zero} cannot be read"))
            continue
        if not shifts:
            found.append(fail(maker.label, f"{maker.label} has the zero point 0", "keep it"))
    return found or None


@check("zero-point-zero", "constant-value", takes=("values", "behind?"))
def zero_point_zero(candidate: Candidate, args: Args) -> Outcomes:
    """The dequantisers that make these operands have zero point 0 throughout.

    Where ``behind`` names chains of operators (``A>B``: a B whose first operand an A makes), codes
    that such a chain makes may have any.
    """
    found = []
    chains = args.get("behind", ())
    for _, maker in makers(candidate, args["values"], "DequantizeLinear"):
        zero = maker.inputs[2] if len(maker.inputs) > 2 else ""
        if not zero:
            continue
        codes = maker.inputs[0] if maker.inputs else ""
        if any(made_along(candidate, codes, c.split(">")) for c in names(chains)):
            continue
        try:
            nought = not np.any(candidate.overlay.array(zero))
        except (Unreadable, KeyError):
            found.append(unknown(maker.label, f"the zero point {zero} cannot be read"))
            continue
        if not nought:
            seen = f"{maker.label} has the zero point {constant(candidate.overlay, zero)}"
            found.append(fail(maker.label, seen, "quantise symmetrically, or keep it"))
    return found or None
