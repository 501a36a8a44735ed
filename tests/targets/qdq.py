"""Write a quantised network as an ONNX model with a quantiser and a dequantiser at every tensor.

The codes of a tensor `t` are called `t_q`. Every reader has the same dequantiser; what the network
returns are numbers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.targets.networks import Layer, Network, Tensor

WEIGHT_SCALE = 0.01
OPSET = 21
TYPES = {"int8": np.int8, "uint8": np.uint8, "int16": np.int16, "int32": np.int32}
WINDOWS = {"Conv", "ConvTranspose", "MaxPool", "AveragePool"}


class _Builder:
    def __init__(self, network: Network) -> None:
        self.network = network
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(0)

    def constant(self, name: str, values: object, dtype: type) -> str:
        self.constants.append(numpy_helper.from_array(np.array(values, dtype=dtype), name))
        return name

    def node(self, op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        name = f"{op}_{output}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name, **attributes))
        return output

    def encoding(self, name: str, tensor: Tensor) -> list[str]:
        scale = self.constant(f"{name}_scale", tensor.scale, np.float32)
        return [scale, self.constant(f"{name}_zero", tensor.zero, TYPES[tensor.dtype])]

    def coded(self, name: str, value: str) -> None:
        """Quantises a value to the tensor's codes and dequantises them for its readers."""
        known = self.encoding(name, self.network.tensors[name])
        self.node("QuantizeLinear", [value, *known], f"{name}_q")
        self.node("DequantizeLinear", [f"{name}_q", *known], f"{name}_d")

    def weights(self, name: str, shape: Sequence[int], dtype: str, scale: float) -> str:
        """Constant codes with their dequantiser."""
        zero = 128 if dtype == "uint8" else 0
        codes = self.constant(f"{name}_q", self.random.integers(1, 100, size=shape), TYPES[dtype])
        known = [
            self.constant(f"{name}_scale", scale, np.float32),
            self.constant(f"{name}_zero", zero, TYPES[dtype]),
        ]
        return self.node("DequantizeLinear", [codes, *known], name)

    def weighted(self, layer: Layer, shape: Sequence[int]) -> list[str]:
        """Weights and bias of a product."""
        tensor = self.network.tensors[layer.inputs[0]]
        kind = "uint8" if tensor.dtype == "uint8" else "int8"
        channels = self.network.tensors[layer.output].shape[1]
        w = self.weights(f"{layer.output}_w", shape, kind, WEIGHT_SCALE)
        scale = float(np.float32(tensor.scale) * np.float32(WEIGHT_SCALE))
        return [w, self.weights(f"{layer.output}_b", [channels], "int32", scale)]


def model(network: Network) -> onnx.ModelProto:
    """The network as a model that passes the checker."""
    b = _Builder(network)
    held = {layer.inputs[0] for layer in network.layers if layer.float_input}
    for name in network.inputs:
        b.coded(name, name)
    for layer in network.layers:
        made = layer.output if layer.output in held else f"{layer.output}_f"
        inputs = [name if layer.float_input else f"{name}_d" for name in layer.inputs]
        _add(b, layer, inputs, made)
        if layer.output not in held:
            b.coded(layer.output, made)
    read = [_info(n, network.tensors[n]) for n in network.inputs]
    written = [_info(f"{n}_d", network.tensors[n]) for n in network.outputs]
    graph = helper.make_graph(b.nodes, network.name, read, written, b.constants)
    made_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    made_model.ir_version = 10
    onnx.checker.check_model(made_model, full_check=True)
    return made_model


def _info(name: str, tensor: Tensor) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, tensor.shape)


def _add(b: _Builder, layer: Layer, inputs: list[str], output: str) -> None:
    """Adds the operator of a layer on floats."""
    if layer.kind == "Quantize":
        # The quantiser behind it and the dequantiser in front of it do the work.
        b.node("Identity", inputs, output)
        return
    inputs = [*inputs, *_constants(b, layer, output)]
    b.node(layer.kind, inputs, output, **_attributes(layer))


def _constants(b: _Builder, layer: Layer, output: str) -> list[str]:
    """The operands of a layer that are no tensors of the network."""
    read = b.network.tensors[layer.inputs[0]].shape
    written = b.network.tensors[layer.output].shape
    k = layer.kernel
    if layer.kind == "Conv":
        return b.weighted(layer, [written[1], read[1] // layer.groups, k, k])
    if layer.kind == "ConvTranspose":
        return b.weighted(layer, [read[1], written[1], k, k])
    if layer.kind == "Gemm":
        return b.weighted(layer, [read[1], written[1]])
    if layer.kind == "Clip":
        low, high = layer.numbers
        bounds = {"min": low, "max": high}
        return [b.constant(f"{output}_{n}", v, np.float32) for n, v in bounds.items()]
    if layer.kind == "Reshape":
        return [b.constant(f"{output}_dims", written, np.int64)]
    if layer.kind == "ReduceMean":
        return [b.constant(f"{output}_axes", [2, 3], np.int64)]
    return []


def _attributes(layer: Layer) -> dict[str, Any]:
    if layer.kind in WINDOWS:
        return _window(layer)
    if layer.kind == "LeakyRelu":
        return {"alpha": layer.numbers[0]}
    if layer.kind == "Concat":
        return {"axis": 1}
    if layer.kind == "Transpose":
        return {"perm": [int(n) for n in layer.numbers]}
    return {}


def _window(layer: Layer) -> dict[str, Any]:
    both = [layer.kernel] * 2
    found: dict[str, Any] = {"kernel_shape": both, "strides": [layer.stride] * 2}
    if layer.kind in {"Conv", "ConvTranspose"}:
        found |= {"group": layer.groups, "dilations": [layer.dilation] * 2}
    if layer.kind == "Conv":
        found["auto_pad"] = "SAME_UPPER"
    return found
