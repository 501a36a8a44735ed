"""The function of a path: which it is, whether it is enabled, how it is applied."""

from __future__ import annotations

from fusectl.checks.describe import number
from fusectl.checks.encoding import bounds, same_encoding
from fusectl.checks.limits import PLAIN
from fusectl.checks.registry import Args, Outcomes, check, fail, unknown
from fusectl.match.candidate import Candidate, Role
from fusectl.tables.target_schema import FunctionUse


def function_role(candidate: Candidate) -> Role:
    """Return what plays the function: the consumer, or the operator that its quantisers joined."""
    consumer, told = candidate.consumer, candidate.told_consumer
    return consumer if told is consumer.node else Role(consumer.group, told, held=True)


def function_name(candidate: Candidate) -> tuple[str, str]:
    """Return the name of the function, or an empty one and why it cannot be identified."""
    role = function_role(candidate)
    op = candidate.operators.acts_as(role.op)
    facts = candidate.operators.facts.get(role.op)
    if facts is None or facts.function_of is None:
        return op, ""
    how = facts.function_of
    stated = role.node.attrs.get(how.attribute)
    name = how.names.get(str(stated), str(stated) if not how.names else "")
    if stated is None or not name:
        return "", f"its attribute {how.attribute} is {stated}"
    return name, ""


def function_use(candidate: Candidate) -> FunctionUse | None:
    """Return what the path says about the function; nothing where it says nothing."""
    path = candidate.path
    return (path.functions or {}).get(function_name(candidate)[0]) if path else None


@check(
    "function-enabled", "unsupported-activation", lambda pattern, path: path.functions is not None
)
def function_enabled(candidate: Candidate, args: Args) -> Outcomes:
    """The function is enabled on this path."""
    path = candidate.path
    if path is None or path.functions is None:
        return None
    name, trouble = function_name(candidate)
    label = function_role(candidate).node.label
    if trouble:
        return [unknown(label, f"the function cannot be identified: {trouble}", where=path.span)]
    enabled = ", ".join(path.functions) or "none"
    use = path.functions.get(name)
    layout = candidate.overlay.layouts.get(candidate.value, PLAIN)
    if use is not None and use.layout not in ("", layout):
        observed = f"{name} has this path for the layout {use.layout}; here it is {layout}"
        return [fail(label, observed, f"keep {label}", path.span)]
    if name not in path.functions:
        return [
            fail(
                label,
                f"{name} is not enabled on this path of {candidate.target.id}; enabled: {enabled}",
                f"use one of {enabled} if the model allows it, or keep {label}",
                path.span,
            )
        ]
    return _other_bounds(candidate)


def _other_bounds(candidate: Candidate) -> Outcomes:
    """Hold the bounds of a limit against those that the path has."""
    use, path = function_use(candidate), candidate.path
    if use is None or not use.bounds or path is None:
        return None
    role = function_role(candidate)
    low, high, late = bounds(candidate, role)
    if late or low is None or high is None or (low, high) in use.bounds:
        return None
    shown = ", ".join(f"{number(a)} to {number(b)}" for a, b in use.bounds)
    return [
        fail(
            role.node.label,
            f"{role.op} limits to {number(low)} to {number(high)}; this path has {shown}",
            "use bounds that the machine has, or keep it",
            path.span,
        )
    ]


@check(
    "function-encoding",
    "requantize",
    lambda pattern, path: any(f.encoding == "same" for f in (path.functions or {}).values()),
)
def function_encoding(candidate: Candidate, args: Args) -> Outcomes:
    """A function that does not rescale has one encoding in front of it and behind it."""
    use = function_use(candidate)
    if use is None or use.encoding != "same":
        return None
    return same_encoding(candidate, {"scales": ("xs", "qs"), "zeros": ("xz", "qz")})
