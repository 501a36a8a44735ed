"""Runs the programs of a model, fused and unfused, where a target says how it runs one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isfinite

from fusectl import __version__
from fusectl.decide import Ruling, Run
from fusectl.graph.constants import Unreadable
from fusectl.graph.view import GraphView, Node
from fusectl.lower import Unlowerable, lower_run
from fusectl.lower.validate import validate
from fusectl.pipeline import Decided
from fusectl.program import Program
from fusectl.report.types import Edge, ModelRef, NodeRef, StepRecord, TargetRef, Tool
from fusectl.report.verification import (
    VERIFICATION_SCHEMA,
    Checked,
    EpilogueProof,
    FromFormula,
    InputGroup,
    Outcome,
    Simulated,
    Verification,
    Witness,
)
from fusectl.runtime import CannotRun
from fusectl.runtime.session import Array
from fusectl.simulate import Trap, simulate
from fusectl.tables.target_schema import DEMANDS, Demand
from fusectl.verify.compare import distance, witness
from fusectl.verify.formula import formula_of_file, outputs_from_formula
from fusectl.verify.groups import draw
from fusectl.verify.host import Host, constants
from fusectl.verify.machine import MachineResult, verify_machine

RUNNER = "the simulator"
_INNER = "only the program of the main graph is run, and this is in a body or a function"
_RANDOM = "two runs of the unfused program differ: an operator on the host draws at random"
_NAMED = 5
"""Outputs that are named where they differ."""
_NOTHING = "nothing fuses in the main graph, so both programs are the same"


def verify_programs(
    found: Decided, demand: Demand | None = None, progress: Callable[[str], None] | None = None
) -> Verification:
    """Run the program of every decision against those of its nodes, then the whole main graph.

    ``demand`` says what has to hold of all; None: what the target asks for, else equal bits where
    the fused form keeps them, and the target's bound everywhere.
    """
    demand = demand or found.target.equivalence.ask or None
    main, *inner = found.runs
    nodes = [*_decisions(main, found, demand, progress)]
    for run in inner:
        results = (MachineResult(r.id, "", trouble=_INNER) for r in _accepted(run))
        nodes += map(_checked, _accepted(run), results, _demands(run, demand))
    if progress is not None:
        progress("the whole program")
    limit = found.target.equivalence
    model, target = found.loaded, found.target
    return Verification(
        VERIFICATION_SCHEMA,
        Tool("fusectl", __version__),
        ModelRef(model.path, model.sha256, dict(model.opsets), model.node_count),
        TargetRef(target.id, target.version),
        RUNNER,
        limit.rel,
        limit.abs,
        0,
        tuple(nodes),
        _whole(found, list(_demands(main, demand))),
        programs=True,
    )


def _accepted(run: Run) -> list[Ruling]:
    return [r for r in run.rulings if r.accepted]


def _alike(ruling: Ruling) -> bool:
    """Tell whether the fused form rounds as the nodes apart do."""
    return ruling.candidate.numerics == "exact"


def _demands(run: Run, demand: Demand | None) -> Iterator[Demand]:
    for ruling in _accepted(run):
        yield demand or ("bitwise" if _alike(ruling) else "bound")


def _decisions(
    run: Run, found: Decided, demand: Demand | None, progress: Callable[[str], None] | None
) -> Iterator[Checked]:
    rulings = _accepted(run)
    results = verify_machine(run, found.target, found.operators)
    for number, (ruling, demands) in enumerate(zip(rulings, _demands(run, demand), strict=True)):
        if progress is not None:
            name = ruling.candidate.told_consumer.label
            progress(f"{name}, decision {number + 1} of {len(rulings)}")
        if ruling.group is None:
            result = MachineResult(ruling.id, "", trouble="it makes no call")
        else:
            result = next(results)
        yield _checked(ruling, result, demands)


def _checked(ruling: Ruling, result: MachineResult, demands: Demand) -> Checked:
    found, view = ruling.candidate, ruling.candidate.overlay.view
    producer, consumer = _node(found.told_producer, view), _node(found.told_consumer, view)
    groups = (
        InputGroup(g.group, g.inputs, g.different, g.beyond, g.worst if isfinite(g.worst) else None)
        for g in result.groups
    )
    proof = result.proof
    simulated = Simulated(
        ruling.id,
        Edge(found.told_value, producer, consumer),
        tuple(groups),
        EpilogueProof(proof.codes, proof.possible, proof.different, result.proof_beyond)
        if proof is not None
        else None,
    )
    outcome, why = _outcome(result, demands)
    name, rules = consumer.label, (found.rule.id,)
    return Checked(
        name,
        consumer.op_type,
        rules,
        outcome,
        why,
        None,
        demands,
        result.held,
        result.formula,
        simulated,
    )


def _node(node: Node, view: GraphView) -> NodeRef:
    steps = tuple(StepRecord(s.node, s.attr, s.function, s.call) for s in view.scope)
    output = next((o for o in node.outputs if o), "")
    return NodeRef(node.name, node.op_type, node.domain, output, steps)


def _outcome(result: MachineResult, demands: Demand) -> tuple[Outcome, str]:
    if result.trapped:
        return "fail", f"the machine cannot execute the program: {result.trouble}"
    if result.trouble:
        return "not run", result.trouble
    if demands == "reassociate" and result.formula is None:
        return "not run", f"there is no formula to compare with: {result.formula_trouble}"
    wrong = result.wrong(demands)
    return ("fail" if wrong else "pass"), ", ".join(wrong)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Two programs from inputs to outputs: outputs that differ, the worst element, by chance?

    ``expected`` are the outputs of the one with less fused. ``wrong`` is what a validator found in
    one of them; then nothing was run.
    """

    different: list[str]
    worst: Witness | None
    random: bool
    wrong: str = ""
    feeds: dict[str, Array] = field(default_factory=dict)
    expected: dict[str, Array] = field(default_factory=dict)
    actual: dict[str, Array] = field(default_factory=dict)


