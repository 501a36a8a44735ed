"""Runs a model and its fused form, node by node and as a whole, and says how far they differ."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    Verification,
    Witness,
)
from fusectl.rewrite.parts import parts
from fusectl.rewrite.store import Store
from fusectl.runtime import CannotRun, Session, lacks, open_session, optional, runner
from fusectl.tables.target_schema import Tolerance
from fusectl.verify.compare import Distance, distance, witness
from fusectl.verify.inputs import KINDS, Unfed, open_ended, trials
from fusectl.verify.movement import Fed, Moves, movement
from fusectl.verify.timing import measure

RELATIVE = 1e-4
"""How far a float32 result may lie off where the target promises nothing."""
CODES = 1
_COARSE = {"float16": 2e-2, "bfloat16": 1e-1}
"""Types in which a rounding alone is more than that."""

_FAR = "the results lie too far apart"


@dataclass(frozen=True, slots=True)
class Limits:
    """How far results may lie apart."""

    relative: float
    absolute: float
    codes: int = CODES

    def allow(self, found: Distance, dtype: str) -> bool:
        """Tell whether a distance is allowed between results of a type."""
        coarse = _COARSE.get(dtype, 0.0) if self.relative else 0.0
        relative = max(self.relative, coarse)
        return found.within(relative, self.absolute, self.codes)


def limits(fused: Fused) -> Limits:
    """Return what the target promises, or what is usual for float32."""
    stated = fused.target.equivalence
    if stated == "exact":
        return Limits(0.0, 0.0, 0)
    if isinstance(stated, Tolerance) and (stated.rel or stated.abs):
        return Limits(max(stated.rel, RELATIVE), stated.abs)
    return Limits(RELATIVE, 0.0)


def verify(
    fused: Fused, progress: Callable[[str], None] | None = None, *, timed: bool = False
) -> Verification:
    """Run every fused node against the nodes it replaces, then the whole model.

    ``timed``: measure also how long both sides take. Raises UsageError where no runtime is there.
    """
    if timed and optional() is None:
        raise UsageError("--time needs a runtime: pip install 'fusectl[runtime]'")
    allowed = limits(fused)
    nodes = tuple(_nodes(fused, allowed, progress, timed))
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
        _whole(fused, allowed, nodes, timed),
    )


def _nodes(
    fused: Fused, allowed: Limits, progress: Callable[[str], None] | None, timed: bool
) -> Iterator[Checked]:
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
            fed = list(_fed(session))
            outcome, why, witness = _compare(fed, built.fused, allowed, open_ended(session.inputs))
            if timed and witness is not None:
                timing = measure(built.original, built.fused, fed[0][1])
        except (CannotRun, Unfed) as error:
            outcome, why, witness = "not run", str(error), None
        yield Checked(name, planned.op_type, planned.rules, outcome, why, witness, timing=timing)


def _fed(session: Session) -> Iterator[Fed]:
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


def _compare(
    fed: list[Fed],
    model: bytes | Path,
    allowed: Limits,
    made_up: bool = False,
    moves: Moves | None = None,
) -> tuple[Outcome, str, Witness | None]:
    """Run the fused side on the same inputs.

    ``made_up``: sizes were, so that the fused side may rightly refuse them. ``moves``: how far
    each output may lie off all the same.
    """
    worst: tuple[bool, float, Witness] | None = None
    try:
        session = open_session(model)
    except CannotRun as error:
        return "fail", f"the fused side does not load: {error}", None
    for kind, made, expected in fed:
        try:
            actual = session.run(made)
        except CannotRun as error:
            if made_up:
                return "not run", f"no sizes were found that fit; with others: {error}", None
            return "fail", f"the fused side does not run: {error}", None
        for name, value in expected.items():
            found = distance(value, actual[name])
            if found.why:
                return "fail", f"{name}: {found.why}", None
            wrong = not allowed.allow(found, str(getattr(value, "dtype", "")))
            wrong = wrong and (moves is None or found.relative > moves.get((kind, name), 0.0))
            rank = (wrong, found.absolute if found.whole else found.relative)
            if worst is None or rank > worst[:2]:
                worst = (*rank, witness(name, found, kind))
    if worst is None:
        return "not run", "nothing to compare", None
    return ("fail", _FAR, worst[2]) if worst[0] else ("pass", "", worst[2])


def _whole(fused: Fused, allowed: Limits, nodes: tuple[Checked, ...], timed: bool) -> Checked:
    """Compare the models."""
    name = fused.name
    foreign = {e.domain for e in fused.plan.edits if e.native and lacks(e.domain)}
    if foreign:
        why = f"{runner()} has no operators of {', '.join(sorted(foreign))}"
        return Checked(name, "", (), "not run", why, None)
    if fused.folder is None:
        why = "a model from standard input is compared node by node only"
        return Checked(name, "", (), "not run", why, None)
    with tempfile.TemporaryDirectory(prefix="fusectl-") as folder:
        place = Path(folder) / "fused.onnx"
        try:
            original = _original(name, fused.folder, Path(folder) / "original.onnx")
            fed = list(_fed(open_session(original)))
        except (CannotRun, Unfed) as error:
            return Checked(name, "", (), "not run", f"the original does not run: {error}", None)
        Store(str(place), fused.folder, fused.result.new, True).write(fused.result.model)
        outcome, why, witness = _compare(fed, place, allowed)
        if why == _FAR and all(c.outcome != "fail" for c in nodes):
            outcome, why = _excused(fed, original, place, allowed, nodes)
        timing = measure(original, place, fed[0][1]) if timed and witness is not None else None
    return Checked(name, "", (), outcome, why, witness, timing=timing)


def _excused(
    fed: list[Fed], original: Path, fused: Path, allowed: Limits, nodes: tuple[Checked, ...]
) -> tuple[Outcome, str]:
    """Judge models whose nodes agree, each by itself, and whose results lie too far apart.

    The distance is told and not judged where units of codes may add up to it, and where it is no
    more than what the last bits of inputs and weights do to the original.
    """
    if any(c.witness is not None and c.witness.whole for c in nodes):
        return "told", "as each quantised unit may be off by one code"
    if not _compare(fed, fused, allowed, moves=movement(fed, original))[1]:
        return "told", "as the last bits of inputs and weights move the original's results as far"
    return "fail", _FAR


def _original(name: str, data: Path, place: Path) -> Path:
    """Return a model as a file that runtimes read: they do not read text."""
    if Path(name).suffix == ".onnx":
        return Path(name)
    Store(str(place), data, (), True).write(parse(*read_bytes(name)))
    return place
