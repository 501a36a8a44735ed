"""Inputs for a model: random with a fixed seed, fit for their type and for what reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, helper

Array = npt.NDArray[np.generic]
SEED = 20260101
_SIZES = (2, 4, 1, 8, 16, 32, 64, 224)
"""What open dimensions are tried with, in this order, until the model runs."""
_INDEXED = {
    "Gather": 1,
    "GatherElements": 1,
    "GatherND": 1,
    "OneHot": 0,
    "EmbedLayerNormalization": 0,
}


class NoFeeds(Exception):
    """There are no inputs that this model could be run with; the text says why."""


@dataclass(frozen=True, slots=True)
class Input:
    """An input of the main graph. ``dims`` has a number, a symbol, or nothing where open."""

    name: str
    dtype: int
    dims: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Feed:
    """Values for all inputs, and how they were made."""

    told: str
    values: dict[str, Array]


def attempts(model: ModelProto, seeds: int = 1) -> Iterator[Feed]:
    """Yield inputs to try, the most likely first. Raises NoFeeds where no type can be made."""
    inputs = list(_inputs(model))
    bounds = _bounds(model)
    open_ = any(isinstance(d, str) for i in inputs for d in i.dims)
    for seed in range(SEED, SEED + seeds):
        for size in _SIZES if open_ else _SIZES[:1]:
            sizes = _open_sizes(inputs, size)
            for style in ("normal", "positive"):
                rng = np.random.default_rng(seed)
                told = f"{style} random numbers, seed {seed}" + f", open sizes {size}" * open_
                yield Feed(told, {i.name: _fill(i, sizes, bounds, style, rng) for i in inputs})


def _inputs(model: ModelProto) -> Iterator[Input]:
    given = {t.name for t in model.graph.initializer}
    for value in model.graph.input:
        if value.name in given:
            continue
        if not value.type.HasField("tensor_type"):
            raise NoFeeds(f"the input {value.name} is no tensor")
        tensor = value.type.tensor_type
        if tensor.elem_type not in _KINDS:
            name = TensorProto.DataType.Name(tensor.elem_type).lower()
            raise NoFeeds(f"no inputs of type {name} can be made (the input {value.name})")
        if not tensor.HasField("shape"):
            raise NoFeeds(f"the input {value.name} has no shape")
        dims = tuple(
            d.dim_value if d.HasField("dim_value") else d.dim_param or f"{value.name}?{place}"
            for place, d in enumerate(tensor.shape.dim)
        )
        yield Input(value.name, tensor.elem_type, dims)


_KINDS: dict[int, str] = {
    TensorProto.FLOAT: "f", TensorProto.DOUBLE: "f", TensorProto.FLOAT16: "f",
    TensorProto.INT8: "c", TensorProto.UINT8: "c",
    TensorProto.INT16: "i", TensorProto.UINT16: "i", TensorProto.INT32: "i",
    TensorProto.UINT32: "i", TensorProto.INT64: "i", TensorProto.UINT64: "i",
    TensorProto.BOOL: "b",
}  # fmt: skip


def _fill(
    what: Input,
    sizes: Mapping[str, int],
    bounds: Mapping[str, int],
    style: str,
    rng: np.random.Generator,
) -> Array:
    shape = [sizes[d] if isinstance(d, str) else max(d, 0) for d in what.dims]
    dtype = helper.tensor_dtype_to_np_dtype(what.dtype)
    kind = _KINDS[what.dtype]
    if kind == "f":
        drawn = rng.standard_normal(shape) if style == "normal" else rng.uniform(0.1, 0.9, shape)
        return np.asarray(drawn).astype(dtype)
    if kind == "b":
        return np.asarray(rng.random(shape) < (0.7 if style == "normal" else 2.0))
    if style == "positive":
        return np.ones(shape, dtype)
    if kind == "c":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    high = bounds.get(what.name, 3)
    return rng.integers(0, max(high, 1), shape).astype(dtype)


def _open_sizes(inputs: Sequence[Input], size: int) -> dict[str, int]:
    """Return a size per symbol; what is first anywhere, a batch, stays small."""
    first = {i.dims[0] for i in inputs if i.dims}
    symbols = [d for i in inputs for d in i.dims if isinstance(d, str)]
    return {s: min(size, 2) if s in first else size for s in symbols}


def _bounds(model: ModelProto) -> dict[str, int]:
    """Return for inputs that are used as indices how many places there are."""
    dims = {t.name: tuple(t.dims) for t in model.graph.initializer}
    same: dict[str, str] = {}
    found: dict[str, int] = {}
    for node in model.graph.node:
        inputs = list(node.input)
        if node.op_type in ("Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze") and inputs:
            same[node.output[0]] = same.get(inputs[0], inputs[0])
        elif node.op_type == "EmbedLayerNormalization":
            for index, table in ((0, 2), (1, 4)):
                _bound(found, same, inputs, index, dims.get(_at(inputs, table)), 0)
        elif node.op_type in _INDEXED and len(inputs) > 1:
            axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
            _bound(found, same, inputs, _INDEXED[node.op_type], dims.get(inputs[0]), axis)
    return found


def _at(names: list[str], place: int) -> str:
    return names[place] if place < len(names) else ""


def _bound(
    found: dict[str, int],
    same: Mapping[str, str],
    inputs: list[str],
    index: int,
    shape: tuple[int, ...] | None,
    axis: int,
) -> None:
    name = same.get(_at(inputs, index), _at(inputs, index))
    if name and shape and -len(shape) <= axis < len(shape):
        found[name] = min(found.get(name, shape[axis]), shape[axis])
