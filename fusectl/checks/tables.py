"""Look-up tables of a fused function: complete, and within what the machine holds."""

from __future__ import annotations

from collections.abc import Iterator

from fusectl.checks.describe import constant
from fusectl.checks.functions import function_name, function_use
from fusectl.checks.registry import Args, Outcome, Outcomes, check, fail
from fusectl.lut import FUNCTIONS, needed
from fusectl.match.candidate import Candidate
from fusectl.tables.patterns import Pattern
from fusectl.tables.target_schema import PathDoc


def _tables(pattern: Pattern, path: PathDoc) -> bool:
    return any(f.table for f in (path.functions or {}).values())


def _path(candidate: Candidate) -> PathDoc | None:
    """Return the path, where it has the function by table."""
    path = candidate.path
    use = function_use(candidate)
    return path if use is not None and use.table else None


@check("table-complete", "lut-incomplete", _tables)
def table_complete(candidate: Candidate, args: Args) -> Outcomes:
    """The function's table can be built: function, encodings, header and address are there."""
    path = _path(candidate)
    if path is None:
        return None
    found = [*_output(candidate, path), *_function(candidate, path)]
    if candidate.target.lowering is not None:
        found += _machine(candidate, path)
    return found or None


def _output(candidate: Candidate, path: PathDoc) -> Iterator[Outcome]:
    overlay = candidate.overlay
    for reader, _ in overlay.users(candidate.consumer.outputs[0]):
        if candidate.operators.acts_as(reader.op) != "QuantizeLinear":
            continue
        for what, value in zip(("scale", "zero point"), reader.inputs[1:3], strict=False):
            if value and not overlay.is_constant(value):
                yield fail(
                    reader.label,
                    f"the {what} of the output encoding, {value}, arrives at run time",
                    f"make {value} a constant, so that the table can be filled",
                    path.span,
                )


def _function(candidate: Candidate, path: PathDoc) -> Iterator[Outcome]:
    facts = candidate.operators.functions.get(candidate.consumer.op)
    label, op = candidate.consumer.node.label, candidate.consumer.op
    if facts is not None and not facts.table:
        held = constant(candidate.overlay, candidate.consumer.inputs[-1])
        seen = f"{op} is no function of one number: no table can hold it ({held})"
        yield fail(label, seen, where=path.span)


def _machine(candidate: Candidate, path: PathDoc) -> Iterator[Outcome]:
    """What a target that says how it runs a program needs beside."""
    memory, label = candidate.target.memory, candidate.consumer.node.label
    name = function_name(candidate)[0]
    facts = candidate.operators.functions.get(candidate.consumer.op)
    if name not in FUNCTIONS and (facts is None or facts.table):
        seen = f"function: {name} has no definition from which a table could be filled"
        yield fail(label, seen, f"keep {label}, or take a function that has one", path.span)
    for part, size in (("slots", memory.table_slots), ("entries", memory.table_entries)):
        if not size:
            seen = f"table address: {candidate.target.id} states no table_{part}"
            yield fail(label, seen, f"state memory: table_{part} in the target's file", path.span)
    held = _held(candidate, path)
    if held.startswith(("int", "uint")):
        seen = f"intermediate encoding: {candidate.value} is {held} and has no scale"
        yield fail(candidate.value, seen, "let a dequantiser say what the codes mean", path.span)


def _held(candidate: Candidate, path: PathDoc) -> str:
    dtype = candidate.overlay.type_of(candidate.value).dtype
    return path.storage.get(dtype, dtype)


@check("table-fits", "over-budget", _tables)
def table_fits(candidate: Candidate, args: Args) -> Outcomes:
    """The function's table has no more entries than the target's tables."""
    path, memory = _path(candidate), candidate.target.memory
    if path is None or candidate.target.lowering is None or not memory.table_entries:
        return None
    held = _held(candidate, path)
    entries = needed(held, memory.interpolate)
    if entries <= memory.table_entries:
        return None
    return [
        fail(
            candidate.consumer.node.label,
            f"a table over {held}{'' if memory.interpolate else ' without interpolation'} takes "
            f"{entries} entries; the target's have {memory.table_entries}",
            "keep the pair, or hold the intermediate value in fewer bits",
            path.span,
        )
    ]
