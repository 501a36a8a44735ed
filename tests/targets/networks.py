"""Small quantised networks, said once for every format that they are written in.

A network is a list of layers. Shapes are in ONNX's order, channels second. Every tensor has one
scale and one zero point. `float_input` says that what a layer reads has never been quantised: the
layer is the activation that some formats carry as an attribute of the layer before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal[
    "Add",
    "AveragePool",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Elu",
    "Gelu",
    "Gemm",
    "HardSwish",
    "LeakyRelu",
    "MatMul",
    "MaxPool",
    "Mul",
    "Quantize",
    "ReduceMean",
    "Relu",
    "Reshape",
    "Sigmoid",
    "Softmax",
    "Sub",
    "Tanh",
    "Transpose",
]


Dtype = Literal["int8", "uint8", "int16"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A quantised tensor: its shape in ONNX's order, its codes, and what they mean."""

    shape: tuple[int, ...]
    dtype: Dtype = "int8"
    scale: float = 0.05
    zero: int = 0


@dataclass(frozen=True, slots=True)
class Layer:
    """One operator.

    `numbers` are its parameters: the bounds of a Clip, the slope of a LeakyRelu, the axes of a
    Transpose.
    """

    kind: Kind
    inputs: tuple[str, ...]
    output: str
    groups: int = 1
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    numbers: tuple[float, ...] = ()
    float_input: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """Layers in order, the tensors that they write, and the tensors that the network returns."""

    name: str
    tensors: dict[str, Tensor]
    layers: Sequence[Layer]
    outputs: tuple[str, ...]

    @property
    def inputs(self) -> list[str]:
        """The tensors that no layer writes, in order of their use."""
        written = {layer.output for layer in self.layers}
        read = [name for layer in self.layers for name in layer.inputs]
        return [name for name in dict.fromkeys(read) if name not in written]

    @property
    def edges(self) -> list[tuple[str, Layer, Layer]]:
        """Every tensor between two layers, with the layer that writes it and each that reads it.

        A Reshape is no layer here: what reads its result reads the tensor in front of it.
        """
        writers = {layer.output: layer for layer in self.layers}
        found = []
        for reader in self.layers:
            for name in reader.inputs if reader.kind != "Reshape" else ():
                writer = writers.get(name)
                if writer is not None and writer.kind == "Reshape":
                    name = writer.inputs[0]
                    writer = writers.get(name)
                if writer is not None:
                    found.append((name, writer, reader))
        return found


IMAGE = (1, 8, 8, 8)
VECTOR = (1, 16)
PLAIN = Tensor(IMAGE)
FLAT = Tensor(VECTOR)
SIGMOID = Tensor(IMAGE, scale=1 / 256, zero=-128)
TANH = Tensor(IMAGE, scale=1 / 128)
OTHER = Tensor(IMAGE, scale=0.025, zero=-128)
LEAKY = (0.1,)
RELU6 = (0.0, 6.0)
BETWEEN_ONES = (-1.0, 1.0)
PRODUCERS: dict[str, tuple[Layer, Tensor, Tensor]] = {
    "conv": (Layer("Conv", ("x",), "u", kernel=3), PLAIN, PLAIN),
    "strided": (
        Layer("Conv", ("x",), "u", kernel=3, stride=2),
        PLAIN,
        Tensor((1, 8, 4, 4)),
    ),
    "stride4": (
        Layer("Conv", ("x",), "u", kernel=3, stride=4),
        PLAIN,
        Tensor((1, 8, 2, 2)),
    ),
    "dilated": (Layer("Conv", ("x",), "u", kernel=3, dilation=2), PLAIN, PLAIN),
    "dilation3": (Layer("Conv", ("x",), "u", kernel=3, dilation=3), PLAIN, PLAIN),
    "pointwise": (Layer("Conv", ("x",), "u"), PLAIN, PLAIN),
    "depthwise": (Layer("Conv", ("x",), "u", kernel=3, groups=8), PLAIN, PLAIN),
    "grouped": (Layer("Conv", ("x",), "u", kernel=3, groups=2), PLAIN, PLAIN),
    "deconv": (
        Layer("ConvTranspose", ("x",), "u", kernel=2, stride=2),
        PLAIN,
        Tensor((1, 8, 16, 16)),
    ),
    "dense": (Layer("Gemm", ("x",), "u"), FLAT, FLAT),
    "maxpool": (
        Layer("MaxPool", ("x",), "u", kernel=2, stride=2),
        PLAIN,
        Tensor((1, 8, 4, 4)),
    ),
    "avgpool4": (
        Layer("AveragePool", ("x",), "u", kernel=4, stride=4),
        PLAIN,
        Tensor((1, 8, 2, 2)),
    ),
    "avgpool": (
        Layer("AveragePool", ("x",), "u", kernel=2, stride=2),
        PLAIN,
        Tensor((1, 8, 4, 4)),
    ),
    "mean": (Layer("ReduceMean", ("x",), "u"), PLAIN, Tensor((1, 8, 1, 1))),
    "add": (Layer("Add", ("x", "r"), "u"), PLAIN, PLAIN),
    "sub": (Layer("Sub", ("x", "r"), "u"), PLAIN, PLAIN),
    "mul": (Layer("Mul", ("x", "r"), "u"), PLAIN, PLAIN),
    "transpose": (
        Layer("Transpose", ("x",), "u", numbers=(0, 2, 1, 3)),
        PLAIN,
        PLAIN,
    ),
    "concat": (Layer("Concat", ("x", "r"), "u"), PLAIN, Tensor((1, 16, 8, 8))),
    "matmul": (
        Layer("MatMul", ("x", "r"), "u"),
        Tensor((1, 8, 8)),
        Tensor((1, 8, 8)),
    ),
}
"""What stands in front of a function: the layer, its input, its output."""
FUNCTIONS: dict[str, tuple[Kind, tuple[float, ...], float, int]] = {
    "relu": ("Relu", (), 0.05, 0),
    "relu6": ("Clip", RELU6, 0.05, 0),
    "relu_n1_1": ("Clip", BETWEEN_ONES, 0.05, 0),
    "relu_0_1": ("Clip", (0.0, 1.0), 0.05, 0),
    "clip_0_3": ("Clip", (0.0, 3.0), 0.05, 0),
    "sigmoid": ("Sigmoid", (), 1 / 256, -128),
    "tanh": ("Tanh", (), 1 / 128, 0),
    "leaky": ("LeakyRelu", LEAKY, 0.05, 0),
    "hardswish": ("HardSwish", (), 0.05, 0),
    "gelu": ("Gelu", (), 0.05, 0),
    "elu": ("Elu", (), 0.05, 0),
    "softmax": ("Softmax", (), 1 / 256, -128),
}
"""A function: operator, parameters, and the usual encoding of its results."""


