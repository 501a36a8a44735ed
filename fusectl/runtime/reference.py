"""ONNX's own reference evaluator: slow, and without operators of other domains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from fusectl.errors import first_line
from fusectl.runtime.session import Array, CannotRun, Dim, Port


def name() -> str:
    """Return the runtime and its version."""
    return f"ONNX reference evaluator {onnx.__version__}"


class Session:
    """A model in the reference evaluator."""

    def __init__(self, model: bytes | Path) -> None:
        try:
            loaded = (
                onnx.load(str(model))
                if isinstance(model, Path)
                else onnx.ModelProto.FromString(model)
            )
            self._evaluator = ReferenceEvaluator(loaded)
        except Exception as error:  # whatever it does not know, it raises in its own way
            raise CannotRun(first_line(error)) from None
        stored = {t.name for t in loaded.graph.initializer}
        self.inputs = tuple(_port(i) for i in loaded.graph.input if i.name not in stored)
        self.outputs = tuple(o.name for o in loaded.graph.output)

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        """Return the outputs by name. Raises CannotRun."""
        try:
            with np.errstate(all="ignore"):
                values = self._evaluator.run(None, dict(feeds))
        except Exception as error:
            raise CannotRun(first_line(error)) from None
        return dict(zip(self.outputs, values, strict=True))


def _port(info: onnx.ValueInfoProto) -> Port:
    if not info.type.HasField("tensor_type"):
        return Port(info.name, str(info.type.WhichOneof("value")), None)
    tensor = info.type.tensor_type
    kind = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    dtype = "str" if tensor.elem_type == onnx.TensorProto.STRING else str(kind)
    if not tensor.HasField("shape"):
        return Port(info.name, dtype, None)
    return Port(info.name, dtype, tuple(_dim(d) for d in tensor.shape.dim))


def _dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        return int(dim.dim_value)
    return str(dim.dim_param) if kind == "dim_param" else None
