"""Inputs to run a model with: dense random ones, and ones that saturate on either side."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fusectl.runtime.session import Array, Dim, Port

SIZES = (2, 1, 8, 16, 64, 224)
"""What a dimension that is left open may be; the first one with which the model runs is taken."""
_MOST = 1 << 26
"""Elements of an input that is made up."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A region of inputs: centre and spread, in units of what is usual for a network."""

    name: str
    centre: float
    spread: float


KINDS = (
    Kind("dense", 0.0, 1.0),
    Kind("small", 0.0, 0.05),
    Kind("high", 8.0, 4.0),
    Kind("low", -8.0, 4.0),
)
"""Dense around 0; around 0 closely; where saturating functions are flat, on both sides."""


class Unfed(Exception):
    """No input can be made up for a port; the text names it."""


def feeds(ports: Iterable[Port], kind: Kind, size: int, seed: int = 0) -> dict[str, Array]:
    """Return one array for each port, the same for the same arguments. Raises Unfed."""
    return {port.name: _array(port, kind, size, seed) for port in ports}


def _array(port: Port, kind: Kind, size: int, seed: int) -> Array:
    if port.dims is None:
        raise Unfed(f"no value can be made up for the input {port.name} ({port.dtype})")
    shape = tuple(_size(d, size) for d in port.dims)
    if math.prod(shape) > _MOST:
        raise Unfed(f"the input {port.name} has {math.prod(shape)} elements: too many to make up")
    rng = np.random.default_rng([seed, zlib.crc32(port.name.encode("utf-8"))])
    if port.dtype == "str":
        return np.full(shape, "text", dtype=object)
    if port.dtype == "bool":
        return rng.random(shape) < 0.5
    try:
        dtype = np.dtype(port.dtype)
    except TypeError:
        raise Unfed(f"no value can be made up for the input {port.name} ({port.dtype})") from None
    if dtype.kind == "f":
        values = rng.standard_normal(shape) * kind.spread + kind.centre
        return np.asarray(values, dtype)
    return _whole(rng, shape, dtype, kind)


def _whole(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[np.generic], kind: Kind
) -> Array:
    """Codes use their whole range; wider integers are mostly indices and lengths: few and small."""
    if dtype.itemsize > 1:
        return rng.integers(0, 2, shape).astype(dtype)
    info = np.iinfo(str(dtype))
    middle = (info.min + info.max + 1) // 2
    low, high = {
        "high": (middle + 64, info.max),
        "low": (info.min, middle - 64),
        "small": (middle - 4, middle + 4),
    }.get(kind.name, (info.min, info.max))
    return rng.integers(low, high + 1, shape).astype(dtype)


def _size(dim: Dim, size: int) -> int:
    return dim if isinstance(dim, int) and dim >= 0 else size


def open_ended(ports: Iterable[Port]) -> bool:
    """Tell whether some dimension of the inputs is left open, so that its size is made up."""
    return any(not isinstance(d, int) or d < 0 for p in ports for d in p.dims or ())


def trials(ports: Iterable[Port], kind: Kind, seed: int = 0) -> Iterator[dict[str, Array]]:
    """Yield inputs with open dimensions of several sizes, each once. Raises Unfed."""
    ports = tuple(ports)
    for size in SIZES if open_ended(ports) else SIZES[:1]:
        yield feeds(ports, kind, size, seed)
