"""Products and convolutions that take over factors, addends, transposes and pads."""

import numpy as np
import onnx
from onnx import helper

from tests.mutations.group import Group, attribute, require
from tests.mutations.of_norms import scalar
from tests.mutations.values import Array, run_node


def _norm_factors(group: Group) -> tuple[Array, Array]:
    """Factor and addend per channel of a batch normalisation with known statistics."""
    node = group.one("BatchNormalization")
    require(not attribute(node, "training_mode", 0), "it is training")
    if group.opset < 7:
        require(attribute(node, "is_test", 0), "it is training")
    scale, bias, mean, var = (group.constant(v) for v in node.input[1:5])
    factor = scale / np.sqrt(var + float(str(attribute(node, "epsilon", 1e-5))))
    return np.asarray(factor), np.asarray(bias - mean * factor)


def _convolved(group: Group, node: onnx.NodeProto, factor: Array, addend: Array) -> Array:
    """A convolution whose weights and bias take over a factor and an addend per channel."""
    weights = group.constant(node.input[1])
    groups = int(str(attribute(node, "group", 1)))
    if node.op_type == "Conv":
        channels = weights.shape[0]
        shape = (-1, *(1,) * (weights.ndim - 1))
        scaled = weights * np.broadcast_to(factor, (channels,)).reshape(shape)
    else:
        channels = weights.shape[1] * groups
        per = np.broadcast_to(factor, (channels,)).reshape(groups, 1, weights.shape[1])
        grouped = weights.reshape(groups, -1, weights.shape[1], *weights.shape[2:])
        scaled = (grouped * per.reshape(*per.shape, *(1,) * (weights.ndim - 2))).reshape(
            weights.shape
        )
    bias = group.constant(node.input[2]) if len(node.input) > 2 else np.zeros(channels)
    whole = np.broadcast_to(bias * factor + addend, (channels,))
    given = {
        "x": group.array(node.input[0]),
        "w": scaled.astype(weights.dtype),
        "b": whole.astype(weights.dtype),
    }
    return run_node(_with_inputs(node, list(given)), group.opset, given)


def _with_inputs(node: onnx.NodeProto, inputs: list[str]) -> onnx.NodeProto:
    changed = onnx.NodeProto()
    changed.CopyFrom(node)
    del changed.input[:]
    changed.input.extend(inputs)
    return changed


def conv_batchnorm(group: Group) -> Array:
    return _convolved(group, group.one("Conv", "ConvTranspose"), *_norm_factors(group))


def conv_mul(group: Group) -> Array:
    factor = next(group.constant(v) for v in group.outside(group.one("Mul")))
    channels = group.constant(group.one("Conv").input[1]).shape[0]
    require(factor.size in (1, channels), f"{factor.size} factors for {channels} channels")
    return _convolved(group, group.one("Conv"), factor.reshape(-1), np.zeros(1))


def matmul_batchnorm(group: Group) -> Array:
    node = group.one("MatMul", "Gemm")
    factor, addend = _norm_factors(group)
    require(group.array(node.output[0]).ndim == 2, "channels are not the last axis")
    group.constant(node.input[1])
    if node.op_type == "Gemm" and len(node.input) > 2:
        group.constant(node.input[2])
    return np.asarray(group.array(node.output[0]) * factor + addend)


def product_scale(group: Group) -> Array:
    """A product with a factor of its own, in real numbers and then in the type of the result."""
    product = group.one("MatMul", "Gemm")
    factor = 1.0
    for node in group.of("Mul", "Div"):
        number = scalar(group, node)
        factor = factor * number if node.op_type == "Mul" else factor / number
    operands = []
    for value in product.input[:2]:
        made = group.maker(value)
        late = [v for v in group.outside(made) if v not in group.constants] if made else []
        operands.append(group.array(late[0] if late else value))
    a, b = (o.astype(np.float64) for o in operands)
    exact = np.asarray(factor * (a @ b))
    return exact if group.result.dtype.kind == "f" else np.trunc(exact)


def conv_bias(group: Group) -> Array:
    made = group.array(group.one("Conv").output[0])
    bias = next(group.array(v) for v in group.outside(group.one("Add")))
    require(bias.size in (1, made.shape[1]), f"{bias.size} values for {made.shape[1]} channels")
    shape = (-1, *(1,) * (made.ndim - 2))
    return np.asarray(made + np.broadcast_to(bias.reshape(-1), made.shape[1:2]).reshape(shape))


def transposed(group: Group) -> Array:
    """A product that reads one operand, or writes its result, with the last two axes exchanged."""
    turn, product = group.one("Transpose"), group.one("MatMul", "Gemm")
    if group.maker(turn.input[0]) is product:
        return np.swapaxes(group.array(product.output[0]), -1, -2)
    source = group.array(turn.input[0])
    require(source.ndim > 1, "one axis cannot be exchanged with another")
    made = turn.output[0]
    given = {v: group.array(v) for v in product.input if v}
    given[next(v for v in product.input if group.real(v) == made)] = np.swapaxes(source, -1, -2)
    return run_node(product, group.opset, given)


def padded(group: Group) -> Array:
    """A window that pads by itself."""
    pad, reader = group.one("Pad"), group.of("Conv", "MaxPool", "AveragePool")[0]
    x = group.array(pad.input[0])
    begin, end = _pads(group, pad, x.ndim)
    require(not any((*begin[:2], *end[:2])), "it pads batch or channels")
    require(min(*begin, *end) >= 0, "it crops")
    size = x.ndim - 2
    own = attribute(reader, "pads", [0] * (2 * size))
    assert isinstance(own, list)
    both = [a + b for a, b in zip((*begin[2:], *end[2:]), own, strict=True)]
    changed = _with_inputs(reader, ["x", *(f"i{n}" for n in range(1, len(reader.input)))])
    kept = [a for a in reader.attribute if a.name != "pads"]
    del changed.attribute[:]
    changed.attribute.extend([*kept, helper.make_attribute("pads", both)])
    given = {f"i{n}": group.array(v) for n, v in enumerate(reader.input) if n}
    return run_node(changed, group.opset, {"x": x, **given})


def _pads(group: Group, pad: onnx.NodeProto, rank: int) -> tuple[list[int], list[int]]:
    stated = attribute(pad, "pads")
    if stated is None:
        stated = group.constant(pad.input[1]).tolist()
    assert isinstance(stated, list)
    axes = list(range(rank))
    if len(pad.input) > 3 and pad.input[3]:
        axes = [int(a) % rank for a in group.constant(pad.input[3])]
    half = len(stated) // 2
    begin, end = [0] * rank, [0] * rank
    for place, axis in enumerate(axes):
        begin[axis], end[axis] = int(stated[place]), int(stated[place + half])
    return begin, end
