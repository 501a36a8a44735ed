"""Transformer-like ONNX models of an exact node count, for the speed benchmark.

Each layer is spelled as PyTorch's TorchScript-based exporter spells a pre-norm encoder:
normalisation and GELU decomposed, scalars as one Constant node per use, weights as initializers, no
shapes of intermediate values. Whole layers fill the model, a chain of small dense blocks brings the
count to the number that was asked for. The same seed and size give the same bytes.

Run as a script to write one model into a folder (it is kept and found again by name)::

    python tests/bench/models.py --nodes 10000 --workdir build/bench
"""

import argparse
import importlib
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper

REVISION = 1
"""Part of every file name: raise it whenever the bytes for a size and seed change."""

OPSET = 17
HIDDEN = 64
HEADS = 4
FEED_FORWARD = 256
SEQUENCE = 16
PROTOBUF_LIMIT = 2**31 - 1

Attribute = int | Sequence[int] | TensorProto


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model on disk and what stands in it."""

    path: str
    nodes: int
    layers: int
    bytes: int
    seed: int
    reused: bool


@dataclass(slots=True)
class Builder:
    """Collects nodes and initializers under the names that the exporter would give them."""

    bits: np.random.PCG64
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)

    def node(self, scope: str, op: str, *inputs: str, **attributes: Attribute) -> str:
        """Append a node and return the name of its output."""
        stem = f"{scope}/{op}"
        count = self.used.get(stem, 0)
        self.used[stem] = count + 1
        name = f"{stem}_{count}" if count else stem
        output = f"{name}_output_0"
        made = helper.make_node(op, inputs, [output], name=name)
        made.attribute.extend(
            helper.make_attribute(key, attributes[key]) for key in sorted(attributes)
        )
        self.nodes.append(made)
        return output

    def scalar(self, scope: str, value: float) -> str:
        """Append a Constant node that holds one float."""
        tensor = _tensor("", np.array(value, dtype=np.float32))
        return self.node(scope, "Constant", value=tensor)

    def weight(self, name: str, *shape: int, around: float = 0.0) -> str:
        """Append a random initializer, scaled so that activations keep their magnitude."""
        # Only NumPy's raw stream is promised to be the same in all versions.
        raw = self.bits.random_raw(math.prod(shape))
        unit = (raw >> np.uint64(40)).astype(np.float32) / np.float32(2**23) - np.float32(1)
        spread = math.sqrt(3 / shape[0]) if len(shape) > 1 else 0.02
        values = (unit * np.float32(spread) + np.float32(around)).astype(np.float32)
        self.initializers.append(_tensor(name, values.reshape(shape)))
        return name

    def shape(self, name: str, *sizes: int) -> str:
        """Append the int64 initializer of a Reshape; equal ones are merged: all layers share it."""
        self.initializers.append(_tensor(name, np.array(sizes, dtype=np.int64)))
        return name

    def linear(self, scope: str, x: str, inputs: int, outputs: int) -> str:
        """MatMul and Add (2 nodes); the exporter renames the weight because it transposes it."""
        weight = self.weight(f"onnx::MatMul_{len(self.initializers)}", inputs, outputs)
        bias = self.weight(f"{scope.strip('/').replace('/', '.')}.bias", outputs)
        product = self.node(scope, "MatMul", x, weight)
        return self.node(scope, "Add", bias, product)

    def layer_norm(self, scope: str, x: str) -> str:
        """Decomposed LayerNorm (11 nodes, two of them constants)."""
        stem = scope.strip("/").replace("/", ".")
        mean = self.node(scope, "ReduceMean", x, axes=[-1], keepdims=1)
        centred = self.node(scope, "Sub", x, mean)
        two = self.scalar(scope, 2.0)
        square = self.node(scope, "Pow", centred, two)
        variance = self.node(scope, "ReduceMean", square, axes=[-1], keepdims=1)
        epsilon = self.scalar(scope, 1e-5)
        shifted = self.node(scope, "Add", variance, epsilon)
        deviation = self.node(scope, "Sqrt", shifted)
        normal = self.node(scope, "Div", centred, deviation)
        scaled = self.node(scope, "Mul", normal, self.weight(f"{stem}.weight", HIDDEN, around=1.0))
        return self.node(scope, "Add", scaled, self.weight(f"{stem}.bias", HIDDEN))

    def gelu(self, scope: str, x: str) -> str:
        """Decomposed GELU by the error function (8 nodes, three of them constants)."""
        root = self.scalar(scope, math.sqrt(2))
        error = self.node(scope, "Erf", self.node(scope, "Div", x, root))
        one = self.scalar(scope, 1.0)
        gated = self.node(scope, "Mul", x, self.node(scope, "Add", error, one))
        half = self.scalar(scope, 0.5)
        return self.node(scope, "Mul", gated, half)

    def attention(self, scope: str, x: str, mask: str, split: str, merge: str) -> str:
        """Multi-head attention with its output projection (22 nodes, one of them a constant)."""
        heads: list[str] = []
        for part, order in (
            ("query", (0, 2, 1, 3)),
            ("key", (0, 2, 3, 1)),
            ("value", (0, 2, 1, 3)),
        ):
            projected = self.linear(f"{scope}/{part}", x, HIDDEN, HIDDEN)
            parted = self.node(scope, "Reshape", projected, split)
            heads.append(self.node(scope, "Transpose", parted, perm=order))
        query, key, value = heads
        scores = self.node(scope, "MatMul", query, key)
        scale = self.scalar(scope, math.sqrt(HIDDEN / HEADS))
        masked = self.node(scope, "Add", self.node(scope, "Div", scores, scale), mask)
        weights = self.node(f"{scope}/softmax", "Softmax", masked, axis=-1)
        context = self.node(scope, "MatMul", weights, value)
        moved = self.node(scope, "Transpose", context, perm=(0, 2, 1, 3))
        merged = self.node(scope, "Reshape", moved, merge)
        return self.linear(f"{scope}/output", merged, HIDDEN, HIDDEN)

    def layer(self, scope: str, x: str, mask: str, split: str, merge: str) -> str:
        """One pre-norm encoder layer: attention and feed-forward, each with its residual sum."""
        normed = self.layer_norm(f"{scope}/attention_norm", x)
        attended = self.attention(f"{scope}/attention", normed, mask, split, merge)
        x = self.node(scope, "Add", attended, x)
        normed = self.layer_norm(f"{scope}/output_norm", x)
        wide = self.linear(f"{scope}/intermediate", normed, HIDDEN, FEED_FORWARD)
        narrow = self.linear(
            f"{scope}/output", self.gelu(f"{scope}/act", wide), FEED_FORWARD, HIDDEN
        )
        return self.node(scope, "Add", narrow, x)

    def head(self, x: str, nodes: int) -> str:
        """Append dense blocks (MatMul, Add, Tanh), cut off after exactly ``nodes`` nodes."""
        for index in range(nodes):
            scope = f"/head/dense.{index // 3}"
            stem = scope.strip("/").replace("/", ".")
            if index % 3 == 0:
                x = self.node(scope, "MatMul", x, self.weight(f"{stem}.weight", HIDDEN, HIDDEN))
            elif index % 3 == 1:
                x = self.node(scope, "Add", self.weight(f"{stem}.bias", HIDDEN), x)
            else:
                x = self.node(scope, "Tanh", x)
        return x


def _tensor(name: str, values: npt.NDArray[np.float32] | npt.NDArray[np.int64]) -> TensorProto:
    kind = TensorProto.FLOAT if values.dtype == np.float32 else TensorProto.INT64
    data = values.astype(values.dtype.newbyteorder("<")).tobytes()
    return TensorProto(name=name, data_type=kind, dims=values.shape, raw_data=data)


def build(nodes: int, seed: int = 0) -> tuple[ModelProto, int]:
    """Build a model of exactly ``nodes`` nodes; also return the number of whole layers in it."""
    builder = Builder(np.random.PCG64(seed))
    split = builder.shape("onnx::Reshape_split", 0, 0, HEADS, HIDDEN // HEADS)
    merge = builder.shape("onnx::Reshape_merge", 0, 0, HIDDEN)
    x, layers, per_layer = "hidden_states", 0, 0
    while nodes - len(builder.nodes) >= max(per_layer, 1):
        before = len(builder.nodes)
        x = builder.layer(f"/encoder/layer.{layers}", x, "attention_mask", split, merge)
        layers, per_layer = layers + 1, len(builder.nodes) - before
    if len(builder.nodes) > nodes:
        raise ValueError(f"{nodes} nodes do not hold one layer; it needs {per_layer}")
    x = builder.head(x, nodes - len(builder.nodes))
    builder.nodes[-1].output[0] = "output"
    hidden: list[str | int | None] = ["batch", SEQUENCE, HIDDEN]
    mask: list[str | int | None] = ["batch", 1, 1, SEQUENCE]
    graph = helper.make_graph(
        builder.nodes,
        "main_graph",
        [
            helper.make_tensor_value_info("hidden_states", TensorProto.FLOAT, hidden),
            helper.make_tensor_value_info("attention_mask", TensorProto.FLOAT, mask),
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, hidden)],
        builder.initializers,
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="fusectl-bench",
        producer_version=str(REVISION),
        ir_version=8,
    )
    return model, layers


def write(nodes: int, workdir: Path, seed: int = 0) -> ModelFile:
    """Write the model into ``workdir`` unless it is there, checked; never leaves half a file."""
    workdir.mkdir(parents=True, exist_ok=True)
    path = workdir / f"encoder-r{REVISION}-s{seed}-n{nodes}.onnx"
    note = path.with_suffix(".json")
    if path.is_file() and note.is_file():
        layers = int(json.loads(note.read_text(encoding="utf-8"))["layers"])
        return ModelFile(str(path), nodes, layers, path.stat().st_size, seed, reused=True)
    model, layers = build(nodes, seed)
    data = model.SerializeToString(deterministic=True)
    if len(data) > PROTOBUF_LIMIT:
        raise ValueError(f"{nodes} nodes make {len(data)} bytes, more than protobuf can hold")
    partial = path.with_suffix(f".{os.getpid()}.part")
    try:
        partial.write_bytes(data)
        onnx.checker.check_model(str(partial), full_check=True)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    made = ModelFile(str(path), nodes, layers, len(data), seed, reused=False)
    note.write_text(json.dumps({"nodes": nodes, "layers": layers, "seed": seed}), encoding="utf-8")
    return made


def run_once(path: Path, batch: int = 2) -> None:
    """Run the model in ONNX Runtime, unoptimised and optimised, and compare the two outputs."""
    runtime = importlib.import_module("onnxruntime")
    random = np.random.default_rng(0)
    mask = np.zeros((batch, 1, 1, SEQUENCE), np.float32)
    mask[..., SEQUENCE // 2 :] = -10000.0
    hidden = random.standard_normal((batch, SEQUENCE, HIDDEN), dtype=np.float32)
    outputs: list[npt.NDArray[np.float32]] = []
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_EXTENDED"):
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
        session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        outputs += session.run(None, {"hidden_states": hidden, "attention_mask": mask})
    if not all(np.isfinite(output).all() for output in outputs):
        raise ValueError(f"{path.name}: the output is not finite")
    np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-3, atol=1e-3)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write one model and print what it is as one line of JSON."""
    parser = argparse.ArgumentParser(description="Write one benchmark model.")
    parser.add_argument("--nodes", type=int, required=True, help="exact number of nodes")
    parser.add_argument("--workdir", type=Path, required=True, help="folder that keeps the models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", action="store_true", help="also run it in ONNX Runtime")
    options = parser.parse_args(arguments)
    made = write(options.nodes, options.workdir, options.seed)
    if options.run:
        run_once(Path(made.path))
    sys.stdout.write(json.dumps(asdict(made)) + "\n")


if __name__ == "__main__":
    main()
