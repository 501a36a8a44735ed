"""The functions that a table can hold, in double precision, and the lines they end in.

Definitions are those of the ONNX operators; for com.microsoft those of its published operator
documentation (docs/ContribOperators.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Arguments = Mapping[str, float]
Line = tuple[float, float]
"""Slope and offset."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one number: how to compute it, its attributes, the lines that it ends in."""

    compute: Callable[[Numbers, Arguments], Numbers]
    arguments: tuple[str, ...] = ()
    below: Callable[[Arguments], Line] = lambda a: (0.0, 0.0)
    above: Callable[[Arguments], Line] = lambda a: (1.0, 0.0)


def _sigmoid(x: Numbers, a: Arguments) -> Numbers:
    return np.exp(-np.logaddexp(0.0, -x))


def _erf(x: Numbers) -> Numbers:
    return np.array([math.erf(v) for v in x.reshape(-1)], np.float64).reshape(x.shape)


def _gelu(x: Numbers, a: Arguments) -> Numbers:
    if a.get("approximate"):
        return _tanh_gelu(x, a)
    return x * 0.5 * (1.0 + _erf(x / math.sqrt(2.0)))


def _tanh_gelu(x: Numbers, a: Arguments) -> Numbers:
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def _hard_sigmoid(x: Numbers, a: Arguments) -> Numbers:
    return np.clip(a["alpha"] * x + a["beta"], 0.0, 1.0)


def _softplus(x: Numbers) -> Numbers:
    return np.logaddexp(0.0, x)


def _exponential(x: Numbers, alpha: float, gamma: float = 1.0) -> Numbers:
    return np.where(x > 0, gamma * x, gamma * alpha * np.expm1(np.minimum(x, 0.0)))


def _one(a: Arguments) -> Line:
    return 0.0, 1.0


def _celu(x: Numbers, a: Arguments) -> Numbers:
    alpha = a["alpha"]
    return np.maximum(x, 0.0) + np.minimum(0.0, alpha * np.expm1(np.minimum(x, 0.0) / alpha))


FUNCTIONS: dict[str, Function] = {
    "Sigmoid": Function(_sigmoid, above=_one),
    "Tanh": Function(lambda x, a: np.tanh(x), below=lambda a: (0.0, -1.0), above=_one),
    "Erf": Function(lambda x, a: _erf(x), below=lambda a: (0.0, -1.0), above=_one),
    "HardSigmoid": Function(_hard_sigmoid, ("alpha", "beta"), above=_one),
    "HardSwish": Function(lambda x, a: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)),
    "Gelu": Function(_gelu, ("approximate",)),
    "Swish": Function(lambda x, a: x * _sigmoid(a["alpha"] * x, a), ("alpha",)),
    "Mish": Function(lambda x, a: x * np.tanh(_softplus(x))),
    "Softplus": Function(lambda x, a: _softplus(x)),
    "Elu": Function(
        lambda x, a: _exponential(x, a["alpha"]), ("alpha",), lambda a: (0.0, -a["alpha"])
    ),
    "Celu": Function(_celu, ("alpha",), lambda a: (0.0, -a["alpha"])),
    "Selu": Function(
        lambda x, a: _exponential(x, a["alpha"], a["gamma"]),
        ("alpha", "gamma"),
        lambda a: (0.0, -a["alpha"] * a["gamma"]),
        lambda a: (a["gamma"], 0.0),
    ),
    "com.microsoft.Gelu": Function(_gelu),
    "com.microsoft.FastGelu": Function(_tanh_gelu),
    "com.microsoft.QuickGelu": Function(lambda x, a: x * _sigmoid(a["alpha"] * x, a), ("alpha",)),
}
"""By operator. A function that ends in no line, such as Exp, has no table."""

DIRECT: dict[str, tuple[str, ...]] = {"Relu": (), "LeakyRelu": ("alpha",)}
"""Functions that need no table, and their attributes."""
