"""What the fused operator of each rule computes, in plain numpy, from the values it would read.

A function takes the group, finds the operator's inputs in the model's own nodes, and returns what
the fused operator makes of them. It raises Contradiction where the operator could not be built.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
import onnx
from onnx import helper

from tests.mutations.group import Contradiction, Group, attribute, require
from tests.mutations.values import Array, run_node

Meaning = Callable[[Group], Array]


def erf(x: Array) -> Array:
    """The error function, which numpy lacks."""
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64)))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x.astype(np.float64))))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0, x.astype(np.float64)))


def _normal(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(x - x.mean(axes, keepdims=True))


def softmax(x: Array) -> Array:
    shifted = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(-1, keepdims=True))


def of_one(function: Callable[[Array], Array]) -> Meaning:
    """A function of the one run-time value that the group reads."""

    def meaning(group: Group) -> Array:
        found = group.run_time()
        require(len(found) == 1, f"a function of one tensor, and the group reads {found}")
        x = group.array(found[0])
        require(x.dtype.kind == "f", f"the operator has no form for {x.dtype}")
        return function(x.astype(np.float64))

    return meaning


def _hard_swish(x: Array) -> Array:
    return np.asarray(x * np.clip(x / 6 + 0.5, 0, 1))


def _tanh_gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def _quick_gelu(group: Group) -> Array:
    inner = group.maker(group.one("Sigmoid").input[0])
    require(inner is not None and inner.op_type == "Mul", "no factor in front of the Sigmoid")
    assert inner is not None
    factors = [v for v in map(group.real, inner.input) if v in group.constants]
    require(len(factors) == 1 and group.array(factors[0]).size == 1, "no factor that is known")
    factor = float(group.array(factors[0]).reshape(-1)[0])
    return of_one(lambda x: x * sigmoid(factor * x))(group)


def _swiglu(group: Group) -> Array:
    x = group.array(group.one("Sigmoid").input[0])
    last = next(n for n in group.of("Mul") if n.output[0] == group.results[0])
    gate = group.outside(last)
    require(len(gate) == 1, f"the gated value is one of {gate}")
    require(group.array(gate[0]).shape == x.shape, "the gated value has another shape")
    return np.asarray(x * sigmoid(x) * group.array(gate[0]))


def _axes(group: Group, node: onnx.NodeProto) -> tuple[int, ...]:
    rank = group.array(node.input[0]).ndim
    stated = attribute(node, "axes")
    if stated is None and len(node.input) > 1 and node.input[1]:
        stated = group.constant(node.input[1]).reshape(-1).tolist()
    if not stated:
        return () if attribute(node, "noop_with_empty_axes") else tuple(range(rank))
    assert isinstance(stated, list)
    return tuple(sorted(int(a) % rank for a in stated))


def _tail(group: Group, node: onnx.NodeProto) -> tuple[int, ...]:
    """The axes that the operator normalises over: from the first one of the node to the last."""
    rank, axes = group.array(node.input[0]).ndim, _axes(group, node)
    require(axes, f"{node.output[0]} reduces over nothing")
    return tuple(range(axes[0], rank))


def _epsilon(group: Group, added_to: str) -> float:
    adds = [n for n in group.of("Add") if added_to in map(group.real, n.input)]
    require(len(adds) == 1, "no epsilon is added to the variance")
    found = group.outside(adds[0])
    require(len(found) == 1, "no epsilon is added to the variance")
    array = group.constant(found[0])
    require(array.size == 1, "epsilon is not one number")
    return float(array.reshape(-1)[0])


def _scaled(group: Group, normal: Array) -> Array:
    """Scale and shift, by the operands from outside of the last nodes."""
    node = _before(group, group.results[0])
    shift = group.outside(node) if node.op_type == "Add" else []
    if shift:
        node = _before(group, next(v for v in node.input if group.maker(v) is not None))
    scale = group.outside(node) if node.op_type == "Mul" else []
    result = normal * group.array(scale[0]) if scale else normal
    return np.asarray(result + group.array(shift[0]) if shift else result)


def _before(group: Group, value: str) -> onnx.NodeProto:
    """The node that makes a value, apart from a change of type."""
    node = group.maker(value)
    assert node is not None
    return _before(group, node.input[0]) if node.op_type == "Cast" else node


def _layernorm(group: Group) -> Array:
    means = [n for n in group.of("ReduceMean") if group.outside(n)]
    require(means, "nothing is averaged")
    x_name = group.real(means[0].input[0])
    x = group.array(x_name).astype(np.float64)
    variance = next((n for n in group.of("ReduceMean") if n is not means[0]), None)
    require(variance is not None, "no variance")
    assert variance is not None
    axes = _tail(group, means[0])
    centred = _normal(x, axes)
    spread = (centred**2).mean(axes, keepdims=True)
    normal = centred / np.sqrt(spread + _epsilon(group, variance.output[0]))
    return _in_shape(_scaled(group, normal), x)


def _rmsnorm(group: Group) -> Array:
    mean = group.one("ReduceMean")
    square = group.maker(mean.input[0])
    require(square is not None, "nothing is squared")
    assert square is not None
    x_name = group.real(square.input[0])
    x = group.array(x_name).astype(np.float64)
    spread = (x**2).mean(_tail(group, mean), keepdims=True)
    normal = x / np.sqrt(spread + _epsilon(group, mean.output[0]))
    return _in_shape(_scaled(group, normal), x)


def _in_shape(result: Array, x: Array) -> Array:
    require(result.shape == x.shape, f"the operator makes {x.shape}, not {result.shape}")
    return result


def _attention(group: Group) -> Array:
    soft = group.one("Softmax")
    products = group.of("MatMul")
    last = next((n for n in products if soft.output[0] in map(group.real, n.input)), None)
    first = next((n for n in products if n is not last), None)
    require(last is not None and first is not None, "two products are needed")
    assert last is not None
    assert first is not None
    q, scale_q = _times(group, first.input[0])
    k, scale_k = _times(group, first.input[1])
    scores = (q @ k) * scale_q * scale_k
    for node in _between(group, first.output[0], soft.input[0]):
        scores = _on_scores(group, node, scores)
    return np.asarray(softmax(scores) @ group.array(last.input[1]))


def _between(group: Group, start: str, end: str) -> list[onnx.NodeProto]:
    """The nodes that lead from one value to another, in order."""
    found: list[onnx.NodeProto] = []
    value = group.real(end)
    while value != start:
        node = group.maker(value)
        require(node is not None and node not in found, f"{start} does not lead to {end}")
        assert node is not None
        found.append(node)
        value = group.real(next(v for v in node.input if group.maker(v) is not None))
    return found[::-1]


def _on_scores(group: Group, node: onnx.NodeProto, scores: Array) -> Array:
    """Scores after a factor or a mask."""
    if node.op_type in ("Mul", "Div"):
        factor = _scalar(group, node)
        return np.asarray(scores * factor if node.op_type == "Mul" else scores / factor)
    masks = [group.array(v) for v in group.outside(node)]
    if node.op_type == "Where":
        return _in_shape(np.where(masks[0], scores, masks[1]), scores)
    return _in_shape(np.asarray(scores + masks[0]), scores)


def _times(group: Group, value: str) -> tuple[Array, float]:
    """An operand, and the factor that the group multiplies it with."""
    made = group.maker(value)
    if made is None:
        return group.array(value), 1.0
    late = [v for v in group.outside(made) if v not in group.constants]
    require(len(late) == 1, f"{made.output[0]} is no scaled operand")
    return group.array(late[0]), _scalar(group, made)


def _scalar(group: Group, node: onnx.NodeProto) -> float:
    found = [v for v in group.outside(node) if v in group.constants]
    require(len(found) == 1 and group.array(found[0]).size == 1, "no factor that is known")
    return float(group.array(found[0]).reshape(-1)[0])


def _rotary(group: Group) -> Array:
    cut = group.of("Slice", "Split")[0]
    x_name = group.real(cut.input[0])
    x = group.array(x_name)
    require(x.shape[-1] % 2 == 0, "an odd number of columns has no halves")
    half = x.shape[-1] // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], -1)
    joined = group.one("Concat").output[0]
    factors: dict[bool, Array] = {}
    for node in group.of("Mul"):
        sources = [group.real(v) for v in node.input]
        turns = joined in sources
        sources.remove(joined if turns else x_name)
        factors[turns] = group.array(sources[0])
    return _in_shape(np.asarray(x * factors[False] + turned * factors[True]), x)


def _relu_clip(group: Group) -> Array:
    clip, x = group.one("Clip"), group.array(group.one("Relu").input[0])
    low, high = (_bound(group, clip, slot, name) for slot, name in ((1, "min"), (2, "max")))
    low = max(0.0, low if low is not None else 0.0)
    return np.asarray(np.minimum(np.maximum(x, low), np.inf if high is None else high))


def _bound(group: Group, clip: onnx.NodeProto, slot: int, name: str) -> float | None:
    if len(clip.input) > slot and clip.input[slot]:
        return float(group.constant(clip.input[slot]).reshape(-1)[0])
    stated = attribute(clip, name)
    return float(str(stated)) if stated is not None else None


def _div_mul(group: Group) -> Array:
    div = group.one("Div")
    others = group.outside(group.one("Mul"))
    require(len(others) == 1, f"the numerator is one of {others}")
    a, b = group.array(others[0]), group.array(div.input[1])
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    return np.asarray(np.trunc(a / np.where(b == 0, 1, b)).astype(a.dtype))


def _not_where(group: Group) -> Array:
    where = group.one("Where")
    return np.where(
        group.array(group.one("Not").input[0]),
        group.array(where.input[2]),
        group.array(where.input[1]),
    )


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


def _conv_batchnorm(group: Group) -> Array:
    return _convolved(group, group.one("Conv", "ConvTranspose"), *_norm_factors(group))


def _conv_mul(group: Group) -> Array:
    factor = next(group.constant(v) for v in group.outside(group.one("Mul")))
    channels = group.constant(group.one("Conv").input[1]).shape[0]
    require(factor.size in (1, channels), f"{factor.size} factors for {channels} channels")
    return _convolved(group, group.one("Conv"), factor.reshape(-1), np.zeros(1))


def _matmul_batchnorm(group: Group) -> Array:
    node = group.one("MatMul", "Gemm")
    factor, addend = _norm_factors(group)
    require(group.array(node.output[0]).ndim == 2, "channels are not the last axis")
    group.constant(node.input[1])
    if node.op_type == "Gemm" and len(node.input) > 2:
        group.constant(node.input[2])
    return np.asarray(group.array(node.output[0]) * factor + addend)


def _product_scale(group: Group) -> Array:
    """A product with a factor of its own, in real numbers and then in the type of the result."""
    product = group.one("MatMul", "Gemm")
    factor = 1.0
    for node in group.of("Mul", "Div"):
        number = _scalar(group, node)
        factor = factor * number if node.op_type == "Mul" else factor / number
    operands = []
    for value in product.input[:2]:
        made = group.maker(value)
        late = [v for v in group.outside(made) if v not in group.constants] if made else []
        operands.append(group.array(late[0] if late else value))
    a, b = (o.astype(np.float64) for o in operands)
    exact = np.asarray(factor * (a @ b))
    return exact if group.result.dtype.kind == "f" else np.trunc(exact)


def _conv_bias(group: Group) -> Array:
    made = group.array(group.one("Conv").output[0])
    bias = next(group.array(v) for v in group.outside(group.one("Add")))
    require(bias.size in (1, made.shape[1]), f"{bias.size} values for {made.shape[1]} channels")
    shape = (-1, *(1,) * (made.ndim - 2))
    return np.asarray(made + np.broadcast_to(bias.reshape(-1), made.shape[1:2]).reshape(shape))


def _dequantize_scale(group: Group) -> Array:
    node = group.one("DequantizeLinear")
    factor = next(group.constant(v) for v in group.outside(group.one("Mul")))
    scale = group.constant(node.input[1])
    require(factor.size == 1, "more than one factor")
    given = {v: group.array(v) for v in node.input if v}
    given[node.input[1]] = np.asarray(scale * factor.reshape(-1)[0]).astype(scale.dtype)
    return run_node(node, group.opset, given)


def _transposed(group: Group) -> Array:
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


def _padded(group: Group) -> Array:
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


def _limit_quantize(group: Group) -> Array:
    node, limit = group.one("QuantizeLinear"), group.one("Relu", "Clip")
    source = group.array(limit.input[0])
    given = {v: group.array(v) for v in node.input if v}
    # The numbers of the test are small; the limit must not matter for large ones either.
    given[node.input[0]] = source
    for factor in (100, -100):
        wide = {**given, node.input[0]: (source * factor).astype(source.dtype)}
        cut = _limited(group, limit, wide[node.input[0]])
        same = np.array_equal(
            run_node(node, group.opset, wide),
            run_node(node, group.opset, {**given, node.input[0]: cut}),
        )
        require(same, "the limit cuts codes")
    return run_node(node, group.opset, given)


def _limited(group: Group, limit: onnx.NodeProto, x: Array) -> Array:
    given = {v: group.array(v) for v in limit.input if v}
    return run_node(limit, group.opset, {**given, limit.input[0]: x})


def _on_codes(group: Group) -> Array:
    """The operator between a dequantiser and a quantiser, done on the codes themselves."""
    ends = ("DequantizeLinear", "QuantizeLinear")
    first = group.of("DequantizeLinear")[0]
    middle = next(n for n in group.nodes if n.op_type not in ends)
    given = {v: group.array(v) for v in middle.input if v}
    given[middle.input[0]] = group.array(first.input[0])
    for node in group.of(*ends):
        for value in node.input[1:]:
            if value:
                group.constant(value)
    return run_node(middle, group.opset, given)


def _quantised(group: Group) -> Array:
    """An operator on codes: only its encodings must be known."""
    for node in group.of("DequantizeLinear", "QuantizeLinear"):
        for value in node.input[1:]:
            if value:
                group.constant(value)
    return group.result


def _integer_product(group: Group) -> Array:
    """A product of whole numbers whose result is scaled to real ones."""
    require(group.result.dtype.kind == "f", f"it makes real numbers, not {group.result.dtype}")
    return group.result


def _joined(group: Group) -> Array:
    """Operators in one kernel, which computes what they compute."""
    return group.result


MEANINGS: Mapping[str, Meaning] = {
    "gelu-erf": of_one(lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "gelu-tanh": of_one(_tanh_gelu),
    "quick-gelu": _quick_gelu,
    "silu": of_one(lambda x: x * sigmoid(x)),
    "hard-swish": of_one(_hard_swish),
    "hard-swish-clip": of_one(_hard_swish),
    "hard-sigmoid-clip": of_one(lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "mish": of_one(lambda x: x * np.tanh(_softplus(x))),
    "softplus": of_one(_softplus),
    "softmax": of_one(softmax),
    "swiglu": _swiglu,
    "layernorm": _layernorm,
    "layernorm-unscaled": _layernorm,
    "rmsnorm": _rmsnorm,
    "attention": _attention,
    "rotary": _rotary,
    "relu-clip": _relu_clip,
    "div-mul": _div_mul,
    "not-where": _not_where,
    "conv-batchnorm": _conv_batchnorm,
    "convtranspose-batchnorm": _conv_batchnorm,
    "matmul-batchnorm": _matmul_batchnorm,
    "conv-mul": _conv_mul,
    "conv-bias": _conv_bias,
    "matmul-scale": _product_scale,
    "scale-matmul": _product_scale,
    "dequantize-scale": _dequantize_scale,
    "transpose-matmul": _transposed,
    "transpose-gemm": _transposed,
    "gemm-transpose": _transposed,
    "pad-conv": _padded,
    "pad-pool": _padded,
    "limit-quantize": _limit_quantize,
    "qdq-move": _on_codes,
    "qdq-order": _on_codes,
    "qdq-resize": _on_codes,
    **{f"qdq-{name}": _quantised for name in ("conv", "matmul", "gemm", "binary", "unary")},
    "matmul-integer-float": _integer_product,
    "conv-integer-float": _integer_product,
    "dequantize-matmul": _quantised,
    "dequantize-gemm": _quantised,
}
"""Operators with one result. Rules that are not here join operators in one kernel, which computes
what they compute: nothing but uses can be wrong."""


def meaning_of(rule: str) -> Meaning:
    return MEANINGS.get(rule, _joined)


__all__ = ["MEANINGS", "Contradiction", "Meaning", "meaning_of"]
