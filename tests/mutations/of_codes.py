"""Operators on codes: what is between a dequantiser and a quantiser, without both."""

import numpy as np
import onnx

from tests.mutations.group import Group, require
from tests.mutations.values import Array, run_node


def dequantize_scale(group: Group) -> Array:
    node = group.one("DequantizeLinear")
    factor = next(group.constant(v) for v in group.outside(group.one("Mul")))
    scale = group.constant(node.input[1])
    require(factor.size == 1, "more than one factor")
    given = {v: group.array(v) for v in node.input if v}
    given[node.input[1]] = np.asarray(scale * factor.reshape(-1)[0]).astype(scale.dtype)
    return run_node(node, group.opset, given)


def limit_quantize(group: Group) -> Array:
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


def on_codes(group: Group) -> Array:
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


def quantised(group: Group) -> Array:
    """An operator on codes: only its encodings must be known."""
    for node in group.of("DequantizeLinear", "QuantizeLinear"):
        for value in node.input[1:]:
            if value:
                group.constant(value)
    return group.result


def integer_product(group: Group) -> Array:
    """A product of whole numbers whose result is scaled to real ones."""
    require(group.result.dtype.kind == "f", f"it makes real numbers, not {group.result.dtype}")
    return group.result
