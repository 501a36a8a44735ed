"""Edges that were measured as fused although the compiler's own graph still has both nodes.

The measurement compares what kernels compute, so two values that are equal on its inputs, such as
those in front of and behind a limit that cuts nothing there, look like one. Where the graph that
ONNX Runtime writes after optimising still has both nodes under their names and operators, and one
reads the other, the edge is kept whatever the values say.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx

LEVELS = {"extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}


def optimised(path: Path, level: str) -> onnx.ModelProto | None:
    """Return the graph that ONNX Runtime makes of a model, None where it cannot load it."""
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "optimised.onnx")
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.optimized_model_filepath = str(target)
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, LEVELS[level])
        try:
            ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception:  # the C++ side raises many types; then nothing is disputed
            return None
        return onnx.load(target, load_external_data=False)


def disputed(path: Path, level: str, edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return those of some edges (value, consumer's first output) of which both nodes remain."""
    after = optimised(path, level)
    if after is None:
        return set()
    before = onnx.load(path, load_external_data=False).graph
    makers = {o: n for n in before.node for o in n.output}
    kept = {(n.name, n.op_type): n for n in after.graph.node if n.name}
    found = set()
    for value, output in edges:
        ends = [makers.get(value), makers.get(output)]
        pair = [kept.get((n.name, n.op_type)) if n is not None else None for n in ends]
        if pair[0] is not None and pair[1] is not None and set(pair[0].output) & set(pair[1].input):
            found.add((value, output))
    return found
