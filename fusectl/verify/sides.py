"""Both sides of a comparison on the same inputs: what of the three equivalences holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fusectl.report.verification import FromFormula, Outcome, Witness
from fusectl.runtime import CannotRun, Session, open_session
from fusectl.tables.target_schema import DEMANDS, Demand
from fusectl.verify.compare import distance, witness
from fusectl.verify.formula import Exact, from_formula, joined
from fusectl.verify.inputs import KINDS, trials
from fusectl.verify.limits import Limits
from fusectl.verify.movement import Fed, Moves

FAR = "the results lie too far apart"
_WRONG = {
    "bitwise": "bits differ",
    "bound": FAR,
    "reassociate": "the fused side lies too far from the real-number formula",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison found: outcome, why, the worst element, which equivalences held."""

    outcome: Outcome
    why: str
    witness: Witness | None = None
    held: tuple[Demand, ...] = ()
    formula: FromFormula | None = None


def fed_by(session: Session) -> Iterator[Fed]:
    """Yield inputs of every region, with the outputs. Raises CannotRun where nothing runs."""
    for kind in KINDS:
        trouble: CannotRun | None = None
        for made in trials(session.inputs, kind):
            try:
                yield kind.name, made, session.run(made)
                break
            except CannotRun as error:
                trouble = trouble or error
        else:
            if trouble is not None:
                raise trouble


class Sides:
    """The results of the original, held against the fused side."""

    def __init__(self, allowed: Limits, demand: Demand) -> None:
        """Say how far results may lie apart, and which equivalence has to hold."""
        self.allowed = allowed
        self.demand = demand

    def compare(
        self,
        fed: list[Fed],
        model: bytes | Path,
        exact: Exact | None = None,
        *,
        made_up: bool = False,
        moves: Moves | None = None,
    ) -> Comparison:
        """Run the fused side on the inputs that the original was fed with.

        ``made_up``: sizes of inputs were, so that the fused side may rightly refuse them.
        ``moves``: how far each output may lie off all the same.
        """
        try:
            session = open_session(model)
        except CannotRun as error:
            return Comparison("fail", f"the fused side does not load: {error}")
        tally = _Tally(self.allowed, moves or {})
        for kind, made, expected in fed:
            try:
                actual = session.run(made)
            except CannotRun as error:
                if made_up:
                    why = f"no sizes were found that fit; with others: {error}"
                    return Comparison("not run", why)
                return Comparison("fail", f"the fused side does not run: {error}")
            real = exact.outputs(made, expected) if exact is not None else {}
            for name, value in expected.items():
                trouble = tally.add(kind, name, value, actual[name], real.get(name))
                if trouble:
                    return Comparison("fail", f"{name}: {trouble}")
        return tally.judged(self.demand)


class _Tally:
    """What all outputs on all inputs say together."""

    def __init__(self, allowed: Limits, moves: Moves) -> None:
        self.allowed = allowed
        self.moves = moves
        self.worst: tuple[bool, float, Witness] | None = None
        self.same = True
        self.formulas: list[FromFormula | None] = []

    def add(self, kind: str, name: str, value: object, actual: object, exact: object) -> str:
        """Compare an output; return why that cannot be done."""
        found = distance(value, actual)
        if found.why:
            return found.why
        wrong = not self.allowed.allow(found, str(getattr(value, "dtype", "")))
        wrong = wrong and found.relative > self.moves.get((kind, name), 0.0)
        rank = (wrong, found.absolute if found.whole else found.relative)
        if self.worst is None or rank > self.worst[:2]:
            self.worst = (*rank, witness(name, found, kind))
        self.same = self.same and _same(value, actual)
        if getattr(value, "dtype", np.dtype("O")).kind in "fiu":
            self.formulas.append(self._from_formula(value, actual, exact))
        elif not _same(value, actual):
            self.formulas.append(None)
        return ""

    def _from_formula(self, value: object, actual: object, exact: object) -> FromFormula | None:
        arrays = [v for v in (value, actual, exact) if isinstance(v, np.ndarray)]
        if len(arrays) < len((value, actual, exact)):
            return None
        was, now, real = arrays
        if real.shape != was.shape or real.dtype.kind not in "fiu":
            return None
        return from_formula(real, was, now, self.allowed.bound(was))

    def judged(self, demand: Demand) -> Comparison:
        if self.worst is None:
            return Comparison("not run", "nothing to compare")
        formula = joined(self.formulas)
        holds: dict[Demand, bool] = {
            "bitwise": self.same,
            "bound": not self.worst[0],
            "reassociate": formula is not None and not formula.beyond,
        }
        held = tuple(d for d in DEMANDS if holds[d])
        if demand == "reassociate" and formula is None:
            return Comparison("not run", "it has no formula here", self.worst[2], held)
        if holds[demand]:
            return Comparison("pass", "", self.worst[2], held, formula)
        return Comparison("fail", _WRONG[demand], self.worst[2], held, formula)


def _same(one: object, other: object) -> bool:
    """Tell whether two results are equal to the bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.dtype.kind != "O":
        return one.tobytes() == other.tobytes()
    if isinstance(one, list) and isinstance(other, list):
        return all(map(_same, one, other))
    return bool(np.all(one == other))
