"""OpenVINO's CPU plugin with the float32 precision hint: its graph names the nodes that it runs.

The plugin's graph (``CompiledModel.get_runtime_model``) lists per kernel the original layers, in
``originalLayersNames`` of openvinotoolkit/openvino, src/plugins/intel_cpu/src/graph_dumper.cpp.
Operators that the importer decomposes lose their names.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from fusectl.audit.adapters import Array, Refused, Runner
from fusectl.audit.anchor import Anchors
from fusectl.audit.edges import Laid
from fusectl.audit.net import Net, Op, net_of
from fusectl.audit.work import Measured, Task
from fusectl.errors import LONGEST

_NAME = re.compile(r"N(\d+)\Z")
_MOVES = ("Reshape", "Transpose", "Split", "Reorder", "Gather", "Broadcast", "Tile", "ShapeOf")
_FIXED, _LEAVES, _RESULTS = ("Const",), ("Input",), ("Output",)


class _OpenVino:
    title = "OpenVINO"
    module = "openvino"
    extra = "openvino"
    levels = ("",)

    def version(self) -> str:
        import openvino

        return str(openvino.__version__).partition("-")[0]

    def edges(self, task: Task) -> tuple[Sequence[Measured], Sequence[str]]:
        model = onnx.load(task.model, load_external_data=False)
        before = net_of(model)
        compiled = _compiled(_renamed(model, Path(task.model), Path(task.folder)))
        after, of = _runtime(compiled.get_runtime_model(), before)
        known = {v: o for v, o in of.items() if o in before.values}
        moves = (*task.moves, *_MOVES)
        return Laid(before, after, Anchors(known, frozenset(known)), moves).measured(), ()

    def runner(self, task: Task, optimised: bool) -> Runner:
        """Return the plugin, or the reference evaluator: the plugin always optimises."""
        if not optimised:
            return _reference(task.model)
        compiled = _compiled(Path(task.model))

        def run(given: Mapping[str, Array]) -> Mapping[str, Array]:
            try:
                found = compiled(dict(given))
            except Exception as error:  # they derive from nothing of their own
                raise Refused(_line(error)) from None
            return {name: found[port] for port in compiled.outputs for name in port.get_names()}

        return run


ADAPTER = _OpenVino()


def _reference(path: str) -> Runner:
    from onnx.reference import ReferenceEvaluator

    try:
        evaluator = ReferenceEvaluator(path)
    except Exception as error:  # an operator that it does not know, as any of several classes
        raise Refused(f"the reference evaluator: {_line(error)}") from None

    def run(given: Mapping[str, Array]) -> Mapping[str, Array]:
        try:
            results = evaluator.run(None, dict(given))
        except Exception as error:  # as above
            raise Refused(f"the reference evaluator: {_line(error)}") from None
        return dict(zip(evaluator.output_names, results, strict=True))

    return run


def _renamed(model: onnx.ModelProto, path: Path, folder: Path) -> Path:
    """Write the model with its nodes called by number, beside the weights that it names."""
    for number, node in enumerate(model.graph.node):
        node.name = f"N{number}"
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                place = folder / entry.value
                if not place.exists():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _bring(path.parent / entry.value, place)
    written = folder / "renamed.onnx"
    written.write_bytes(model.SerializeToString())
    return written


def _bring(source: Path, place: Path) -> None:
    """Put weights where the runtime accepts them: links that lead elsewhere it refuses."""
    try:
        os.link(source.resolve(), place)
    except OSError:
        try:
            shutil.copyfile(source, place)
        except OSError as error:
            raise Refused(f"{source}: {error.strerror or error}") from None


def _compiled(path: Path) -> Any:
    import openvino

    try:
        core = openvino.Core()
        return core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    except Exception as error:  # they derive from nothing of their own
        raise Refused(_line(error)) from None


def _runtime(model: Any, before: Net) -> tuple[Net, dict[str, str]]:
    """Return the plugin's graph, and the original values that its values are."""
    numbered = {op.index: op for op in before.ops}
    ops: list[Op] = []
    of: dict[str, str] = {}
    fixed, leaves = set[str](), set[str]()
    for index, node in enumerate(model.get_ordered_ops()):
        facts = {key: _text(value) for key, value in node.get_rt_info().items()}
        kind, name = facts.get("layerType", node.get_type_name()), node.get_friendly_name()
        if kind in _RESULTS:
            continue
        values = [f"{name}:{port}" for port in range(node.get_output_size())]
        if kind in _FIXED:
            fixed.update(values)
            continue
        if kind in _LEAVES:
            leaves.update(values)
            of[values[0]] = name
            continue
        inputs = tuple(_source(node.input(port)) for port in range(node.get_input_size()))
        ops.append(Op(index, name, kind, inputs, tuple(values), False))
        layers = [*facts.get("originalLayersNames", "").split(","), name]
        of.update(zip(values, _results(layers, name, numbered, before), strict=False))
    return Net(tuple(ops), frozenset(leaves), frozenset(fixed), ()), of


def _text(value: Any) -> str:
    return str(value.astype(str) if hasattr(value, "astype") else value)


def _source(port: Any) -> str:
    output = port.get_source_output()
    return f"{output.get_node().get_friendly_name()}:{output.get_index()}"


def _results(
    layers: Sequence[str], name: str, numbered: Mapping[int, Op], before: Net
) -> Iterator[str]:
    """Yield the original values that a kernel writes: what its last original node makes."""
    numbers = {int(m[1]) for layer in layers if (m := _NAME.match(layer.strip()))}
    group = [op for op in before.ops if op.index in numbers]
    if group:
        yield from group[-1].outputs
    elif name in before.maker:
        yield name


def _line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix("-- ")[:LONGEST] if lines else type(error).__name__
