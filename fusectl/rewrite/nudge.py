"""A model whose stored numbers are moved by their last bit: what rounding can do to it."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from fusectl.graph.constants import Array

_LARGEST = 1 << 29
"""Bytes of a model, its data included, above which it is not read as a whole."""


def nudged(path: Path, draw: int) -> bytes | None:
    """Return a model with its floating weights moved; None where it is too large for that."""
    model = onnx.load(str(path), load_external_data=False)
    if path.stat().st_size + _outside(model) > _LARGEST:
        return None
    onnx.load_external_data_for_model(model, str(path.parent))
    for tensor in model.graph.initializer:
        if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16):
            moved = nudge(numpy_helper.to_array(tensor), tensor.name, draw)
            tensor.CopyFrom(numpy_helper.from_array(moved, tensor.name))
    return bytes(model.SerializeToString())


def _outside(model: onnx.ModelProto) -> int:
    entries = (e for t in model.graph.initializer for e in t.external_data if e.key == "length")
    return sum(int(e.value) for e in entries)


def nudge(array: Array, name: str, draw: int) -> Array:
    """Return numbers one step up or down, by a coin for each; others as they are.

    The coins are those of a name and a draw: the same ones each time.
    """
    if array.dtype.kind != "f":
        return array
    random = np.random.default_rng([draw, zlib.crc32(name.encode("utf-8"))])
    up = random.random(array.shape) < 0.5
    towards: Any = np.where(up, np.inf, -np.inf).astype(array.dtype)
    return np.asarray(np.nextafter(array, towards))
