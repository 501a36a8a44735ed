"""The real-number formula of a model: what it would compute if nothing in between were rounded.

ONNX's reference evaluator computes it in double precision. A conversion between two types of
floating-point numbers changes nothing, and a quantiser saturates but does not round. What is given
(inputs, constants) has the value that it has; conversions to whole numbers are no roundings of a
result, and stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, inliner, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from fusectl.errors import first_line
from fusectl.runtime.session import Array, CannotRun

Numbers = npt.NDArray[np.float64]

_FLOATS = {
    onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.DOUBLE,
}  # fmt: skip
_WIDE = onnx.TensorProto.DOUBLE
_CODES: dict[int, tuple[int, int]] = {
    onnx.TensorProto.UINT8: (0, 255), onnx.TensorProto.INT8: (-128, 127),
    onnx.TensorProto.UINT16: (0, 65535), onnx.TensorProto.INT16: (-32768, 32767),
    onnx.TensorProto.UINT4: (0, 15), onnx.TensorProto.INT4: (-8, 7),
}  # fmt: skip
"""The codes that a quantiser saturates to (ONNX's QuantizeLinear)."""


class Formula:
    """A model without the roundings between its nodes."""

    def __init__(self, model: bytes | Path | onnx.ModelProto) -> None:
        """Take a model. Raises CannotRun where the evaluator lacks an operator."""
        try:
            whole = onnx.ModelProto()
            if isinstance(model, Path):
                whole = onnx.load(str(model))
            elif isinstance(model, bytes):
                whole.ParseFromString(model)
            else:
                whole.CopyFrom(model)
            if whole.functions:
                whole = inliner.inline_local_functions(whole)
            _widen_graph(whole.graph)
            self.nodes = len(whole.graph.node)
            self._evaluator = ReferenceEvaluator(whole, new_ops=_OPERATORS)
        except Exception as error:  # whatever it does not know, it raises in its own way
            raise CannotRun(first_line(error)) from None

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        """Return the outputs by name, numbers in double precision. Raises CannotRun."""
        given = {name: widened(array) for name, array in feeds.items()}
        try:
            with np.errstate(all="ignore"):
                values = self._evaluator.run(None, given)
        except Exception as error:
            raise CannotRun(first_line(error)) from None
        made = dict(zip(self._evaluator.output_names, values, strict=True))
        for name, value in made.items():
            if isinstance(value, np.ndarray) and value.dtype in (np.float32, np.float16):
                raise CannotRun(f"{name} has no formula: it is computed in {value.dtype}")
        return made


def widened(array: Array) -> Array:
    """Return numbers in double precision, and anything else as it is."""
    kind = array.dtype
    # Types of eight bits, and bfloat16, are none of numpy's own.
    if kind.kind == "f" or kind.name in ("bfloat16",):
        return array.astype(np.float64)
    return array


def _widen_graph(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.tensor_type.elem_type in _FLOATS:
            info.type.tensor_type.elem_type = _WIDE
    for node in graph.node:
        if node.op_type == "Constant":
            _constant(node)
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _widen_tensor(attribute.t)
            if attribute.name in ("to", "dtype") and attribute.i in _FLOATS:
                attribute.i = _WIDE
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                _widen_graph(inner)


def _constant(node: onnx.NodeProto) -> None:
    """Turn the short forms of numbers into a tensor, whose type can be widened."""
    for attribute in node.attribute:
        if attribute.name == "value_float":
            numbers = np.asarray(attribute.f, np.float32)
        elif attribute.name == "value_floats":
            numbers = np.asarray(attribute.floats, np.float32)
        else:
            continue
        attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(numbers)))


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in _FLOATS and tensor.data_type != _WIDE:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


