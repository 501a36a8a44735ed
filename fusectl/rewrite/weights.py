"""Changes that a fusion makes to the weights of the node that stays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx

from fusectl.graph.constants import Array
from fusectl.rewrite.edit import float_of, input_of, int_of, put, set_to
from fusectl.rewrite.forms import NotNative
from fusectl.rewrite.match import Match

Wide = npt.NDArray[np.float64]


def _channels(node: onnx.NodeProto, weight: Array) -> tuple[int, int]:
    """Return the axis of a product's weight that holds its output channels, and their number."""
    kind = node.op_type
    if kind == "Conv":
        return 0, weight.shape[0]
    if kind == "ConvTranspose":
        return 1, weight.shape[1] * int_of(node, "group", 1)
    axis = 0 if kind == "Gemm" and int_of(node, "transB") else weight.ndim - 1
    return axis, weight.shape[axis]


def _scaled(node: onnx.NodeProto, weight: Array, factor: Wide) -> Array:
    """Multiply a product's weight by one factor for each output channel."""
    axis, channels = _channels(node, weight)
    wide = weight.astype(np.float64)
    factor = np.broadcast_to(np.asarray(factor, np.float64).reshape(-1), (channels,))
    if node.op_type == "ConvTranspose":
        # The output channels of all groups stand one after the other; a weight has those of one.
        groups = int_of(node, "group", 1)
        per_group = weight.shape[0] // groups
        spread = np.repeat(factor.reshape(groups, -1), per_group, axis=0)
        wide = wide * spread.reshape(*spread.shape, *[1] * (weight.ndim - 2))
    else:
        shape = [1] * weight.ndim
        shape[axis] = channels
        wide = wide * factor.reshape(shape)
    return np.asarray(wide.astype(weight.dtype))


def _bias(match: Match, node: onnx.NodeProto, weight: Array) -> Wide:
    """Return the bias that a product has, one value for each output channel."""
    _, channels = _channels(node, weight)
    name = input_of(node, 2)
    bias = np.asarray(match.array(name), np.float64) if name else np.zeros(channels)
    if node.op_type == "Gemm" and name:
        bias = bias * float_of(node, "beta", 1.0)
    if bias.size not in (1, channels):
        raise NotNative(f"{name} has {bias.size} elements, not one for each of {channels}")
    return np.broadcast_to(bias.reshape(-1), (channels,))


def store(match: Match, node: onnx.NodeProto, slot: int, array: Array, what: str) -> None:
    """Make a constant, named by the fused node's result, and put it into an input."""
    stem = f"{match.found.consumer.node.outputs[0]}_{what}"
    put(node, slot, match.add(stem, array))


def _per_channel(match: Match, value: str, channels: int) -> Wide:
    """Return a constant as one number for each channel."""
    array = np.asarray(match.contents(value), np.float64)
    if array.size not in (1, channels):
        raise NotNative(f"{match.bound(value)} has {array.size} elements, not {channels}")
    return np.broadcast_to(array.reshape(-1), (channels,))


def fold_batchnorm(match: Match, node: onnx.NodeProto) -> None:
    """Fold ``scale``, ``bias``, ``mean`` and ``var`` into the product's weight and bias."""
    weight = match.array(input_of(node, 1))
    old = _bias(match, node, weight)
    _, channels = _channels(node, weight)
    scale, bias, mean, var = (
        _per_channel(match, v, channels) for v in ("scale", "bias", "mean", "var")
    )
    epsilon = match.parameter("epsilon", match.found.rule.patterns[0].nodes[-1].outputs[0])
    if not isinstance(epsilon, int | float):
        raise NotNative("epsilon is not known")
    factor = scale / np.sqrt(var + epsilon)
    store(match, node, 1, _scaled(node, weight, factor), "weight")
    store(match, node, 2, ((old - mean) * factor + bias).astype(weight.dtype), "bias")
    if node.op_type == "Gemm":
        set_to(node, "beta", 1.0)


def add_bias(match: Match, node: onnx.NodeProto) -> None:
    """Add the constant ``b``, one value for each channel, to the convolution's bias."""
    weight = match.array(input_of(node, 1))
    _, channels = _channels(node, weight)
    total = _bias(match, node, weight) + _per_channel(match, "b", channels)
    store(match, node, 2, total.astype(weight.dtype), "bias")


def scale_channels(match: Match, node: onnx.NodeProto) -> None:
    """Multiply weight and bias by the constant ``s``, one value for each channel."""
    weight = match.array(input_of(node, 1))
    _, channels = _channels(node, weight)
    factor = _per_channel(match, "s", channels)
    old = _bias(match, node, weight)
    store(match, node, 1, _scaled(node, weight, factor), "weight")
    if input_of(node, 2):
        store(match, node, 2, (old * factor).astype(weight.dtype), "bias")


def quantize_bias(match: Match, node: onnx.NodeProto) -> None:
    """Write the float bias ``bf`` in the codes of the accumulator: scale ``xs`` times ``ws``."""
    bias = np.asarray(match.contents("bf"), np.float64)
    scale = np.asarray(match.contents("xs"), np.float64).reshape(-1)
    scale = scale * np.asarray(match.contents("ws"), np.float64).reshape(-1)
    if float_of(node, "beta", 1.0) != 1.0:
        raise NotNative("its addend has a factor")
    scale = scale * float_of(node, "alpha", 1.0)
    codes = np.rint(bias.reshape(-1) / scale)
    if not np.all(np.abs(codes) < 2**31):
        raise NotNative("the bias does not fit the accumulator")
    slot = list(node.input).index(match.operand("bf"))
    store(match, node, slot, codes.astype(np.int32), "bias")
