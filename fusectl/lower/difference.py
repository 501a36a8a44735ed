"""What a fusion changes in what is run: before and after, for one decision and for the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from fusectl.decide import Ruling, Run
from fusectl.lower.chain import chain, extended
from fusectl.lower.jobs import Unlowerable
from fusectl.lower.kernels import Kernels
from fusectl.lower.lower import lower_run, lower_work
from fusectl.lower.plan import Planner
from fusectl.lower.tally import Tally, lines, tally_kernels, tally_program
from fusectl.program.listing import instructions
from fusectl.tables.operators import Operators
from fusectl.tables.targets import Target

Diff = Literal["none", "accepted", "would"]
Kind = Literal["instructions", "kernels"]


@dataclass(frozen=True, slots=True)
class Lines:
    """Instructions or kernels before and after a fusion, one line each.

    ``would``: it was refused and is not in the program. ``trouble`` says why there are none.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    would: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The lines by the id of a decision, and what the main graph's two programs cost, or why not.

    ``kind``: a target with a ``lowering`` runs instructions, another one kernels.
    """

    kind: Kind
    lines: dict[str, Lines] = field(default_factory=dict)
    unfused: Tally | None = None
    fused: Tally | None = None
    trouble: str = ""


def difference(
    runs: Iterable[Run], plain: Run, target: Target, operators: Operators, which: Diff
) -> Difference:
    """Return what was decided as a program, beside the one without fusions.

    ``runs`` begin with the main graph, and ``plain`` is the main graph with every rule off.
    """
    runs = list(runs)
    if target.lowering is None:
        return _of_kernels(runs, plain, which)
    found: dict[str, Lines] = {}
    for run in runs:
        planner = Planner(run.overlay, run.rulings, target, operators)
        found.update(_of_run(run, planner, target, which))
    try:
        fused = lower_run(runs[0], target, operators, "")
        unfused = lower_run(plain, target, operators, "", fused=False)
    except Unlowerable as error:
        return Difference("instructions", found, trouble=str(error))
    return Difference("instructions", found, tally_program(unfused), tally_program(fused))


def _of_kernels(runs: list[Run], plain: Run, which: Diff) -> Difference:
    found: dict[str, Lines] = {}
    for run in runs:
        kernels = Kernels(run)
        for ruling in _asked(run, which):
            found[ruling.id] = _kernels_of(ruling, kernels)
    apart, joined = Kernels(plain), Kernels(runs[0])
    unfused = tally_kernels(apart, apart.whole())
    return Difference("kernels", found, unfused, tally_kernels(joined, joined.whole()))


def _kernels_of(ruling: Ruling, kernels: Kernels) -> Lines:
    would = not ruling.accepted
    try:
        before, after = kernels.before(ruling), kernels.after(ruling)
    except Unlowerable as error:
        return Lines(would=would, trouble=str(error))
    return Lines(tuple(lines(kernels, before)), tuple(lines(kernels, after)), would)


def _asked(run: Run, which: Diff) -> Iterator[Ruling]:
    return (r for r in run.rulings if r.accepted or which == "would")


def _of_run(run: Run, planner: Planner, target: Target, which: Diff) -> Iterator[tuple[str, Lines]]:
    for ruling in _asked(run, which):
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
