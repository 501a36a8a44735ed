"""Applies a target's fusions to a model, round after round, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from fusectl.decide import Run, decide
from fusectl.decide.engine import Options
from fusectl.errors import ModelError
from fusectl.graph import load_model, order
from fusectl.graph.functions import FUSED, inlined
from fusectl.graph.shapes import bodies, has_bodies
from fusectl.rewrite.check import bare
from fusectl.rewrite.emit import Edit, Written, plan_scope, put, tensors
from fusectl.rewrite.local import VERSION
from fusectl.rewrite.scopes import pair
from fusectl.rewrite.source import reads
from fusectl.rewrite.store import external
from fusectl.tables import Catalog, Target

_ROUNDS = 20
"""Each round fuses something; a real model needs one or two."""
_FUNCTIONS = 8
"""The IR version that has model-local functions."""


@dataclass(slots=True)
class Round:
    """What one round decided and wrote. ``nodes`` counts those of the model after it."""

    runs: list[Run]
    edits: list[Edit] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    nodes: int = 0


@dataclass(slots=True)
class Result:
    """A model with its fusions applied, what was done in each round, and what else changed.

    ``nodes`` counts those of the model as it was; ``before`` is that model without its weights;
    ``external`` tells whether it has external data.
    """

    model: onnx.ModelProto
    before: onnx.ModelProto
    nodes: int
    rounds: list[Round]
    notes: list[str]
    external: bool

    @property
    def new(self) -> set[str]:
        """The constants that were added, where the model keeps its weights in external data."""
        if not self.external:
            return set()
        return {name for r in self.rounds for e in r.edits for name in e.constants}


def rewrite(
    model: onnx.ModelProto,
    name: str,
    folder: Path | None,
    target: Target,
    catalog: Catalog,
    options: Options,
    progress: Callable[[str], None] | None = None,
) -> Result:
    """Apply the fusions of a target to a model until a round finds nothing.

    The model itself is changed, or a copy where function bodies took the place of their calls.
    ``folder`` is where external data lie. Raises ModelError where the model is no valid graph.
    """
    notes: list[str] = []
    original, outside = bare(model), any(True for _ in external(model))
    if order.sort(model.graph, name):
        notes.append("the nodes were not in topological order and are now")
    given, model = model, as_seen(model, target)
    before = count(model)
    rounds: list[Round] = []
    while len(rounds) < _ROUNDS:
        made = _round(model, folder, target, catalog, options, progress)
        if made is None:
            break
        rounds.append(made)
    else:
        raise ModelError(f"{name}: the fusions do not come to an end after {_ROUNDS} rounds")
    if not rounds:
        return Result(given, original, before, rounds, notes, outside)
    if model is not given:
        gone = len(given.functions) - sum(f.domain != FUSED for f in model.functions)
        notes.append(
            f"as this target sees it: {gone} function{'s' if gone > 1 else ''} of the model, "
            "put in the place of the calls"
        )
    _finish(model, notes)
    return Result(model, original, before, rounds, notes, outside)


def as_seen(model: onnx.ModelProto, target: Target) -> onnx.ModelProto:
    """Return a model as a target's first pass sees it: with or without function calls."""
    return inlined(model) if target.inline else model


def count(model: onnx.ModelProto) -> int:
    """Return the nodes of a model: main graph, bodies and functions; fused functions excepted."""
    held = (f for f in model.functions if f.domain != FUSED)
    return sum(_count(n) for h in (model.graph, *held) for n in h.node)


def _count(node: onnx.NodeProto) -> int:
    inner = (n for _, body in bodies(node) for n in body.node) if has_bodies(node) else ()
    return 1 + sum(map(_count, inner))


def _round(
    model: onnx.ModelProto,
    folder: Path | None,
    target: Target,
    catalog: Catalog,
    options: Options,
    progress: Callable[[str], None] | None,
) -> Round | None:
    operators = catalog.operators
    loaded = load_model(model, operators.alike(), operators.like_first(), folder=folder)
    runs = decide(loaded, target, catalog, options, progress)
    before = _used(model.graph)
    made = Round(runs)
    names = _Names(model)
    shared: dict[int, list[Written]] = {}
    changed = False
    for scope in reversed(pair(model, runs)):
        written = plan_scope(scope, names.fresh)
        if isinstance(scope.holder, onnx.FunctionProto):
            shared.setdefault(id(scope.holder), []).append(written)
            continue
        changed = _put(model, made, written) or changed
    for sites in shared.values():
        changed = _put_function(model, made, sites) or changed
    if not changed:
        return None
    _sweep_initializers(model, model.graph, before, _used(model.graph))
    made.nodes = count(model)
    made.edits.reverse()
    return made


def _put(model: onnx.ModelProto, made: Round, written: Written) -> bool:
    if not written.changed:
        return False
    put(written)
    for edit in written.edits:
        _declare(model, edit)
    made.edits += reversed(written.edits)
    made.left += ((g.label, why) for g, why in written.left)
    _store(model, written)
    return True


