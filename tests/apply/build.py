"""Small models for `apply`: ONNX text, with some inputs turned into stored weights."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from fusectl.runtime import open_session

HEAD = '<ir_version: {ir}, opset_import: ["": {opset}, "com.microsoft": 1]>\n'


def model(
    text: str, weights: Iterable[str] = (), opset: int = 17, ir: int = 8, seed: int = 0
) -> onnx.ModelProto:
    """Parse a graph; inputs named in ``weights`` become initializers with random contents."""
    made = parser.parse_model(HEAD.format(ir=ir, opset=opset) + text)
    stored = set(weights)
    rng = np.random.default_rng(seed)
    for info in [i for i in made.graph.input if i.name in stored]:
        tensor = info.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        shape = [d.dim_value for d in tensor.shape.dim]
        made.graph.initializer.append(
            numpy_helper.from_array(_random(rng, shape, dtype), info.name)
        )
        if ir >= 4:
            made.graph.input.remove(info)
    onnx.checker.check_model(made)
    return made


def _random(rng: np.random.Generator, shape: list[int], dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return rng.uniform(0.2, 1.5, shape).astype(dtype)
    if dtype.itemsize > 1:
        return rng.integers(-100, 100, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def save(made: onnx.ModelProto, folder: Path, name: str = "model.onnx") -> Path:
    """Write a model into a folder."""
    path = folder / name
    path.write_bytes(made.SerializeToString(deterministic=True))
    return path


def ops(path: Path) -> list[str]:
    """The operators of a model's main graph, Constant nodes left out."""
    found = onnx.load(path, load_external_data=False)
    return [n.op_type for n in found.graph.node if n.op_type != "Constant"]


def inputs(made: onnx.ModelProto, scale: float, seed: int = 1) -> dict[str, Any]:
    """Random inputs of a model; codes use their whole range."""
    rng = np.random.default_rng(seed)
    stored = {t.name for t in made.graph.initializer}
    fed = {}
    for info in (i for i in made.graph.input if i.name not in stored):
        tensor = info.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        shape = [d.dim_value or 2 for d in tensor.shape.dim]
        if dtype.kind == "f":
            fed[info.name] = (rng.standard_normal(shape) * scale).astype(dtype)
        elif dtype.kind == "b":
            fed[info.name] = rng.random(shape) < 0.5
        elif dtype.itemsize > 1:
            fed[info.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            fed[info.name] = _random(rng, shape, dtype)
    return fed


def same_results(before: Path, after: Path, rel: float = 1e-5, codes: int = 1) -> None:
    """Run both models with optimisations off; results agree for small and for large inputs."""
    made = onnx.load(before)
    first, second = open_session(before), open_session(after)
    for scale in (1.0, 10.0):
        fed = inputs(made, scale)
        expected, actual = first.run(fed), second.run(fed)
        assert list(expected) == list(actual)
        for name, value in expected.items():
            if value.dtype.kind == "f":
                limit = rel * max(float(np.abs(value).max()), 1e-3)
                np.testing.assert_allclose(actual[name], value, rtol=0, atol=limit, err_msg=name)
            else:
                gap = np.abs(value.astype(np.int64) - actual[name].astype(np.int64))
                assert gap.max(initial=0) <= codes, name
