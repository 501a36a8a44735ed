"""Reductions: over which axes, and whether the axes stay."""

from __future__ import annotations

from fusectl.checks.parameters import parameter
from fusectl.checks.registry import Outcome, fail, runtime, unknown
from fusectl.match.candidate import Candidate, Role


def axes_outcomes(candidate: Candidate, role: Role, only_last: bool) -> list[Outcome]:
    """Hold a reduction against "over the last axes" or "over the last axis alone"."""
    overlay, label = candidate.overlay, role.node.label
    if not role.node.op_type.startswith("Reduce"):
        return _single_axis(candidate, role)
    found: list[Outcome] = []
    if parameter(overlay, role, "noop_with_empty_axes").value and not _states_axes(role):
        return [fail(label, "noop_with_empty_axes is 1 and no axes are given: it reduces nothing")]
    keepdims = parameter(overlay, role, "keepdims").value
    if keepdims == 0:
        found.append(
            fail(
                label,
                "keepdims is 0, so the next operator broadcasts along another axis",
                f"set keepdims to 1 on {label}",
            )
        )
    axes = parameter(overlay, role, "axes")
    if axes.runtime:
        return [*found, runtime(label, "axes", axes.runtime)]
    if axes.trouble:
        return [*found, unknown(label, f"axes: {axes.trouble}", "make the data readable")]
    dims = overlay.type_of(role.inputs[0]).dims
    stated = axes.value
    if stated is None:
        if only_last and dims is not None and len(dims) > 1:
            found.append(fail(label, "axes is empty: it reduces over everything"))
        elif dims is None:
            found.append(unknown(label, "axes is empty and the rank is not known"))
        return found
    raw = [int(a) for a in stated] if isinstance(stated, tuple) else [int(str(stated))]
    return found + _axes(label, raw, dims, only_last)


def _axes(
    label: str, raw: list[int], dims: tuple[object, ...] | None, only_last: bool
) -> list[Outcome]:
    help = "normalise over the last axes: transpose beforehand if another axis is meant"
    if dims is None:
        if all(a < 0 for a in raw):
            wanted = list(range(-len(raw), 0))
            good = sorted(raw) == wanted and (len(raw) == 1 or not only_last)
            return [] if good else [fail(label, f"axes is {raw}, needed are the last ones", help)]
        return [unknown(label, f"axes is {raw} and the rank is not known", "add its shape")]
    rank = len(dims)
    axes = sorted(a % rank for a in raw) if rank else []
    if axes == list(range(rank - len(axes), rank)) and (len(axes) == 1 or not only_last):
        return []
    last = "is the last one, [-1]" if only_last else "are the last ones"
    return [fail(label, f"axes is {raw} of rank {rank}, needed {last}", help)]


def _states_axes(role: Role) -> bool:
    return "axes" in role.node.attrs or (len(role.inputs) > 1 and bool(role.inputs[1]))


def _single_axis(candidate: Candidate, role: Role) -> list[Outcome]:
    """Hold the axis of a Softmax or normalisation against the last one."""
    label = role.node.label
    axis = parameter(candidate.overlay, role, "axis").value
    dims = candidate.overlay.type_of(role.inputs[0]).dims
    if not isinstance(axis, int) or axis == -1:
        return []
    if dims is None:
        return [unknown(label, f"axis is {axis} and the rank is not known", "add its shape")]
    if axis % len(dims) == len(dims) - 1:
        return []
    return [fail(label, f"axis is {axis} of rank {len(dims)}, needed is the last")]
