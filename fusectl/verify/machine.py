"""Every decision on a machine that has a program: the nodes apart against the fused form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fusectl.decide import Ruling, Run
from fusectl.graph.constants import Array, Unreadable
from fusectl.graph.evaluate import evaluate_node
from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.view import Node
from fusectl.lower import Unlowerable, lower_work
from fusectl.lower.chain import chain
from fusectl.lower.jobs import Job, Value, Work
from fusectl.lower.plan import Planner
from fusectl.program import Encoding, Program
from fusectl.report.verification import FromFormula
from fusectl.runtime import CannotRun
from fusectl.simulate import Machine, Trap
from fusectl.tables.operators import Operators
from fusectl.tables.target_schema import DEMANDS, Demand
from fusectl.tables.targets import Target
from fusectl.verify.epilogue import Proof, prove
from fusectl.verify.formula import Numbers, evaluate_formula, from_formula, joined
from fusectl.verify.groups import CENTRE, ENDS, HALF_STEP, draw, half_steps, spread
from fusectl.verify.host import Host

GROUPS = (CENTRE, ENDS, HALF_STEP)


@dataclass(frozen=True, slots=True)
class GroupResult:
    """One group of inputs. ``inputs``: sums that it is about; how many results differ or are too
    far from the reference evaluator, and the largest distance; how far both paths lie from the
    formula."""

    group: str
    inputs: int
    different: int
    beyond: int
    worst: float
    formula: FromFormula | None = None


@dataclass(frozen=True, slots=True)
class MachineResult:
    """What was found about one decision.

    ``proof`` is that of the epilogue given U, and ``proof_beyond`` counts codes whose result is
    too far from the reference. ``trouble`` says why nothing was found; ``trapped``: the machine
    could not execute a program. ``formula_trouble`` says why there is no formula to compare with.
    """

    decision: str
    value: str
    groups: tuple[GroupResult, ...] = ()
    proof: Proof | None = None
    proof_beyond: int = 0
    trouble: str = ""
    trapped: bool = False
    formula_trouble: str = ""

    @property
    def formula(self) -> FromFormula | None:
        """How far both paths lie from the real-number formula, over all groups of inputs."""
        return joined(g.formula for g in self.groups)

    @property
    def held(self) -> tuple[Demand, ...]:
        """Every equivalence that holds, the strictest first."""
        if self.trouble:
            return ()
        known = (d for d in DEMANDS if d != "reassociate" or self.formula is not None)
        return tuple(d for d in known if not self.wrong(d))

    def wrong(self, demand: Demand) -> tuple[str, ...]:
        """Return what of an equivalence does not hold, in words."""
        proof, formula = self.proof, self.formula
        bitwise = demand == "bitwise"
        told = [("codes of U that no sum left as", proof.possible - proof.codes if proof else 0)]
        if demand == "reassociate":
            told += [("results too far from the formula", formula.beyond if formula else 0)]
        else:
            told += [
                (
                    "results that differ in their bits",
                    bitwise * sum(g.different for g in self.groups),
                ),
                ("results beyond the bound", sum(g.beyond for g in self.groups)),
                ("codes of U that differ", bitwise * proof.different if proof else 0),
                ("codes of U beyond the bound", self.proof_beyond),
            ]
        return tuple(f"{what}: {number}" for what, number in told if number)


def verify_machine(
    run: Run, target: Target, operators: Operators, groups: tuple[str, ...] = GROUPS
) -> Iterator[MachineResult]:
    """Yield a result for every decision of a scope that fuses."""
    planner = Planner(run.overlay, run.rulings, target, operators)
    for seed, ruling in enumerate(r for r in run.rulings if r.accepted and r.group is not None):
        try:
            yield _Check(ruling, planner, target, seed).result(groups)
        except (Unlowerable, Unreadable, Trap) as error:
            trapped = isinstance(error, Trap)
            value = ruling.candidate.value
            yield MachineResult(ruling.id, value, trouble=str(error), trapped=trapped)


class _Check:
    """One decision, lowered both ways."""

    def __init__(self, ruling: Ruling, planner: Planner, target: Target, seed: int) -> None:
        self.ruling = ruling
        self.overlay: Overlay = planner.overlay
        self.target = target
        self.seed = seed
        if ruling.group is None:
            raise Unlowerable("nothing was fused")
        # The last reader of a function's result may be a quantiser that the function does.
        behind = [chain(g, planner.rulings) for g in _quantisers(ruling, planner)[:1]]
        links = [chain(g, planner.rulings) for g in ruling.candidate.parts]
        links.sort(key=lambda c: c.order)
        self.apart = planner.alone([*links, *behind])
        self.fused = planner.alone([chain(ruling.group, planner.rulings), *behind])
        self.programs = (
            lower_work(self.fused, target, "", fused=True),
            lower_work(self.apart, target, "", fused=False),
        )
        self.nodes = [*ruling.nodes, *(n for c in behind for n in c.nodes)]
        self.output = self.fused.jobs[-1].writes[0]
        self.coded = self.fused.jobs[-1].coded
        quantised = self.coded is not None and self.coded.scale is not None
        # What is compared are numbers: those that a quantiser gets, as far as its codes reach.
        self.last = ruling.candidate.consumer.outputs[0] if quantised else self.output
        self.formula_trouble = ""

    def result(self, groups: tuple[str, ...]) -> MachineResult:
        found = tuple(self._group(g) for g in groups)
        job: Job = self.fused.jobs[0]
        proof, beyond = None, 0
        if job.activation is not None:
            proof = prove(job.activation, job.coded, self.target)
            beyond = self._epilogue_beyond(proof, job.coded)
        return MachineResult(
            self.ruling.id,
            self.ruling.candidate.value,
            found,
            proof,
            beyond,
            formula_trouble=self.formula_trouble,
        )

    def _feeds(self) -> dict[str, Array]:
        made: dict[str, Array] = {}
        for work in (self.fused, self.apart):
            for name, value in work.values.items():
                if value.role == "constant":
                    made[name] = _held(self.overlay.array(name), value)
                elif value.role == "input" and name not in made:
                    made[name] = draw(value.shape, value.dtype, self.seed + len(made))
        return made

    def _group(self, group: str) -> GroupResult:
        feeds = self._feeds()
        job = self.apart.jobs[0]
        # Constants are the model's own; of the operands the first is changed that is none.
        free = [place for place in (0, 1) if not self.overlay.is_constant(job.reads[place])]
        count = 0
        if group == HALF_STEP:
            if free:
                feeds, count = half_steps(feeds, job, free[0], self.seed)
        else:
            found = self._sums(feeds)
            if free:
                feeds = spread(feeds, job.reads[free[0]], found, group)
            count = int(found.size)
        fused = self._run(self.programs[0], feeds)
        apart = self._run(self.programs[1], feeds)
        width = fused.dtype.itemsize
        bits = fused.view(np.uint8).reshape(-1, width) != apart.view(np.uint8).reshape(-1, width)
        beyond, worst = self._beyond(fused, feeds)
        formula = self._from_formula(fused, apart, feeds)
        return GroupResult(group, count, int(bits.any(axis=1).sum()), beyond, worst, formula)

    def _from_formula(
        self, fused: Array, apart: Array, feeds: dict[str, Array]
    ) -> FromFormula | None:
        """Compare both paths with the formula. None, with a reason, where there is none."""
        try:
            made = evaluate_formula(self.nodes, feeds, self.last, self.overlay)
        except (CannotRun, Unreadable) as error:
            self.formula_trouble = str(error)
            return None
        exact, slack = _clipped(np.asarray(made, np.float64).reshape(-1), self.coded)
        finite = np.abs(exact) <= _LARGEST
        bound = self._bound(exact, slack)[finite]
        was, now = (_numbers(a, self.coded)[finite] for a in (apart, fused))
        return from_formula(exact[finite], was, now, bound)

    def _sums(self, feeds: dict[str, Array]) -> Array:
        """Return what the product alone makes of the inputs."""
        machine = Machine(self.programs[1], Host(self.overlay))
        machine.run(feeds)
        name = self.programs[1].descriptors[0].writes[0]
        record = machine.memory.records[name]
        if record.role == "output" or len(self.programs[1].descriptors) < 2:
            return machine.get(name)
        # The value may have been overwritten by its reader: compute it once more, alone.
        work = Work(self.apart.jobs[:1], self.apart.values, self.apart.views)
        values = {n: v for n, v in work.values.items() if n in (*work.jobs[0].reads, name)}
        alone = lower_work(Work(work.jobs, values), self.target, "", fused=False)
        machine = Machine(alone)
        machine.run(feeds)
        return machine.get(name)

    def _run(self, program: Program, feeds: dict[str, Array]) -> Array:
        return Machine(program, Host(self.overlay)).run(feeds)[self.output]

    def _beyond(self, made: Array, feeds: dict[str, Array]) -> tuple[int, float]:
        """Compare with the reference evaluator, which computes in single precision at least."""
        wide = {n: a.astype(np.float32) if a.dtype == np.float16 else a for n, a in feeds.items()}
        for node in self.nodes:
            if self.last in wide:
                break
            wide |= _wide(evaluate_node(node, _named(node, wide, self.overlay), self.overlay.view))
        return self._too_far(made, wide[self.last], self.coded)

    def _too_far(self, made: Array, reference: Array, coded: Encoding | None) -> tuple[int, float]:
        exact, slack = _clipped(reference.astype(np.float64).reshape(-1), coded)
        with np.errstate(invalid="ignore"):
            far = np.abs(_numbers(made, coded) - exact)
        # No number where the reference has one is as far off as can be.
        far[np.isnan(far)] = np.inf
        # What half precision cannot hold is infinite in the machine, and no matter of the fusion.
        finite = np.abs(exact) <= _LARGEST
        beyond = (far > self._bound(exact, slack)) & finite
        return int(beyond.sum()), float(np.max(far, where=finite, initial=0.0))

    def _bound(self, exact: Numbers, slack: float) -> Numbers:
        limit = self.target.equivalence
        return np.asarray(limit.abs + limit.rel * np.abs(exact) + slack, np.float64)

    def _epilogue_beyond(self, proof: Proof, coded: Encoding | None) -> int:
        node = self.ruling.candidate.consumer.node
        numbers: npt.NDArray[np.float32] = proof.numbers.astype(np.float32)
        made = evaluate_node(node, {node.inputs[0]: numbers}, self.overlay.view)
        results = proof.results
        if coded is not None and coded.scale is not None:
            results = np.rint(results / coded.scale) + coded.zero_point
        return self._too_far(results, next(iter(made.values())), coded)[0]


_LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}
_LARGEST = 65504.0


def _numbers(made: Array, coded: Encoding | None) -> Numbers:
    """Return the numbers that results stand for."""
    numbers = made.astype(np.float64).reshape(-1)
    if coded is None or coded.scale is None:
        return numbers
    return np.asarray((numbers - coded.zero_point) * coded.scale, np.float64)


def _clipped(exact: Numbers, coded: Encoding | None) -> tuple[Numbers, float]:
    """Return numbers as far as the codes of a result reach, and half a step of them."""
    if coded is None or coded.scale is None:
        return exact, 0.0
    low, high = ((c - coded.zero_point) * coded.scale for c in _LIMITS[coded.dtype])
    return np.clip(exact, low, high), coded.scale / 2


def _held(array: Array, value: Value) -> Array:
    """Return a constant as the machine holds it, in the model's type.

    How it is held is the same fused or not, so both paths and the reference read the same.
    """
    if value.encoding.dtype != "float16" or array.dtype.kind != "f":
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float16).astype(array.dtype)


def _quantisers(ruling: Ruling, planner: Planner) -> list[Group]:
    """Return the quantisers that read the result of a function."""
    group = ruling.group
    if group is None or "post" not in group.slots:
        return []
    readers = (user for user, slot in planner.overlay.users(group.outputs[0]) if slot == 0)
    return [g for g in readers if planner.operators.acts_as(g.op) == "QuantizeLinear"]


def _named(node: Node, values: dict[str, Array], overlay: Overlay) -> dict[str, Array]:
    """Return a node's inputs: given, computed so far, or constants that no program read."""
    found: dict[str, Array] = {}
    for name in node.inputs:
        if not name:
            continue
        real = overlay.alias.get(name, name)
        array = values.get(name, values.get(real))
        found[name] = overlay.array(real) if array is None else array
        if found[name].dtype == np.float16:
            found[name] = found[name].astype(np.float32)
    return found


def _wide(made: dict[str, Array]) -> dict[str, Array]:
    return {n: a.astype(np.float32) if a.dtype == np.float16 else a for n, a in made.items()}