def pair(
    producer: str,
    function: str,
    *,
    attribute: bool = False,
    dtype: Dtype = "int8",
    **encoding: float,
) -> Network:
    """A layer and a function behind it, which reads codes or is an attribute of the layer."""
    layer, read, between = PRODUCERS[producer]
    kind, numbers, scale, zero = FUNCTIONS[function]
    shift = 128 if dtype == "uint8" else 0
    if dtype == "int16":
        scale, zero = (1 / 32768, 0) if zero else (scale, 0)
    result = Tensor(
        between.shape,
        dtype,
        encoding.get("scale", scale),
        int(encoding.get("zero", zero + shift)),
    )
    typed = {
        name: replace(tensor, dtype=dtype, zero=tensor.zero + shift)
        for name, tensor in {"x": read, "r": read, "u": between}.items()
    }
    tensors = {name: typed[name] for name in (*layer.inputs, "u")}
    last = Layer(kind, ("u",), "y", numbers=numbers, float_input=attribute)
    words = [producer, function, "attribute" * attribute, dtype.removeprefix("int8")]
    words += ["rescaled" * ("scale" in encoding), "shifted" * (set(encoding) == {"zero"})]
    name = "_".join(word for word in words if word)
    return Network(name, {**tensors, "y": result}, [layer, last], ("y",))


def chain(name: str, *steps: tuple[Layer, Tensor], returned: tuple[str, ...] = ("y",)) -> Network:
    """Layers by hand, from the input x of the usual image."""
    tensors = {"x": PLAIN}
    for layer, tensor in steps:
        tensors[layer.output] = tensor
    return Network(name, tensors, [layer for layer, _ in steps], returned)


CONV = PRODUCERS["conv"][0]
DENSE = PRODUCERS["dense"][0]


