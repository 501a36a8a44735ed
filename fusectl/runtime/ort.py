"""ONNX Runtime, on its CPU provider."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnxruntime

from fusectl.runtime.messages import plain
from fusectl.runtime.session import Array, CannotRun, Port

_TYPES = {
    "float": "float32", "double": "float64", "string": "str", "bool": "bool", "float16": "float16",
}  # fmt: skip


def name() -> str:
    """Return the runtime and its version."""
    return f"ONNX Runtime {onnxruntime.__version__}"


class Session:
    """A model in ONNX Runtime."""

    def __init__(self, model: bytes | Path, optimise: bool) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = (
            levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
        )
        self._file = model if isinstance(model, Path) else None
        source = str(model) if isinstance(model, Path) else model
        try:
            self._session = onnxruntime.InferenceSession(
                source, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exceptions have no common base but Exception
            raise CannotRun(plain(error, self._file)) from None
        self.inputs = tuple(_port(i) for i in self._session.get_inputs())
        self.outputs = tuple(o.name for o in self._session.get_outputs())

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        """Return the outputs by name. Raises CannotRun."""
        try:
            values = self._session.run(None, dict(feeds))
        except Exception as error:
            raise CannotRun(plain(error, self._file)) from None
        return dict(zip(self.outputs, values, strict=True))


def _port(told: Any) -> Port:
    kind = told.type
    if not kind.startswith("tensor("):
        return Port(told.name, kind, None)
    inner = kind[len("tensor(") : -1]
    dims = tuple(d if isinstance(d, int | str) else None for d in told.shape)
    return Port(told.name, _TYPES.get(inner, inner), dims)
