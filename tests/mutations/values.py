"""Numbers for every value of a model, by ONNX's own reference evaluator."""

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]
Values = Mapping[str, Array]
_BATCH = 3
"""What a dimension is that has a name only."""


class DequantizeLinear(OpRun):
    """The evaluator has it from opset 19 on only."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        scale: Array,
        zero: Array | None = None,
        axis: int = 1,
        block_size: int = 0,
        output_dtype: int = 0,
    ) -> tuple[Array]:
        shape = [-1 if a == axis % max(x.ndim, 1) else 1 for a in range(x.ndim)]
        step, offset = (
            np.asarray(a).reshape(shape) if a is not None and np.size(a) > 1 else np.asarray(a or 0)
            for a in (scale, zero)
        )
        wide = x.astype(np.float32) - offset.astype(np.float32)
        return (np.asarray(wide * step).astype(np.asarray(scale).dtype).reshape(x.shape),)


class Softmax(OpRun):
    """Before opset 13: over all axes from the given one on, together. The evaluator has no such."""

    op_domain = ""

    def _run(self, x: Array, axis: int | None = None) -> tuple[Array]:
        stated = any(a.name == "axis" for a in self.onnx_node.attribute)
        first = (axis if stated and axis is not None else 1) % max(x.ndim, 1)
        rows = x.reshape(int(np.prod(x.shape[:first])), -1)
        shifted = np.exp(rows - rows.max(1, keepdims=True))
        return (np.asarray(shifted / shifted.sum(1, keepdims=True)).reshape(x.shape),)


class BatchNormalization(OpRun):
    """Opset 7 to 13 with one result: inference. The evaluator trains there."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        scale: Array,
        bias: Array,
        mean: Array,
        var: Array,
        epsilon: float = 1e-5,
        **_: object,
    ) -> tuple[Array]:
        shape = (1, -1, *(1,) * (x.ndim - 2))
        factor = (scale / np.sqrt(var + epsilon)).reshape(shape)
        return (
            np.asarray((x - mean.reshape(shape)) * factor + bias.reshape(shape)).astype(x.dtype),
        )


class NotRunnable(Exception):
    """The evaluator cannot run a model."""


def _random(info: onnx.ValueInfoProto, random: np.random.Generator) -> Array:
    kind = info.type.tensor_type
    dims = [d.dim_value if d.HasField("dim_value") else _BATCH for d in kind.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    if kind.elem_type == TensorProto.BOOL:
        return random.integers(0, 2, dims).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = -60, 60
        if kind.elem_type in (TensorProto.UINT8, TensorProto.INT8):
            low, high = limits.min, limits.max
        elif kind.elem_type == TensorProto.INT64:
            low, high = 0, 1  # places in a table
        return random.integers(low, high, dims, endpoint=True).astype(dtype)
    return (2 * random.standard_normal(dims)).astype(dtype)


def feeds(model: onnx.ModelProto) -> dict[str, Array]:
    """Random inputs, the same ones for the same model."""
    seed = zlib.crc32(model.SerializeToString(deterministic=True))
    random = np.random.default_rng(seed)
    stored = {t.name for t in model.graph.initializer}
    return {i.name: _random(i, random) for i in model.graph.input if i.name not in stored}


def all_values(model: onnx.ModelProto) -> dict[str, Array]:
    """Every input, constant and result of the main graph. Raises NotRunnable."""
    given = feeds(model)
    open_model = onnx.ModelProto.FromString(model.SerializeToString())
    names = [o for node in model.graph.node for o in node.output if o]
    del open_model.graph.output[:]
    open_model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    made = _run(open_model, names, given)
    found = {t.name: np.asarray(onnx.numpy_helper.to_array(t)) for t in model.graph.initializer}
    found.update(given)
    found.update({n: np.asarray(a) for n, a in zip(names, made, strict=True) if a is not None})
    return found


def _corrected(model: onnx.ModelProto) -> list[type[OpRun]]:
    """What the evaluator lacks, or has in newer versions alone."""
    opset = next(e.version for e in model.opset_import if e.domain in ("", "ai.onnx"))
    found: list[type[OpRun]] = [DequantizeLinear]
    if opset < 14:
        found.append(BatchNormalization)
    if opset < 13:
        found.append(Softmax)
    return found


def _run(model: onnx.ModelProto, names: list[str], given: Values) -> list[Array]:
    try:
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(model, new_ops=_corrected(model))
            return list(evaluator.run(names, dict(given)))
    except Exception as error:  # it raises whatever numpy raises
        raise NotRunnable(f"{type(error).__name__}: {error}") from None


def run_node(node: onnx.NodeProto, opset: int, given: Values) -> Array:
    """The first result of one node. Raises NotRunnable."""
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in given.items()
    ]
    outputs = [onnx.ValueInfoProto(name=node.output[0])]
    graph = helper.make_graph([node], "one", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return np.asarray(_run(model, [node.output[0]], given)[0])
