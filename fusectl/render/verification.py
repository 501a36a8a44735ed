"""What ``verify`` found, for people: the worst first."""

from __future__ import annotations

from collections.abc import Iterator

from fusectl.render.equivalence import asked_for, standing, summary
from fusectl.render.simulated import simulated_lines
from fusectl.render.witness import sentence
from fusectl.report.verification import Checked, Times, Verification, Witness

_SHOWN = 10


def verification_lines(found: Verification) -> Iterator[str]:
    """Yield the lines of a verification."""
    if found.programs:
        yield from simulated_lines(found)
        return
    nodes = found.nodes
    ran = [c for c in nodes if c.outcome in ("pass", "fail")]
    yield f"{found.model.path}: {len(nodes)} fused, run by {found.runtime}"
    if found.whole.demands != "bound":
        yield asked_for(found.whole.demands)
    codes = f"{found.codes} code{'' if found.codes == 1 else 's'}"
    absolute = f" or {found.absolute:g}" if found.absolute else ""
    yield f"allowed: {found.relative:g} relative{absolute} in float32, {codes} in whole numbers"
    if ran or not nodes:
        yield f"{sum(c.outcome == 'pass' for c in ran)} of {len(ran)} agree"
        if ran:
            yield summary(ran)
    else:
        yield "none of them was run by itself"
    failed = [c for c in nodes if c.outcome == "fail"]
    for checked in failed[:_SHOWN]:
        yield from _failure(checked)
    if len(failed) > _SHOWN:
        yield f"  and {len(failed) - _SHOWN} more"
    worst = max(
        (c for c in ran if c.witness is not None and c.outcome == "pass"),
        key=lambda c: _size(c.witness),
        default=None,
    )
    if worst is not None and worst.witness is not None and not failed:
        yield f"worst: {_named(worst)}: {sentence(worst.witness)}"
    skipped = [c for c in nodes if c.outcome == "not run"]
    if skipped:
        yield f"not run by itself: {len(skipped)}, such as {_named(skipped[0])}: {skipped[0].why}"
    yield from _whole(found.whole)
    yield from _times(found)


def _times(found: Verification) -> Iterator[str]:
    """Yield how long both sides take: the longest node first, the whole model last."""
    timed = [c for c in found.nodes if c.timing is not None]
    timed.sort(key=lambda c: -c.timing.before.median if c.timing is not None else 0.0)
    whole = [found.whole] if found.whole.timing is not None else []
    if not timed and not whole:
        return
    yield ""
    yield "time of one run, original -> fused: median, and where the middle half of all runs lies"
    yield f"{found.runtime}, one thread, optimisations off, both sides in turns"
    lines = [(_named(c), c.timing) for c in timed] + [("the whole model", c.timing) for c in whole]
    for name, timing in lines:
        if timing is not None:
            faster = timing.before.median / timing.after.median
            yield f"  {name}"
            yield f"    {_span(timing.before)} -> {_span(timing.after)}, {faster:.2f} times as fast"


def _span(times: Times) -> str:
    unit, factor = ("ms", 1e3) if times.median >= 1e-3 else ("us", 1e6)
    low, median, high = (_three(v * factor) for v in (times.low, times.median, times.high))
    return f"{median} {unit} ({low} to {high})"


def _three(number: float) -> str:
    """Return a number with three digits, or with all in front of its point."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def _size(witness: Witness | None) -> float:
    return 0.0 if witness is None else witness.relative


def _failure(checked: Checked) -> Iterator[str]:
    yield f"  FAIL {_named(checked)}: {checked.why}"
    if checked.witness is not None:
        yield f"       {sentence(checked.witness)}"
    if checked.formula is not None and "bitwise" not in checked.held:
        yield f"       {standing(checked.formula)}"


def _named(checked: Checked) -> str:
    rules = f" by {' + '.join(checked.rules)}" if checked.rules else ""
    return f"{checked.name} ({checked.op_type}){rules}"


def _whole(whole: Checked) -> Iterator[str]:
    if whole.outcome == "not run":
        yield f"the whole model: not run: {whole.why}"
        return
    told = f": {sentence(whole.witness)}" if whole.witness is not None else ""
    said = {
        "pass": "agrees",
        "fail": f"FAIL, {whole.why}",
        "told": f"not judged, {whole.why}",
    }
    yield f"the whole model: {said[whole.outcome]}{told}"
    if whole.formula is not None and "bitwise" not in whole.held:
        yield f"  {standing(whole.formula)}"
