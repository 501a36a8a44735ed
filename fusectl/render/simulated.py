"""What the simulator found about each decision, for people: what does not hold comes first."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from fusectl.render.equivalence import asked, standing
from fusectl.render.witness import sentence
from fusectl.render.wording import count
from fusectl.report.verification import Checked, EpilogueProof, Simulated, Verification

_ORDER = ("fail", "pass", "told", "not run")
_PLACES = {"centre": "in the centre", "ends": "at the ends", "half-step": "at half-steps"}


def simulated_lines(found: Verification) -> Iterator[str]:
    """Yield the lines about all decisions and the whole program."""
    nodes = found.nodes
    path, target = found.model.path, found.target.id
    if not nodes:
        yield f"{path}: nothing fuses for {target}, so there is no program to compare"
        return
    yield f"{path}: {count(len(nodes), 'decision')} for {target}, run by {found.runtime}"
    yield (
        f"bound: {found.absolute:.3g} + {found.relative:.3g} of the value, from ONNX's reference "
        "evaluator"
    )
    ran = [c for c in nodes if c.outcome != "not run"]
    told = [f"{sum(c.outcome == 'pass' for c in ran)} of {len(ran)} hold"] if ran else []
    if len(ran) < len(nodes):
        told.append(f"{len(nodes) - len(ran)} not run")
    yield ", ".join(told)
    for checked in sorted(nodes, key=lambda c: _ORDER.index(c.outcome)):
        if checked.simulated is not None:
            yield ""
            yield from _decision(checked, checked.simulated)
    yield ""
    yield from _whole(found.whole)


def _decision(checked: Checked, found: Simulated) -> Iterator[str]:
    ends = (found.edge.producer, found.edge.consumer)
    yield f"{' -> '.join(f'{n.label} ({n.op_type})' for n in ends)} by {', '.join(checked.rules)}"
    if checked.outcome == "not run":
        yield f"  not run: {checked.why}"
        return
    if checked.outcome == "fail":
        yield f"  FAIL: {checked.why}"
    if found.groups:
        yield f"  {_bits(found)}"
        if found.different and checked.formula is not None:
            yield f"  {standing(checked.formula)}"
        yield f"  {asked(checked)}"
        counts = ", ".join(f"{g.inputs} {_PLACES[g.group]}" for g in found.groups)
        yield f"  inputs: {counts}"
        worst = max(found.groups, key=lambda g: inf if g.worst is None else g.worst)
        within = f"{found.beyond} beyond the bound" if found.beyond else "within the bound"
        place = _PLACES[worst.group]
        far = "infinite" if worst.worst is None else f"{worst.worst:.3g}"
        yield f"  worst distance to the reference: {far}, {place}; {within}"
    if found.proof is not None:
        yield f"  {_proof(found.proof)}"


def _bits(found: Simulated) -> str:
    if not found.different:
        return "agrees bit by bit"
    places = ", ".join(f"{g.different} {_PLACES[g.group]}" for g in found.groups if g.different)
    return f"does not agree bit by bit: {places}"


def _proof(proof: EpilogueProof) -> str:
    codes = f"{proof.codes} codes"
    if proof.codes != proof.possible:
        codes = f"{proof.codes} of {proof.possible} codes"
    beyond = f", {proof.beyond} beyond the bound" if proof.beyond else ""
    return f"proof of the epilogue given U: {codes}, {proof.different} differ{beyond}"


def _whole(whole: Checked) -> Iterator[str]:
    held = "agrees bit by bit"
    if whole.why:
        held += f" with its functions apart; with all nodes apart, {whole.why}, which is not judged"
    said = {
        "pass": held,
        "fail": f"FAIL: {whole.why}",
        "told": f"{whole.why}; not judged, as the bound is that of one decision",
        "not run": f"not run: {whole.why}",
    }
    yield f"the whole program, end to end: {said[whole.outcome]}"
    if whole.witness is not None and whole.witness.absolute:
        yield f"  worst: {sentence(whole.witness)}"
        if whole.formula is not None:
            yield f"  {standing(whole.formula)}"
