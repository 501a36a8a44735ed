"""Write a quantised network as a TFLite file, with the flatbuffer classes of `ethos-u-vela`.

The format has channels last and carries some activations as an attribute of the layer before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt
from ethosu.vela.tflite import (
    ActivationFunctionType,
    AddOptions,
    BatchMatMulOptions,
    Buffer,
    BuiltinOperator,
    BuiltinOptions,
    ConcatenationOptions,
    Conv2DOptions,
    DepthwiseConv2DOptions,
    FullyConnectedOptions,
    GeluOptions,
    LeakyReluOptions,
    MaximumMinimumOptions,
    Model,
    MulOptions,
    Operator,
    OperatorCode,
    Padding,
    Pool2DOptions,
    QuantizationParameters,
    ReducerOptions,
    ReshapeOptions,
    SoftmaxOptions,
    SubGraph,
    SubOptions,
    Tensor,
    TensorType,
    TransposeConvOptions,
)

from tests.targets.networks import Layer, Network

IDENTIFIER = b"TFL3"
WEIGHT_SCALE = 0.01
Bytes = npt.NDArray[Any]
TYPES = {
    "int8": TensorType.TensorType.INT8,
    "uint8": TensorType.TensorType.UINT8,
    "int16": TensorType.TensorType.INT16,
    "int32": TensorType.TensorType.INT32,
    "int64": TensorType.TensorType.INT64,
}
CODES = BuiltinOperator.BuiltinOperator
OPTIONS = BuiltinOptions.BuiltinOptions
FUSED = ActivationFunctionType.ActivationFunctionType
LIMITS = {
    (): (CODES.RELU, FUSED.RELU),
    (0.0, 6.0): (CODES.RELU6, FUSED.RELU6),
    (-1.0, 1.0): (CODES.RELU_N1_TO_1, FUSED.RELU_N1_TO_1),
    (0.0, 1.0): (CODES.RELU_0_TO_1, FUSED.NONE),
}
"""Bounds -> the operator, and its name as an attribute of the layer before where it has one."""
PLAIN = {
    "Sigmoid": CODES.LOGISTIC,
    "Tanh": CODES.TANH,
    "HardSwish": CODES.HARD_SWISH,
    "Elu": CODES.ELU,
    "Quantize": CODES.QUANTIZE,
}


def channels_last(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape of rank 3 or 4 with its channels at the end."""
    return (shape[0], *shape[2:], shape[1]) if len(shape) > 2 else tuple(shape)


