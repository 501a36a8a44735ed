"""Equal to the graph as written, or closer to the real-number formula: two things, in words."""

from __future__ import annotations

from collections.abc import Iterable

from fusectl.render.wording import count
from fusectl.report.verification import Checked, FromFormula

_ASKED = {
    "bitwise": "equal bits",
    "bound": "the bound, from the graph as written",
    "reassociate": "the bound, from the real-number formula",
}


_EQUAL = "as close as the graph as written to"


def asked_for(demand: str) -> str:
    """Return which equivalence has to hold."""
    return f"asked for: {demand} ({_ASKED[demand]})"


def asked(checked: Checked) -> str:
    """Return which equivalence had to hold, and which did."""
    held = ", ".join(checked.held) or "none"
    return f"{asked_for(checked.demands)}; holds: {held}"


def standing(found: FromFormula) -> str:
    """Return how results that differ stand to the formula: closer, farther or as close."""
    written, fused = (_number(n) for n in (found.written, found.fused))
    where = f"at worst {fused} off, the graph as written {written}"
    counts = f"closer in {count(found.closer, 'result')}, farther in {found.farther}"
    return f"{_side(found)} the real-number formula: {where}; {counts}"


def _side(found: FromFormula) -> str:
    if found.fused is None or found.written is None or found.fused == found.written:
        return _EQUAL
    return "closer to" if found.fused < found.written else "farther from"


def _number(number: float | None) -> str:
    return "infinitely" if number is None else f"{number:.3g}"


def summary(nodes: Iterable[Checked]) -> str:
    """Return in one line how many are equal, and how the others stand to the formula."""
    ran = [c for c in nodes if c.held or c.outcome in ("pass", "fail")]
    equal = sum("bitwise" in c.held for c in ran)
    others = [c.formula for c in ran if "bitwise" not in c.held]
    if not others:
        return f"equal to the graph as written, bit by bit: {equal} of {len(ran)}"
    sides = [_side(f) for f in others if f is not None]
    told = [
        f"{sides.count(side)} {word}"
        for side, word in (
            ("closer to", "closer"),
            ("farther from", "farther"),
            (_EQUAL, "as close"),
        )
        if side in sides
    ]
    if len(sides) < len(others):
        told.append(f"{len(others) - len(sides)} not known")
    return (
        f"equal to the graph as written, bit by bit: {equal} of {len(ran)}; the others, from the "
        f"real-number formula: {', '.join(told)}"
    )
