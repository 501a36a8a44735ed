"""Normalisations, attention and rotary embeddings, in plain numpy."""

import numpy as np
import onnx

from tests.mutations.group import Group, attribute, require
from tests.mutations.of_functions import softmax
from tests.mutations.values import Array


def _normal(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(x - x.mean(axes, keepdims=True))


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
    for node in group.of("Sub", "Max"):  # a variance that is a difference of means
        reads = node.input[:1] if node.op_type == "Sub" else node.input
        if added_to in map(group.real, reads):
            added_to = node.output[0]
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
    if node.op_type == "Add" and not group.outside(node):
        return _factored(group, node, normal)
    shift = group.outside(node) if node.op_type == "Add" else []
    if shift:
        node = _before(group, next(v for v in node.input if group.maker(v) is not None))
    scale = group.outside(node) if node.op_type == "Mul" else []
    if node.op_type == "Mul" and not scale:  # the scale is in the factor
        makers = (group.maker(v) for v in node.input)
        scale = next((group.outside(m) for m in makers if m is not None and m.op_type == "Mul"), [])
    result = normal * group.array(scale[0]) if scale else normal
    return np.asarray(result + group.array(shift[0]) if shift else result)


def _factored(group: Group, node: onnx.NodeProto, normal: Array) -> Array:
    """x * factor + (shift - mean * factor), with the scale in the factor."""
    makers = {m.op_type: m for m in map(group.maker, node.input) if m is not None}
    require(set(makers) == {"Mul", "Sub"}, "no sum of a product and a difference")
    less, times = makers["Sub"], makers["Mul"]
    require(group.maker(less.input[0]) is None, "the shift is subtracted")
    taken = group.maker(less.input[1])
    require(taken is not None and taken.op_type == "Mul", "no product is subtracted")
    assert taken is not None
    factors = set(map(group.real, taken.input)) & set(map(group.real, times.input))
    require(len(factors) == 1, "not the same factor")
    factor = group.maker(factors.pop())
    require(factor is not None and factor.op_type == "Mul", "no scale in the factor")
    assert factor is not None
    return np.asarray(normal * group.array(group.outside(factor)[0]) + group.array(less.input[0]))


def _before(group: Group, value: str) -> onnx.NodeProto:
    """The node that makes a value, apart from a change of type."""
    node = group.maker(value)
    assert node is not None
    return _before(group, node.input[0]) if node.op_type == "Cast" else node


def layernorm(group: Group) -> Array:
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


def rmsnorm(group: Group) -> Array:
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


def attention(group: Group) -> Array:
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
        factor = scalar(group, node)
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
    return group.array(late[0]), scalar(group, made)


def scalar(group: Group, node: onnx.NodeProto) -> float:
    found = [v for v in group.outside(node) if v in group.constants]
    require(len(found) == 1 and group.array(found[0]).size == 1, "no factor that is known")
    return float(group.array(found[0]).reshape(-1)[0])


def rotary(group: Group) -> Array:
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