class Writer:
    """Collects buffers, tensors and operators, and ends with the file."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.builder = flatbuffers.Builder(4096)
        self.buffers: list[bytes] = [b""]
        self.tensors: list[int] = []
        self.index: dict[str, int] = {}
        self.codes: list[int] = []
        self.operators: list[int] = []
        self.random = np.random.default_rng(0)

    def vector(self, start: Callable[[Any, int], Any], values: Sequence[int | float]) -> int:
        """A vector of numbers, written back to front as the format wants it."""
        start(self.builder, len(values))
        put = self.builder.PrependInt32
        if start is QuantizationParameters.StartZeroPointVector:
            put = self.builder.PrependInt64
        elif start is QuantizationParameters.StartScaleVector:
            put = self.builder.PrependFloat32
        for value in reversed(values):
            put(value)
        return int(self.builder.EndVector())

    def offsets(self, start: Callable[[Any, int], Any], values: Sequence[int]) -> int:
        """A vector of tables."""
        start(self.builder, len(values))
        for value in reversed(values):
            self.builder.PrependUOffsetTRelative(value)
        return int(self.builder.EndVector())

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | None,
        zero: int = 0,
        data: Bytes | None = None,
    ) -> int:
        """Adds a tensor, with its constant content if it has one; its index."""
        b = self.builder
        quantization = None
        if scale is not None:
            scales = self.vector(QuantizationParameters.StartScaleVector, [float(scale)])
            zeros = self.vector(QuantizationParameters.StartZeroPointVector, [zero])
            QuantizationParameters.Start(b)
            QuantizationParameters.AddScale(b, scales)
            QuantizationParameters.AddZeroPoint(b, zeros)
            quantization = QuantizationParameters.End(b)
        buffer = 0
        if data is not None:
            buffer = len(self.buffers)
            self.buffers.append(data.tobytes())
        text = b.CreateString(name)
        dims = self.vector(Tensor.StartShapeVector, list(shape))
        Tensor.Start(b)
        Tensor.AddShape(b, dims)
        Tensor.AddType(b, TYPES[dtype])
        Tensor.AddBuffer(b, buffer)
        Tensor.AddName(b, text)
        if quantization is not None:
            Tensor.AddQuantization(b, quantization)
        self.tensors.append(Tensor.End(b))
        self.index[name] = len(self.tensors) - 1
        return self.index[name]

    def operator(self, code: int, inputs: list[int], output: int, options: tuple[int, int]) -> None:
        """Adds an operator with the table of its options."""
        if code not in self.codes:
            self.codes.append(code)
        b = self.builder
        read = self.vector(Operator.StartInputsVector, inputs)
        written = self.vector(Operator.StartOutputsVector, [output])
        Operator.Start(b)
        Operator.AddOpcodeIndex(b, self.codes.index(code))
        Operator.AddInputs(b, read)
        Operator.AddOutputs(b, written)
        if options[0]:
            Operator.AddBuiltinOptionsType(b, options[0])
            Operator.AddBuiltinOptions(b, options[1])
        self.operators.append(Operator.End(b))

    def finish(self) -> bytes:
        """The file."""
        b = self.builder
        graph = self._graph()
        codes = []
        for code in self.codes:
            OperatorCode.Start(b)
            OperatorCode.AddBuiltinCode(b, code)
            OperatorCode.AddDeprecatedBuiltinCode(b, min(code, 127))
            OperatorCode.AddVersion(b, 1)
            codes.append(OperatorCode.End(b))
        buffers = []
        for content in self.buffers:
            data = b.CreateByteVector(content) if content else None
            Buffer.Start(b)
            if data is not None:
                Buffer.AddData(b, data)
            buffers.append(Buffer.End(b))
        all_codes = self.offsets(Model.StartOperatorCodesVector, codes)
        graphs = self.offsets(Model.StartSubgraphsVector, [graph])
        all_buffers = self.offsets(Model.StartBuffersVector, buffers)
        Model.Start(b)
        Model.AddVersion(b, 3)
        Model.AddOperatorCodes(b, all_codes)
        Model.AddSubgraphs(b, graphs)
        Model.AddBuffers(b, all_buffers)
        b.Finish(Model.End(b), file_identifier=IDENTIFIER)
        return bytes(b.Output())

    def _graph(self) -> int:
        b = self.builder
        network = self.network
        tensors = self.offsets(SubGraph.StartTensorsVector, self.tensors)
        operators = self.offsets(SubGraph.StartOperatorsVector, self.operators)
        read = self.vector(SubGraph.StartInputsVector, [self.index[n] for n in network.inputs])
        written = self.vector(SubGraph.StartOutputsVector, [self.index[n] for n in network.outputs])
        name = b.CreateString(network.name)
        SubGraph.Start(b)
        SubGraph.AddTensors(b, tensors)
        SubGraph.AddInputs(b, read)
        SubGraph.AddOutputs(b, written)
        SubGraph.AddOperators(b, operators)
        SubGraph.AddName(b, name)
        return int(SubGraph.End(b))


def write(network: Network) -> bytes:
    """The network as a TFLite file."""
    writer = Writer(network)
    for name, tensor in network.tensors.items():
        shape = channels_last(tensor.shape)
        writer.tensor(name, shape, tensor.dtype, tensor.scale, tensor.zero)
    held = {layer.inputs[0]: layer for layer in network.layers if layer.float_input}
    for layer in network.layers:
        if not layer.float_input:
            follower = held.get(layer.output)
            _add(writer, layer, follower)
    return writer.finish()


def _add(writer: Writer, layer: Layer, follower: Layer | None) -> None:
    """Adds a layer; the activation that its attribute says writes the output in its place."""
    output = writer.index[follower.output if follower else layer.output]
    attribute = LIMITS[follower.numbers][1] if follower else FUSED.NONE
    inputs = [writer.index[name] for name in layer.inputs]
    make = MAKERS.get(layer.kind)
    if layer.kind in PLAIN:
        writer.operator(PLAIN[layer.kind], inputs, output, (0, 0))
    elif layer.kind in {"Relu", "Clip"} and layer.numbers not in LIMITS:
        _clip(writer, layer, inputs, output)
    elif layer.kind in {"Relu", "Clip"}:
        writer.operator(LIMITS[layer.numbers][0], inputs, output, (0, 0))
    elif make is not None:
        make(writer, layer, inputs, output, attribute)
    else:
        raise NotImplementedError(layer.kind)


def _constant(writer: Writer, layer: Layer, suffix: str, shape: Sequence[int], dtype: str) -> int:
    """Weights or a bias of a layer: random codes with scales that fit to each other."""
    tensor = writer.network.tensors[layer.inputs[0]]
    values = writer.random.integers(1, 100, size=shape).astype(dtype)
    wide = dtype in {"int32", "int64"}
    scale = tensor.scale * WEIGHT_SCALE if wide else WEIGHT_SCALE
    zero = 128 if dtype == "uint8" else 0
    return writer.tensor(layer.output + suffix, shape, dtype, scale, zero, values)


def _types(writer: Writer, layer: Layer) -> tuple[str, str]:
    """The types of weights and bias that go with the type of the input."""
    dtype = writer.network.tensors[layer.inputs[0]].dtype
    return ("uint8" if dtype == "uint8" else "int8"), ("int64" if dtype == "int16" else "int32")


def _conv(writer: Writer, layer: Layer, inputs: list[int], output: int, attribute: int) -> None:
    read = writer.network.tensors[layer.inputs[0]].shape
    written = writer.network.tensors[layer.output].shape
    weights, bias = _types(writer, layer)
    depthwise = layer.groups == read[1] and layer.groups > 1
    k = layer.kernel
    shape = (1, k, k, written[1]) if depthwise else (written[1], k, k, read[1] // layer.groups)
    w = _constant(writer, layer, "_w", shape, weights)
    b = _constant(writer, layer, "_b", (written[1],), bias)
    build = writer.builder
    table: Any = DepthwiseConv2DOptions if depthwise else Conv2DOptions
    table.Start(build)
    table.AddPadding(build, Padding.Padding.SAME)
    table.AddStrideW(build, layer.stride)
    table.AddStrideH(build, layer.stride)
    table.AddDilationWFactor(build, layer.dilation)
    table.AddDilationHFactor(build, layer.dilation)
    table.AddFusedActivationFunction(build, attribute)
    if depthwise:
        table.AddDepthMultiplier(build, written[1] // read[1])
    code = CODES.DEPTHWISE_CONV_2D if depthwise else CODES.CONV_2D
    kind = OPTIONS.DepthwiseConv2DOptions if depthwise else OPTIONS.Conv2DOptions
    writer.operator(code, [*inputs, w, b], output, (kind, table.End(build)))


def _conv_transpose(
    writer: Writer, layer: Layer, inputs: list[int], output: int, attribute: int
) -> None:
    read = writer.network.tensors[layer.inputs[0]].shape
    written = writer.network.tensors[layer.output].shape
    weights, bias = _types(writer, layer)
    w = _constant(writer, layer, "_w", (written[1], layer.kernel, layer.kernel, read[1]), weights)
    b = _constant(writer, layer, "_b", (written[1],), bias)
    dims = np.array(channels_last(written), dtype=np.int32)
    size = writer.tensor(layer.output + "_shape", dims.shape, "int32", None, 0, dims)
    build = writer.builder
    TransposeConvOptions.Start(build)
    TransposeConvOptions.AddPadding(build, Padding.Padding.SAME)
    TransposeConvOptions.AddStrideW(build, layer.stride)
    TransposeConvOptions.AddStrideH(build, layer.stride)
    TransposeConvOptions.AddFusedActivationFunction(build, attribute)
    options = (OPTIONS.TransposeConvOptions, TransposeConvOptions.End(build))
    writer.operator(CODES.TRANSPOSE_CONV, [size, w, *inputs, b], output, options)


def _gemm(writer: Writer, layer: Layer, inputs: list[int], output: int, attribute: int) -> None:
    read = writer.network.tensors[layer.inputs[0]].shape
    written = writer.network.tensors[layer.output].shape
    weights, bias = _types(writer, layer)
    w = _constant(writer, layer, "_w", (written[-1], read[-1]), weights)
    b = _constant(writer, layer, "_b", (written[-1],), bias)
    build = writer.builder
    FullyConnectedOptions.Start(build)
    FullyConnectedOptions.AddFusedActivationFunction(build, attribute)
    if len(written) > 2:
        FullyConnectedOptions.AddKeepNumDims(build, True)
    options = (OPTIONS.FullyConnectedOptions, FullyConnectedOptions.End(build))
    writer.operator(CODES.FULLY_CONNECTED, [*inputs, w, b], output, options)


def _matmul(writer: Writer, layer: Layer, inputs: list[int], output: int, attribute: int) -> None:
    if len(inputs) == 1:
        _gemm(writer, layer, inputs, output, attribute)
        return
    BatchMatMulOptions.Start(writer.builder)
    options = (OPTIONS.BatchMatMulOptions, BatchMatMulOptions.End(writer.builder))
    writer.operator(CODES.BATCH_MATMUL, inputs, output, options)


def _pool(writer: Writer, layer: Layer, inputs: list[int], output: int, attribute: int) -> None:
    build = writer.builder
    Pool2DOptions.Start(build)
    Pool2DOptions.AddPadding(build, Padding.Padding.VALID)
    Pool2DOptions.AddStrideW(build, layer.stride)
    Pool2DOptions.AddStrideH(build, layer.stride)
    Pool2DOptions.AddFilterWidth(build, layer.kernel)
    Pool2DOptions.AddFilterHeight(build, layer.kernel)
    Pool2DOptions.AddFusedActivationFunction(build, attribute)
    options = (OPTIONS.Pool2DOptions, Pool2DOptions.End(build))
    code = CODES.MAX_POOL_2D if layer.kind == "MaxPool" else CODES.AVERAGE_POOL_2D
    writer.operator(code, inputs, output, options)


ARITHMETIC: dict[str, tuple[int, int, Any]] = {
    "Add": (CODES.ADD, OPTIONS.AddOptions, AddOptions),
    "Sub": (CODES.SUB, OPTIONS.SubOptions, SubOptions),
    "Mul": (CODES.MUL, OPTIONS.MulOptions, MulOptions),
}


def _clip(writer: Writer, layer: Layer, inputs: list[int], output: int) -> None:
    """Bounds that no operator of the format has are a maximum and a minimum."""
    tensor = writer.network.tensors[layer.output]
    codes = [round(n / tensor.scale) + tensor.zero for n in layer.numbers]
    low, high = (
        writer.tensor(
            f"{layer.output}_{side}",
            (),
            tensor.dtype,
            tensor.scale,
            tensor.zero,
            np.array(code, tensor.dtype),
        )
        for side, code in zip(("min", "max"), codes, strict=True)
    )
    shape = channels_last(tensor.shape)
    above = writer.tensor(f"{layer.output}_above", shape, tensor.dtype, tensor.scale, tensor.zero)
    writer.operator(CODES.MAXIMUM, [*inputs, low], above, _empty(writer))
    writer.operator(CODES.MINIMUM, [above, high], output, _empty(writer))


def _empty(writer: Writer) -> tuple[int, int]:
    MaximumMinimumOptions.Start(writer.builder)
    return OPTIONS.MaximumMinimumOptions, MaximumMinimumOptions.End(writer.builder)


def _binary(writer: Writer, layer: Layer, inputs: list[int], output: int, attribute: int) -> None:
    code, kind, table = ARITHMETIC[layer.kind]
    table.Start(writer.builder)
    table.AddFusedActivationFunction(writer.builder, attribute)
    writer.operator(code, inputs, output, (kind, table.End(writer.builder)))


def _concat(writer: Writer, _: Layer, inputs: list[int], output: int, attribute: int) -> None:
    ConcatenationOptions.Start(writer.builder)
    ConcatenationOptions.AddAxis(writer.builder, 3)
    ConcatenationOptions.AddFusedActivationFunction(writer.builder, attribute)
    options = (OPTIONS.ConcatenationOptions, ConcatenationOptions.End(writer.builder))
    writer.operator(CODES.CONCATENATION, inputs, output, options)


def _reshape(writer: Writer, layer: Layer, inputs: list[int], output: int, _: int) -> None:
    dims = np.array(channels_last(writer.network.tensors[layer.output].shape), dtype=np.int32)
    size = writer.tensor(layer.output + "_shape", dims.shape, "int32", None, 0, dims)
    ReshapeOptions.Start(writer.builder)
    options = (OPTIONS.ReshapeOptions, ReshapeOptions.End(writer.builder))
    writer.operator(CODES.RESHAPE, [*inputs, size], output, options)


def _transpose(writer: Writer, layer: Layer, inputs: list[int], output: int, _: int) -> None:
    order = np.array(layer.numbers, dtype=np.int32)
    axes = writer.tensor(layer.output + "_axes", order.shape, "int32", None, 0, order)
    writer.operator(CODES.TRANSPOSE, [*inputs, axes], output, (0, 0))


def _mean(writer: Writer, layer: Layer, inputs: list[int], output: int, _: int) -> None:
    order = np.array([1, 2], dtype=np.int32)
    axes = writer.tensor(layer.output + "_axes", order.shape, "int32", None, 0, order)
    ReducerOptions.Start(writer.builder)
    ReducerOptions.AddKeepDims(writer.builder, True)
    options = (OPTIONS.ReducerOptions, ReducerOptions.End(writer.builder))
    writer.operator(CODES.MEAN, [*inputs, axes], output, options)


def _leaky(writer: Writer, layer: Layer, inputs: list[int], output: int, _: int) -> None:
    LeakyReluOptions.Start(writer.builder)
    LeakyReluOptions.AddAlpha(writer.builder, layer.numbers[0])
    options = (OPTIONS.LeakyReluOptions, LeakyReluOptions.End(writer.builder))
    writer.operator(CODES.LEAKY_RELU, inputs, output, options)


def _gelu(writer: Writer, _: Layer, inputs: list[int], output: int, __: int) -> None:
    GeluOptions.Start(writer.builder)
    options = (OPTIONS.GeluOptions, GeluOptions.End(writer.builder))
    writer.operator(CODES.GELU, inputs, output, options)


def _softmax(writer: Writer, _: Layer, inputs: list[int], output: int, __: int) -> None:
    SoftmaxOptions.Start(writer.builder)
    SoftmaxOptions.AddBeta(writer.builder, 1.0)
    options = (OPTIONS.SoftmaxOptions, SoftmaxOptions.End(writer.builder))
    writer.operator(CODES.SOFTMAX, inputs, output, options)


MAKERS: dict[str, Callable[[Writer, Layer, list[int], int, int], None]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MaxPool": _pool,
    "AveragePool": _pool,
    "Add": _binary,
    "Sub": _binary,
    "Mul": _binary,
    "Concat": _concat,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "ReduceMean": _mean,
    "LeakyRelu": _leaky,
    "Gelu": _gelu,
    "Softmax": _softmax,
}
