"""Runs a model and its fused form, node by node and as a whole, and says how far they differ."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from fusectl import __version__
from fusectl.errors import UsageError
from fusectl.graph.read import parse, read_bytes
from fusectl.pipeline import Fused
from fusectl.report.types import Tool
from fusectl.report.verification import (
    VERIFICATION_SCHEMA,
    Checked,
    Outcome,
    Timing,
    Verification,
)
from fusectl.rewrite.parts import parts
from fusectl.rewrite.store import Store
from fusectl.runtime import CannotRun, lacks, open_session, optional, runner
from fusectl.runtime.formula import Formula
from fusectl.tables.target_schema import Demand
from fusectl.verify.formula import Exact, formula_of_file
from fusectl.verify.inputs import Unfed, open_ended
from fusectl.verify.limits import limits
from fusectl.verify.movement import Fed, movement
from fusectl.verify.sides import FAR, Comparison, Sides, fed_by
from fusectl.verify.timing import measure


def verify(
    fused: Fused,
    progress: Callable[[str], None] | None = None,
    *,
    demand: Demand | None = None,
    timed: bool = False,
) -> Verification:
    """Run every fused node against the nodes it replaces, then the whole model.

    ``demand`` says what has to hold; None: what the target asks for, else its bound. ``timed``:
    measure also how long both sides take. Raises UsageError where no runtime is there.
    """
    if timed and optional() is None:
        raise UsageError("--time needs a runtime: pip install 'fusectl[runtime]'")
    asked: Demand = demand or fused.target.equivalence.ask or "bound"
    allowed = limits(fused.target.equivalence)
    sides = Sides(allowed, asked)
    nodes = tuple(_nodes(fused, sides, progress, timed))
    if progress is not None:
        progress("the whole model")
    return Verification(
        VERIFICATION_SCHEMA,
        Tool("fusectl", __version__),
        fused.plan.model,
        fused.plan.target,
        runner(),
        allowed.relative,
        allowed.absolute,
        allowed.codes,
        nodes,
        _whole(fused, sides, nodes, timed),
    )


def _nodes(
    fused: Fused, sides: Sides, progress: Callable[[str], None] | None, timed: bool
) -> Iterator[Checked]:
    asked = sides.demand == "reassociate"
    edits = [e for r in fused.result.rounds for e in r.edits]
    for edit, planned in zip(edits, fused.plan.edits, strict=True):
        name = planned.name or planned.outputs[0]
        if progress is not None:
            progress(name)
        timing = None
        try:
            if edit.native and lacks(planned.domain):
                raise CannotRun(f"{runner()} has no operators of {planned.domain}")
            built = parts(edit, fused.result.model)
            session = open_session(built.original)
            fed = list(fed_by(session))
            found = sides.compare(
                fed,
                built.fused,
                Exact(cache(partial(Formula, built.original)), asked),
                made_up=open_ended(session.inputs),
            )
            if timed and found.witness is not None:
                timing = measure(built.original, built.fused, fed[0][1])
        except (CannotRun, Unfed) as error:
            found = Comparison("not run", str(error))
        yield _checked(name, planned.op_type, planned.rules, found, sides.demand, timing)


def _checked(
    name: str,
    op_type: str,
    rules: tuple[str, ...],
    found: Comparison,
    demand: Demand,
    timing: Timing | None = None,
) -> Checked:
    return Checked(
        name,
        op_type,
        rules,
        found.outcome,
        found.why,
        found.witness,
        demand,
        found.held,
        found.formula,
        timing=timing,
    )


def _whole(fused: Fused, sides: Sides, nodes: tuple[Checked, ...], timed: bool) -> Checked:
    """Compare the models."""
    name, found, timing = fused.name, None, None
    foreign = {e.domain for e in fused.plan.edits if e.native and lacks(e.domain)}
    if foreign:
        why = f"{runner()} has no operators of {', '.join(sorted(foreign))}"
        return _checked(name, "", (), Comparison("not run", why), sides.demand)
    if fused.folder is None:
        why = "a model from standard input is compared node by node only"
        return _checked(name, "", (), Comparison("not run", why), sides.demand)
    with tempfile.TemporaryDirectory(prefix="fusectl-") as folder:
        place = Path(folder) / "fused.onnx"
        try:
            original = _original(name, fused.folder, Path(folder) / "original.onnx")
            fed = list(fed_by(open_session(original)))
        except (CannotRun, Unfed) as error:
            why = f"the original does not run: {error}"
            return _checked(name, "", (), Comparison("not run", why), sides.demand)
        Store(str(place), fused.folder, fused.result.new, True).write(fused.result.model)
        exact = Exact(cache(partial(formula_of_file, name)), sides.demand == "reassociate")
        found = sides.compare(fed, place, exact)
        if found.why == FAR and all(c.outcome != "fail" for c in nodes):
            outcome, why = _excused(fed, original, place, sides, nodes)
            found = replace(found, outcome=outcome, why=why)
        if timed and found.witness is not None:
            timing = measure(original, place, fed[0][1])
    return _checked(name, "", (), found, sides.demand, timing)


def _excused(
    fed: list[Fed], original: Path, fused: Path, sides: Sides, nodes: tuple[Checked, ...]
) -> tuple[Outcome, str]:
    """Judge models whose nodes agree, each by itself, and whose results lie too far apart.

    The distance is told and not judged where units of codes may add up to it, and where it is no
    more than what the last bits of inputs and weights do to the original.
    """
    if any(c.witness is not None and c.witness.whole for c in nodes):
        return "told", "as each quantised unit may be off by one code"
    if not sides.compare(fed, fused, moves=movement(fed, original)).why:
        return "told", "as the last bits of inputs and weights move the original's results as far"
    return "fail", FAR


def _original(name: str, data: Path, place: Path) -> Path:
    """Return a model as a file that runtimes read: they do not read text."""
    if Path(name).suffix == ".onnx":
        return Path(name)
    Store(str(place), data, (), True).write(parse(*read_bytes(name)))
    return place