def _whole(found: Decided, demands: list[Demand]) -> Checked:
    """Run the programs of the main graph from its inputs to its outputs."""
    outcome: Outcome
    outcome, why, worst, formula = "not run", _NOTHING, None, None
    if demands:
        try:
            ends = _end_to_end(found, found.plain)
            worst = ends.worst
            outcome, why = _judged(found, ends, demands)
            formula = _from_formula(found, ends)
        except (Unlowerable, Unreadable) as error:
            why = str(error)
        except Trap as error:
            outcome, why = "fail", f"the machine cannot execute a program: {error}"
    ran = outcome != "not run"
    strictest: Demand = min(demands, key=DEMANDS.index, default="bound")
    return Checked(
        found.loaded.path,
        "",
        (),
        outcome,
        why,
        worst if ran else None,
        strictest,
        ("bitwise",) if ran and not why else (),
        formula if ran else None,
    )


def _from_formula(found: Decided, ends: _Ends) -> FromFormula | None:
    """Compare the outputs of both programs with the model's formula; None where it has none."""
    try:
        exact = formula_of_file(found.loaded.path).run(ends.feeds)
    except CannotRun:
        return None
    return outputs_from_formula(exact, ends.expected, ends.actual)


def _judged(found: Decided, ends: _Ends, demands: list[Demand]) -> tuple[Outcome, str]:
    if ends.wrong:
        return "fail", f"a program is not valid: {ends.wrong}"
    if ends.random:
        return "not run", _RANDOM
    if not ends.different:
        return "pass", ""
    why = f"bits differ in output {_listed(ends.different)}"
    if all(d == "bitwise" for d in demands):
        return "fail", why
    if "bitwise" not in demands or not _sums_alone(found):
        # The bound is that of one decision: what several add up to is told and not judged.
        return "told", why
    functions = _end_to_end(found, found.sums)
    if functions.different:
        return "fail", f"with functions alone apart, bits differ in {_listed(functions.different)}"
    return "pass", why


def _sums_alone(found: Decided) -> bool:
    """Tell whether without functions behind products all other decisions are the same."""
    others = {r.id for r in _accepted(found.runs[0]) if not _alike(r)}
    return {r.id for r in _accepted(found.sums)} == others


def _listed(names: list[str]) -> str:
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])


def _end_to_end(found: Decided, other: Run) -> _Ends:
    """Run the fused program against one with less fused. Raises Unlowerable, Unreadable, Trap."""
    target, operators, run = found.target, found.operators, found.runs[0]
    fused = lower_run(run, target, operators, "")
    apart = lower_run(other, target, operators, "", fused=False)
    wrong = [*validate(fused), *validate(apart)]
    if wrong:
        return _Ends([], None, False, str(wrong[0]))
    feeds = _inputs(apart) | _inputs(fused)
    expected, actual = _run(apart, other, feeds), _run(fused, run, feeds)
    different = _different(expected, actual)
    random = bool(different and _different(expected, _run(apart, other, feeds)))
    far = ((distance(expected[name], actual[name]), name) for name in expected)
    worst = max(far, key=lambda f: f[0].relative, default=None)
    told = witness(worst[1], worst[0], "random") if worst is not None else None
    return _Ends(different, told, random, "", feeds, expected, actual)


def _run(program: Program, run: Run, feeds: dict[str, Array]) -> dict[str, Array]:
    given = feeds | constants(program, run.overlay)
    return simulate(program, given, Host(run.overlay))


def _different(a: dict[str, Array], b: dict[str, Array]) -> list[str]:
    return [n for n, v in a.items() if v.shape != b[n].shape or v.tobytes() != b[n].tobytes()]


def _inputs(program: Program) -> dict[str, Array]:
    inputs = [a for a in program.addresses if a.role == "input" and a.space == "dram"]
    inputs.sort(key=lambda a: a.name)
    return {a.name: draw(a.shape, a.dtype, seed) for seed, a in enumerate(inputs)}
