"""A scope, or some groups of it, to a program."""

from __future__ import annotations

from collections.abc import Iterable

from fusectl.decide.engine import Run
from fusectl.graph.overlay import Group
from fusectl.lower.allocate import allocate
from fusectl.lower.emit import write_jobs
from fusectl.lower.jobs import Unlowerable, Work
from fusectl.lower.plan import Planner
from fusectl.lower.writer import ENTRY_BYTES, HEADER_BYTES, Writer
from fusectl.program import SCHEMA, Program, Space
from fusectl.tables.operators import Operators
from fusectl.tables.targets import Target


def lower_run(
    run: Run, target: Target, operators: Operators, model: str, fused: bool = True
) -> Program:
    """Return the program of everything a scope computes. Raises Unlowerable."""
    planner = Planner(run.overlay, run.rulings, target, operators)
    return lower_work(planner.whole(), target, model, fused)


def lower_groups(
    run: Run, groups: Iterable[Group], target: Target, operators: Operators, fused: bool
) -> Program:
    """Return the program of some groups alone. Raises Unlowerable."""
    planner = Planner(run.overlay, run.rulings, target, operators)
    return lower_work(planner.parts(groups), target, "", fused)


def lower_work(work: Work, target: Target, model: str, fused: bool) -> Program:
    """Return the program of jobs. Raises Unlowerable."""
    lowering = target.lowering
    if lowering is None:
        raise Unlowerable(f"target {target.id} does not say how it runs a program (lowering)")
    addresses = allocate(work, lowering.align)
    writer = Writer(target, work, addresses)
    write_jobs(writer, work)
    return Program(
        SCHEMA,
        target.id,
        model,
        fused,
        tuple(writer.descriptors),
        writer.finished(),
        tuple(writer.parameters.values()),
        tuple(writer.instructions),
        _capacity(target, lowering.header_banks),
        lowering.intermediate,
    )


def _capacity(target: Target, banks: int) -> dict[Space, int]:
    memory = target.memory
    found: dict[Space, int] = {
        "table": memory.table_slots * memory.table_entries * ENTRY_BYTES,
        "register": banks * HEADER_BYTES,
    }
    if target.on_chip is not None:
        found["sram"] = target.on_chip
    return found