class QuantizeLinear(OpRun):
    """Codes that are not rounded: they stand for the number itself, as far as they reach."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        scale: Array,
        zero_point: Array | None = None,
        axis: int | None = None,
        output_dtype: int | None = None,
        block_size: int | None = None,
        **_: object,
    ) -> tuple[Array]:
        kind = output_dtype or onnx.TensorProto.UINT8
        if zero_point is not None:
            kind = helper.np_dtype_to_tensor_dtype(zero_point.dtype)
        limits = _CODES.get(int(kind))
        if limits is None:
            raise CannotRun("codes of this type are no whole numbers, and have no formula here")
        step, offset = _encoding(x, scale, zero_point, axis, block_size)
        codes = x.astype(np.float64) / step + offset
        return (np.clip(codes, *limits),)


class DequantizeLinear(OpRun):
    """The numbers that codes stand for."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        scale: Array,
        zero_point: Array | None = None,
        axis: int | None = None,
        block_size: int | None = None,
        **_: object,
    ) -> tuple[Array]:
        step, offset = _encoding(x, scale, zero_point, axis, block_size)
        return ((x.astype(np.float64) - offset) * step,)


class DynamicQuantizeLinear(OpRun):
    """The scale that ONNX defines; neither the codes nor the zero point are rounded.

    The codes of a range that is the data's own never saturate.
    """

    op_domain = ""

    def _run(self, x: Array, **_: object) -> tuple[Array, Array, Array]:
        low, high = min(0.0, float(np.min(x))), max(0.0, float(np.max(x)))
        scale = np.float64((high - low) / 255.0 or 1.0)
        zero_point = np.asarray(-low / scale)
        return x.astype(np.float64) / scale + zero_point, np.asarray(scale), zero_point


class MatMulInteger(OpRun):
    """The product of codes, which may be unrounded ones."""

    op_domain = ""

    def _run(
        self, a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None, **_: Any
    ) -> tuple[Array]:
        return (np.matmul(_of_rows(a, a_zero, -2), _of_rows(b, b_zero, -1)),)


class QLinearMatMul(OpRun):
    """A product between a dequantiser and a quantiser."""

    op_domain = ""

    def _run(self, *given: Array, **_: object) -> tuple[Array]:
        a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = given
        if a_scale.size > 1 or b_scale.size > 1 or y_scale.size > 1:
            raise CannotRun("QLinearMatMul with a scale for each row has no formula here")
        limits = _CODES[helper.np_dtype_to_tensor_dtype(y_zero.dtype)]
        sums = np.matmul(_of_rows(a, a_zero, -2), _of_rows(b, b_zero, -1))
        scale = np.float64(a_scale.item()) * np.float64(b_scale.item()) / y_scale.item()
        return (np.clip(sums * scale + _offset(y_zero), *limits),)


class _Without(OpRun):
    """An operator that rounds inside, and that no formula is known of here."""

    op_domain = ""

    def _run(self, *_: Array, **__: object) -> tuple[Array]:
        raise CannotRun(f"{type(self).__name__} rounds inside, and its formula is not known here")


class ConvInteger(_Without):
    """See ``_Without``."""


class QLinearConv(_Without):
    """See ``_Without``."""


_OPERATORS: list[type[OpRun]] = [
    QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, MatMulInteger, QLinearMatMul,
    ConvInteger, QLinearConv,
]  # fmt: skip


def _of_rows(codes: Array, zero_point: Array | None, axis: int) -> Numbers:
    """Return codes without their zero point, which is one for all or one for each row or column."""
    offset = _offset(zero_point)
    if offset.size > 1 and offset.ndim == 1:
        offset = np.expand_dims(offset, 1 if axis == -2 else 0)
    return np.asarray(codes.astype(np.float64) - offset)


def _offset(zero_point: Array | None) -> Numbers:
    return np.asarray(0.0 if zero_point is None else zero_point, np.float64)


def _encoding(
    x: Array, scale: Array, zero_point: Array | None, axis: int | None, block_size: int | None
) -> tuple[Numbers, Numbers]:
    """Return scale and zero point in the rank of ``x``. Raises CannotRun."""
    if block_size:
        raise CannotRun("a scale for each block has no formula here")
    return _along(scale, x, axis), _along(_offset(zero_point), x, axis)


def _along(numbers: Array, x: Array, axis: int | None) -> Numbers:
    """Return one number for each place of an axis, or one for all, in the rank of ``x``."""
    if numbers.size == 1:
        return numbers.reshape(()).astype(np.float64)
    shape = [1] * x.ndim
    shape[1 if axis is None else axis] = numbers.size
    return numbers.reshape(shape).astype(np.float64)
