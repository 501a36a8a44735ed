"""ONNX Runtime's CPU provider: a session that writes its optimised graph, and two plain ones.

Names that its transformers give, from onnxruntime/core/optimizer of microsoft/onnxruntime:
insert_cast_transformer.cc (the prefix of casts), nchwc_transformer.cc (blocked layouts are called
after the value that they stood for when they were made).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from fusectl.audit import feeds
from fusectl.audit.adapters import Array, Refused, Runner
from fusectl.audit.anchor import anchors, by_name, open_values
from fusectl.audit.bodies import nested
from fusectl.audit.edges import Laid
from fusectl.audit.net import Net, Op, net_of
from fusectl.audit.prints import Print, prints_of
from fusectl.audit.work import Measured, Task
from fusectl.runtime.messages import plain

_CAST = "InsertedPrecisionFreeCast_"
_BLOCKED, _LAYOUT = "com.microsoft.nchwc.", "_nchwc"
_COPIES = (f"{_BLOCKED}ReorderInput", f"{_BLOCKED}ReorderOutput")
_WEIGHTS = "weights.bin"


class _OnnxRuntime:
    title = "ONNX Runtime"
    module = "onnxruntime"
    extra = "runtime"
    levels = ("extended", "all")

    def version(self) -> str:
        import onnxruntime

        return str(onnxruntime.__version__)

    def edges(self, task: Task) -> tuple[Sequence[Measured], Sequence[str]]:
        written = Path(task.folder) / "optimised.onnx"
        _session(task.model, task.level, {"write": str(written)})
        plain = onnx.load(task.model, load_external_data=False)
        optimised = onnx.load(written, load_external_data=False)
        before, after = net_of(plain), net_of(optimised)
        moves = (*task.moves, *_COPIES)
        notes: list[str] = []
        old: Mapping[str, Print] = {}
        new: Mapping[str, Print] = {}
        if open_values(after, by_name(before, after)):
            try:
                old, new = _both_runs(task, plain, optimised, before, after)
            except (Refused, feeds.NoFeeds) as error:
                notes.append(f"no numbers to compare by, names alone have to do: {error}")
        found = anchors(before, after, _guess, moves, old, new)
        edges = Laid(before, after, found, moves).measured()
        edges += nested((plain.graph, before), (optimised.graph, after), found, _guess, moves)
        return edges, notes

    def runner(self, task: Task, optimised: bool) -> Runner:
        session = _session(task.model, task.level if optimised else "", {})
        return lambda given: _run(session, given)


ADAPTER = _OnnxRuntime()


def _guess(op: Op, value: str) -> str | None:
    if value.startswith(_CAST):
        return value.removeprefix(_CAST)
    if op.op_type.startswith(_BLOCKED) and op.name.endswith(_LAYOUT):
        return op.name.removesuffix(_LAYOUT)
    return None


def _both_runs(
    task: Task, plain: onnx.ModelProto, optimised: onnx.ModelProto, before: Net, after: Net
) -> tuple[Mapping[str, Print], Mapping[str, Print]]:
    """Return the fingerprints of all values of both models, run on the same inputs."""
    folder = str(Path(task.model).resolve().parent)
    first = _session(_exposed(plain, before), "", {"folder": folder})
    second = _session(_exposed(optimised, after), "", {"folder": task.folder})
    trouble = "there are no inputs to try"
    for given in feeds.attempts(plain):
        try:
            old = _run(first, given.values)
        except Refused as error:
            trouble = str(error)
            continue
        return prints_of({**old, **given.values}), prints_of(_run(second, given.values))
    raise Refused(trouble)


def _exposed(model: onnx.ModelProto, net: Net) -> bytes:
    """Return the model with every value as an output. Weights outside stay where they are."""
    known = {o.name for o in model.graph.output}
    for op in net.ops:
        for value in op.outputs:
            if value not in known and value not in net.constant:
                model.graph.output.add().name = value
    return bytes(model.SerializeToString())


def _session(model: str | bytes, level: str, config: Mapping[str, str]) -> Any:
    """Return a session; without ``level`` nothing is optimised. Raises Refused."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    every = ort.GraphOptimizationLevel
    levels = {"": every.ORT_DISABLE_ALL, "extended": every.ORT_ENABLE_EXTENDED}
    options.graph_optimization_level = levels.get(level, every.ORT_ENABLE_ALL)
    if "write" in config:
        options.optimized_model_filepath = config["write"]
        key = "session.optimized_model_external_initializers_file_name"
        options.add_session_config_entry(key, _WEIGHTS)
    if "folder" in config:
        key = "session.model_external_initializers_file_folder_path"
        options.add_session_config_entry(key, config["folder"])
    try:
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # what its exceptions have in common is no class of theirs
        file = Path(model) if isinstance(model, str) else None
        raise Refused(plain(error, file)) from None


def _run(session: Any, given: Mapping[str, Array]) -> dict[str, Array]:
    names = [o.name for o in session.get_outputs()]
    try:
        results: Iterable[object] = session.run(None, dict(given))
    except Exception as error:  # as above
        raise Refused(plain(error)) from None
    pairs = zip(names, results, strict=True)
    return {name: array for name, array in pairs if isinstance(array, np.ndarray)}
