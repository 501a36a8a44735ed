"""What a fusion changes in the program: before and after, for one decision and for the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from fusectl.decide import Ruling, Run
from fusectl.lower.chain import chain, extended
from fusectl.lower.jobs import Unlowerable
from fusectl.lower.lower import lower_run, lower_work
from fusectl.lower.plan import Planner
from fusectl.program import Program
from fusectl.program.listing import instructions
from fusectl.tables.operators import Operators
from fusectl.tables.targets import Target

Diff = Literal["none", "accepted", "would"]


@dataclass(frozen=True, slots=True)
class Lines:
    """Instructions before and after a fusion; ``would``: it was refused and is not in the program.

    ``trouble`` says why there are none.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    would: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The lines by the id of a decision, and the two programs of the main graph, or why not."""

    lines: dict[str, Lines] = field(default_factory=dict)
    unfused: Program | None = None
    fused: Program | None = None
    trouble: str = ""


def difference(
    runs: Iterable[Run], plain: Run, target: Target, operators: Operators, which: Diff
) -> Difference:
    """Lower what was decided, and the same without fusions (``plain``: the main graph)."""
    runs = list(runs)
    lines: dict[str, Lines] = {}
    for run in runs:
        planner = Planner(run.overlay, run.rulings, target, operators)
        lines.update(_of_run(run, planner, target, which))
    try:
        fused = lower_run(runs[0], target, operators, "")
        unfused = lower_run(plain, target, operators, "", fused=False)
    except Unlowerable as error:
        return Difference(lines, trouble=str(error))
    return Difference(lines, unfused, fused)


def _of_run(run: Run, planner: Planner, target: Target, which: Diff) -> Iterator[tuple[str, Lines]]:
    for ruling in run.rulings:
        if not ruling.accepted and which != "would":
            continue
        try:
            yield ruling.id, _of_ruling(ruling, planner, target)
        except Unlowerable as error:
            yield ruling.id, Lines(would=not ruling.accepted, trouble=str(error))


def _of_ruling(ruling: Ruling, planner: Planner, target: Target) -> Lines:
    """Lower the groups that a decision joins, and what they become. Raises Unlowerable."""
    found = ruling.candidate
    if found.missing:
        raise Unlowerable("a part of the pattern is missing")
    after = extended(chain(found.producer.group, planner.rulings), found)
    before = planner.parts(found.parts)
    return Lines(
        tuple(instructions(lower_work(before, target, "", fused=False))),
        tuple(instructions(lower_work(planner.alone([after]), target, "", fused=True))),
        not ruling.accepted,
    )