def _made_by_hand() -> list[Network]:
    """Networks with more than a layer and its function."""
    to_sigmoid = (Layer("Sigmoid", ("u",), "y"), SIGMOID)
    flat = Tensor((1, 8, 64))
    long = Tensor((1, 512))
    return [
        chain(
            "two_readers",
            (CONV, PLAIN),
            (Layer("Sigmoid", ("u",), "s"), SIGMOID),
            (Layer("Mul", ("u", "s"), "y"), PLAIN),
        ),
        chain("returned", (CONV, PLAIN), to_sigmoid, returned=("u", "y")),
        chain(
            "relu_then_sigmoid",
            (CONV, PLAIN),
            (Layer("Relu", ("u",), "a", float_input=True), PLAIN),
            (Layer("Sigmoid", ("a",), "y"), SIGMOID),
        ),
        chain(
            "sigmoid_then_tanh",
            (CONV, PLAIN),
            (Layer("Sigmoid", ("u",), "s"), SIGMOID),
            (Layer("Tanh", ("s",), "y"), TANH),
        ),
        chain(
            "function_first",
            (Layer("Sigmoid", ("x",), "u"), SIGMOID),
            (Layer("Tanh", ("u",), "y"), TANH),
        ),
        chain(
            "conv_reshape_sigmoid",
            (CONV, PLAIN),
            (Layer("Reshape", ("u",), "v"), flat),
            (Layer("Sigmoid", ("v",), "y"), replace(SIGMOID, shape=flat.shape)),
        ),
        chain(
            "pointwise_reshape_sigmoid",
            (PRODUCERS["pointwise"][0], PLAIN),
            (Layer("Reshape", ("u",), "v"), flat),
            (Layer("Sigmoid", ("v",), "y"), replace(SIGMOID, shape=flat.shape)),
        ),
        chain(
            "conv_quantize_sigmoid",
            (CONV, PLAIN),
            (Layer("Quantize", ("u",), "v"), OTHER),
            (Layer("Sigmoid", ("v",), "y"), SIGMOID),
        ),
        chain("conv_quantize", (CONV, PLAIN), (Layer("Quantize", ("u",), "y"), OTHER)),
        chain(
            "conv_to_int16",
            (CONV, PLAIN),
            (Layer("Quantize", ("u",), "y"), Tensor(IMAGE, "int16", 0.001)),
        ),
        chain(
            "function_before_conv",
            (Layer("Sigmoid", ("x",), "u"), SIGMOID),
            (Layer("Conv", ("u",), "y", kernel=3), PLAIN),
        ),
        chain(
            "conv_add_relu",
            (CONV, PLAIN),
            (Layer("Add", ("u", "x"), "v"), PLAIN),
            (Layer("Relu", ("v",), "y", float_input=True), PLAIN),
        ),
        chain(
            "conv_flatten_dense",
            (CONV, PLAIN),
            (Layer("Reshape", ("u",), "v"), long),
            (Layer("Gemm", ("v",), "y"), FLAT),
        ),
        Network(
            "dense_reshape_sigmoid",
            {
                "x": FLAT,
                "u": FLAT,
                "v": Tensor((4, 4)),
                "y": Tensor((4, 4), scale=1 / 256, zero=-128),
            },
            [DENSE, Layer("Reshape", ("u",), "v"), Layer("Sigmoid", ("v",), "y")],
            ("y",),
        ),
        Network(
            "add_reshape_sigmoid",
            {
                "x": PLAIN,
                "r": PLAIN,
                "u": PLAIN,
                "v": flat,
                "y": Tensor((1, 8, 64), scale=1 / 256, zero=-128),
            },
            [PRODUCERS["add"][0], Layer("Reshape", ("u",), "v"), Layer("Sigmoid", ("v",), "y")],
            ("y",),
        ),
    ]


def networks() -> list[Network]:
    """All of them, in a fixed order."""
    limits = ("relu", "relu6", "relu_n1_1")
    tables = ("sigmoid", "tanh", "leaky", "hardswish", "gelu", "elu")
    attributes = [("conv", f) for f in limits] + [
        (p, "relu")
        for p in (
            "depthwise",
            "dense",
            "maxpool",
            "avgpool",
            "add",
            "sub",
            "mul",
            "concat",
            "grouped",
        )
    ]
    codes = [("conv", f) for f in (*limits, *tables, "softmax")]
    codes += [("dense", f) for f in ("relu", *tables)]
    codes += [(p, "sigmoid") for p in PRODUCERS if p not in {"conv", "dense"}]
    codes += [("depthwise", "relu6"), ("add", "relu"), ("mul", "tanh")]
    wide = [(p, f) for p in ("conv", "add") for f in ("relu", "sigmoid", "tanh", "leaky")]
    return [
        *(pair(p, f, attribute=True) for p, f in attributes),
        *(pair(p, f) for p, f in codes),
        pair("conv", "relu_0_1"),
        pair("conv", "clip_0_3"),
        pair("stride4", "relu", attribute=True),
        pair("avgpool4", "relu", attribute=True),
        pair("conv", "relu", zero=-128),
        pair("conv", "relu", scale=0.025),
        pair("conv", "relu6", scale=0.0235, zero=-128),
        pair("add", "relu", scale=0.025),
        pair("conv", "leaky", scale=0.025),
        *(
            pair("conv", f, dtype="uint8")
            for f in ("relu", "sigmoid", "tanh", "leaky", "hardswish")
        ),
        *(pair(p, f, dtype="int16") for p, f in wide),
        pair("conv", "leaky", dtype="int16", scale=0.025),
        *_made_by_hand(),
    ]