def _put_function(model: onnx.ModelProto, made: Round, sites: list[Written]) -> bool:
    """Edit a function's body where all of its calls agree on what it becomes."""
    first = sites[0]
    texts = {tuple(n.SerializeToString(deterministic=True) for n in s.nodes) for s in sites}
    if len(texts) > 1:
        name = first.scope.view.scope[-1].function
        if any(s.edits for s in sites):
            made.left.append((name, "its calls do not agree on what its body becomes"))
        return False
    if not _put(model, made, first):
        return False
    holder = first.scope.holder
    assert isinstance(holder, onnx.FunctionProto)
    known = {o.domain for o in holder.opset_import}
    for edit in first.edits:
        domain = edit.node.domain
        if domain not in known and domain:
            holder.opset_import.add(domain=domain, version=VERSION)
            known.add(domain)
    return True


def _declare(model: onnx.ModelProto, edit: Edit) -> None:
    """Import the domain of what is written, and add its function once."""
    domain = edit.node.domain
    if domain not in {"" if o.domain == "ai.onnx" else o.domain for o in model.opset_import}:
        model.opset_import.add(domain=domain, version=VERSION)
    held = edit.function
    if held is not None and (FUSED, held.name) not in {(f.domain, f.name) for f in model.functions}:
        model.functions.append(held)


def _store(model: onnx.ModelProto, written: Written) -> None:
    """Add new constants to the graph of their scope."""
    holder = written.scope.holder
    if isinstance(holder, onnx.FunctionProto):
        return
    read = {v for n in holder.node for v in reads(n)}
    wanted = {n: a for n, a in written.constants.items() if n in read}
    for tensor in tensors(wanted):
        holder.initializer.append(tensor)
        if model.ir_version < 4 and holder is model.graph:
            # Before IR version 4 every initializer had to be an input as well.
            info = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            holder.input.append(info)


def _used(graph: onnx.GraphProto) -> set[str]:
    """Return every name that is read somewhere in a graph and its bodies, or returned."""
    found = {o.name for o in graph.output}
    for node in graph.node:
        found.update(node.input)
        if has_bodies(node):
            for _, body in bodies(node):
                found |= _used(body)
    return found


def _sweep_initializers(
    model: onnx.ModelProto, graph: onnx.GraphProto, before: set[str], after: set[str]
) -> None:
    """Drop stored constants that were read before the round and are read no more.

    The default of an input stays: without it callers would have to pass a value.
    """
    doomed = before - after
    if model.ir_version >= 4:
        doomed -= {info.name for info in graph.input}
    for tensor in [t for t in graph.initializer if t.name in doomed]:
        graph.initializer.remove(tensor)
        if model.ir_version < 4:
            for info in [i for i in graph.input if i.name == tensor.name]:
                graph.input.remove(info)
    for note in [a for a in graph.quantization_annotation if a.tensor_name in doomed]:
        graph.quantization_annotation.remove(note)
    for body in _bodies(graph):
        _sweep_initializers(model, body, before, after)


def _bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    for node in graph.node:
        if has_bodies(node):
            yield from (body for _, body in bodies(node))


def _finish(model: onnx.ModelProto, notes: list[str]) -> None:
    """Drop fused functions that nobody calls any more; raise the IR version where one is needed."""
    called = {n.op_type for n in _all(model) if n.domain == FUSED}
    kept = [f for f in model.functions if f.domain != FUSED or f.name in called]
    # Some runtimes want a function before those that call it.
    kept.sort(key=lambda f: f.domain != FUSED)
    del model.functions[:]
    model.functions.extend(kept)
    if not called or model.ir_version >= _FUNCTIONS:
        return
    note = f"the IR version is raised from {model.ir_version} to {_FUNCTIONS}, for functions"
    if model.ir_version < 4:
        stored = {t.name for t in model.graph.initializer}
        listed = [i for i in model.graph.input if i.name in stored]
        for info in listed:
            model.graph.input.remove(info)
        if listed:
            note += (
                f"; {len(listed)} initializers are no longer listed as inputs, where callers could "
                "override them since IR version 4"
            )
    model.ir_version = _FUNCTIONS
    notes.append(note)


def _all(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    pending: list[Iterable[onnx.NodeProto]] = [model.graph.node, *(f.node for f in model.functions)]
    while pending:
        for node in pending.pop():
            yield node
            if has_bodies(node):
                pending += (body.node for _, body in bodies(node))


def values_of(model: onnx.ModelProto) -> set[str]:
    """Return the names of all values that nodes make or that a model takes."""
    found = {i.name for i in model.graph.input}
    return found | {o for n in _all(model) for o in n.output if o}


class _Names:
    """Makes names that the model does not have."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._taken: set[str] = set()
        pending = [model.graph]
        while pending:
            graph = pending.pop()
            self._taken.update(i.name for i in (*graph.input, *graph.initializer))
            self._taken.update(o for n in graph.node for o in n.output)
            pending += _bodies(graph)

    def fresh(self, stem: str) -> str:
        """Return the stem, or the stem with a number, that is not taken; it is taken then."""
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name
