"""Functions of one tensor, ranges and choices, in plain numpy."""

import math
from collections.abc import Callable

import numpy as np
import onnx

from tests.mutations.group import Group, attribute, require
from tests.mutations.values import Array

Meaning = Callable[[Group], Array]


def erf(x: Array) -> Array:
    """The error function, which numpy lacks."""
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64)))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x.astype(np.float64))))


def softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0, x.astype(np.float64)))


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


def hard_swish(x: Array) -> Array:
    return np.asarray(x * np.clip(x / 6 + 0.5, 0, 1))


def tanh_gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def quick_gelu(group: Group) -> Array:
    inner = group.maker(group.one("Sigmoid").input[0])
    require(inner is not None and inner.op_type == "Mul", "no factor in front of the Sigmoid")
    assert inner is not None
    factors = [v for v in map(group.real, inner.input) if v in group.constants]
    require(len(factors) == 1 and group.array(factors[0]).size == 1, "no factor that is known")
    factor = float(group.array(factors[0]).reshape(-1)[0])
    return of_one(lambda x: x * sigmoid(factor * x))(group)


def swiglu(group: Group) -> Array:
    x = group.array(group.one("Sigmoid").input[0])
    last = next(n for n in group.of("Mul") if n.output[0] == group.results[0])
    gate = group.outside(last)
    require(len(gate) == 1, f"the gated value is one of {gate}")
    require(group.array(gate[0]).shape == x.shape, "the gated value has another shape")
    return np.asarray(x * sigmoid(x) * group.array(gate[0]))


def relu_clip(group: Group) -> Array:
    clip, x = group.one("Clip"), group.array(group.one("Relu").input[0])
    low, high = (_bound(group, clip, slot, name) for slot, name in ((1, "min"), (2, "max")))
    low = max(0.0, low if low is not None else 0.0)
    return np.asarray(np.minimum(np.maximum(x, low), np.inf if high is None else high))


def _bound(group: Group, clip: onnx.NodeProto, slot: int, name: str) -> float | None:
    if len(clip.input) > slot and clip.input[slot]:
        return float(group.constant(clip.input[slot]).reshape(-1)[0])
    stated = attribute(clip, name)
    return float(str(stated)) if stated is not None else None


def div_mul(group: Group) -> Array:
    div = group.one("Div")
    others = group.outside(group.one("Mul"))
    require(len(others) == 1, f"the numerator is one of {others}")
    a, b = group.array(others[0]), group.array(div.input[1])
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    return np.asarray(np.trunc(a / np.where(b == 0, 1, b)).astype(a.dtype))


def not_where(group: Group) -> Array:
    where = group.one("Where")
    return np.where(
        group.array(group.one("Not").input[0]),
        group.array(where.input[2]),
        group.array(where.input[1]),
    )
