"""Named changes that a fusion makes to the node that stays: what ``writes: transforms`` names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx

from fusectl.rewrite import weights
from fusectl.rewrite.edit import float_of, input_of, int_of, put, set_to, stated
from fusectl.rewrite.forms import NotNative
from fusectl.rewrite.match import Match
from fusectl.rewrite.weights import store

Transform = Callable[[Match, onnx.NodeProto], None]


def transpose_operand(match: Match, node: onnx.NodeProto) -> None:
    """Read the operand ``t`` of ``y`` transposed: ``x`` takes its place."""
    here = match.scope.name(match.bound("t"))
    slots = [s for s in (0, 1) if input_of(node, s) == here]
    if not slots:
        raise NotNative("the transposed operand is read through another form")
    for slot in slots:
        flag = ("transA", "transB")[slot]
        put(node, slot, match.operand("x"))
        set_to(node, flag, 1 - int_of(node, flag))


def transpose_result(match: Match, node: onnx.NodeProto) -> None:
    """Write a product transposed: the operands change places, each transposed."""
    if input_of(node, 2):
        raise NotNative("its addend would have to be transposed too")
    first, second = int_of(node, "transA"), int_of(node, "transB")
    node.input[0], node.input[1] = node.input[1], node.input[0]
    set_to(node, "transA", 1 - second)
    set_to(node, "transB", 1 - first)


def multiply_alpha(match: Match, node: onnx.NodeProto) -> None:
    """Multiply ``alpha`` by the scalar ``s``, or divide where the pattern divides by it."""
    factor = match.scalar("s")
    scaling = next(
        r
        for n, r in zip(match.found.pattern.nodes, match.found.roles, strict=True)
        if "s" in n.inputs
    )
    if scaling is not None and scaling.op == "Div":
        if match.bound("s") == scaling.inputs[0]:
            raise NotNative("the scalar is divided, not the product")
        factor = 1.0 / factor
    set_to(node, "alpha", float_of(node, "alpha", 1.0) * factor)


def past_scale(match: Match, node: onnx.NodeProto) -> None:
    """Let the product read ``x`` in the place of its scaled value ``t``."""
    here = match.scope.name(match.bound("t"))
    slots = [s for s in (0, 1) if input_of(node, s) == here]
    if len(slots) != 1:
        raise NotNative("the scaled operand is read through another form")
    put(node, slots[0], match.operand("x"))


def take_pads(match: Match, node: onnx.NodeProto) -> None:
    """Add the pads of ``p`` to the reader's own, which reads ``x`` then."""
    rank = len(match.type_of("x").dims or ())
    pads = match.parameter("pads", "p")
    axes = match.parameter("axes", "p") if match.has("axes", "p") else None
    if not rank or not isinstance(pads, tuple):
        raise NotNative("the pads are not known")
    full = [0] * (2 * rank)
    listed = range(rank) if axes is None else (axes if isinstance(axes, tuple) else (axes,))
    places = [int(a) % rank for a in listed]
    for number, axis in enumerate(places):
        full[axis], full[rank + axis] = int(pads[number]), int(pads[len(places) + number])
    if any(full[a] or full[rank + a] for a in (0, 1)):
        raise NotNative("it pads other than spatial dimensions")
    spatial = full[2:rank] + full[rank + 2 :]
    own = stated(node, "pads", [0] * len(spatial))
    assert isinstance(own, list)
    if node.op_type == "AveragePool":
        if any(own) and not int_of(node, "count_include_pad"):
            raise NotNative("the pooling counts its own pads in another way")
        set_to(node, "count_include_pad", 1)
    set_to(node, "pads", [int(a) + b for a, b in zip(own, spatial, strict=True)])
    put(node, 0, match.operand("x"))


def merge_limits(match: Match, node: onnx.NodeProto) -> None:
    """Raise the bounds of a Clip to 0, as the Relu before it does."""
    low, high = (match.parameter(n, "y") for n in ("min", "max"))
    bounds = [0.0 if low is None else max(0.0, _bound(low))]
    if high is not None:
        bounds.append(max(0.0, _bound(high)))
    put(node, 0, match.operand("x"))
    if match.scope.view.opset("") < 11:
        for name, bound in zip(("min", "max"), bounds, strict=False):
            set_to(node, name, bound)
        return
    dtype = match.type_of("x").dtype
    if dtype not in ("float16", "float32", "float64", "int32", "int64", "int8", "uint8"):
        raise NotNative(f"bounds of type {dtype or 'unknown'}")
    for slot, (name, bound) in enumerate(zip(("min", "max"), bounds, strict=False), start=1):
        store(match, node, slot, np.asarray(bound, dtype), name)


def _bound(value: object) -> float:
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if not isinstance(value, int | float):
        raise NotNative("a bound is no number")
    return float(value)


def whole_affine(match: Match, node: onnx.NodeProto) -> None:
    """Ask that ``gamma`` and ``beta`` have the size of the one axis that is normalised."""
    dims = match.type_of("x").dims
    if int_of(node, "axis", -1) != -1:
        raise NotNative("more than one axis is normalised")
    for value in ("gamma", "beta"):
        if match.bound(value):
            size = match.type_of(value).dims
            if not dims or size is None or size != dims[-1:] or size == (None,):
                raise NotNative(f"{match.bound(value)} is not one value for each of the last axis")


def without_beta(match: Match, node: onnx.NodeProto) -> None:
    """Drop the factor of an addend, which has to be 1 where there is an addend."""
    for attribute in [a for a in node.attribute if a.name == "beta"]:
        if attribute.f != 1.0 and any(match.bound(v) for v in ("bq", "bf")):
            raise NotNative("its addend has a factor")
        node.attribute.remove(attribute)


def state_opset(match: Match, node: onnx.NodeProto) -> None:
    """State the opset by which an attribute is read: the meaning of a softmax's axis changed."""
    opset = match.scope.view.opset("")
    set_to(node, "opset", opset)
    if not any(a.name == "axis" for a in node.attribute):
        set_to(node, "axis", 1 if opset < 13 else -1)


def scalar_first(match: Match, node: onnx.NodeProto) -> None:
    """Let the scale that is one number stand first, with the operand of run time."""
    one = [match.type_of(v).static is not None and _size(match, v) == 1 for v in ("xs", "ws")]
    if not one[0]:
        raise NotNative("the scale of the first operand is not one number")


def _size(match: Match, value: str) -> int:
    return int(np.prod(match.type_of(value).static or (), dtype=np.int64))


TRANSFORMS: dict[str, Transform] = {
    "add-bias": weights.add_bias,
    "fold-batchnorm": weights.fold_batchnorm,
    "merge-limits": merge_limits,
    "multiply-alpha": multiply_alpha,
    "past-scale": past_scale,
    "quantize-bias": weights.quantize_bias,
    "scalar-first": scalar_first,
    "scale-channels": weights.scale_channels,
    "state-opset": state_opset,
    "take-pads": take_pads,
    "transpose-operand": transpose_operand,
    "transpose-result": transpose_result,
    "whole-affine": whole_affine,
    "without-beta": without_beta,
}
"""Name to function; each raises NotNative where it cannot be done."""
