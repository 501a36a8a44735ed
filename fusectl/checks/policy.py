"""Equivalence, cost and configuration."""

from __future__ import annotations

from fusectl.checks.registry import Args, Outcomes, check, fail, unknown
from fusectl.match.candidate import Candidate


@check("equivalence", "inexact", needs="asked")
def equivalence(candidate: Candidate, args: Args) -> Outcomes:
    """The fused form keeps the equivalence that is asked for."""
    if candidate.equivalence != "bitwise" or candidate.numerics == "exact":
        return None
    return [
        fail(
            candidate.consumer.node.label,
            "equal bit by bit is asked for; this fusion computes its constants anew and rounds "
            "differently",
            "ask for an error bound instead, or keep the pair",
        )
    ]


@check("profitable", "not-profitable", lambda pattern, path: path.profit is not None)
def profitable(candidate: Candidate, args: Args) -> Outcomes:
    """The target's cost model gains by it."""
    profit = candidate.path.profit if candidate.path else None
    if profit is None or not profit.min_elements:
        return None
    known = candidate.overlay.type_of(candidate.value)
    if known.static is None:
        return [unknown(candidate.value, f"{candidate.value} {known}", "give it a static shape")]
    size = 1
    for dim in known.static:
        size *= dim
    if size >= profit.min_elements:
        return None
    return [
        fail(
            candidate.value,
            f"{candidate.value} has {size} elements; the target fuses from "
            f"{profit.min_elements} on",
            "legal and supported: nothing is wrong with the model",
        )
    ]


@check("enabled", "disabled", needs="asked")
def enabled(candidate: Candidate, args: Args) -> Outcomes:
    """The rule is not switched off for this run."""
    if not candidate.off:
        return None
    return [fail(candidate.rule.id, "switched off for this run", "run without --skip")]


@check("path-enabled", "disabled", lambda pattern, path: bool(path.disabled))
def path_enabled(candidate: Candidate, args: Args) -> Outcomes:
    """The target's file does not switch the path off."""
    path = candidate.path
    if path is None or not path.disabled:
        return None
    return [fail(candidate.rule.id, path.disabled, "enable it in the target's file", path.span)]
