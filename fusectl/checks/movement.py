"""Transposes and pads that another operator can do by itself."""

from __future__ import annotations

from fusectl.checks.neighbours import makers
from fusectl.checks.parameters import parameter
from fusectl.checks.registry import Args, Outcomes, check, fail, runtime, unknown
from fusectl.match.candidate import Candidate, Role


def _role(candidate: Candidate, args: Args, name: str) -> Role | None:
    value = args[name]
    return candidate.role_of(value if isinstance(value, str) else value[0])


@check("swaps-last-two", "attribute", takes=("node",))
def swaps_last_two(candidate: Candidate, args: Args) -> Outcomes:
    """The permutation exchanges the last two axes and moves nothing else."""
    role = _role(candidate, args, "node")
    if role is None:
        return None
    perm = parameter(candidate.overlay, role, "perm").value
    if not isinstance(perm, tuple):
        dims = candidate.overlay.type_of(role.inputs[0]).dims
        if dims is None:
            return [unknown(role.node.label, "perm is the default and the rank is not known")]
        perm = tuple(reversed(range(len(dims))))
    rank = len(perm)
    wanted = (*range(rank - 2), rank - 1, rank - 2) if rank > 1 else ()
    if tuple(int(p) for p in perm) == wanted:
        return None
    shown = ", ".join(str(int(p)) for p in perm)
    return [
        fail(
            role.node.label,
            f"perm is [{shown}], allowed is [{', '.join(map(str, wanted))}]",
            "move the other axes beforehand, so that only the last two are exchanged here",
        )
    ]


@check("not-swapped", "layout", takes=("values",))
def not_swapped(candidate: Candidate, args: Args) -> Outcomes:
    """No Transpose of the last two axes, which the product would take over, makes the operands."""
    found = []
    for value, maker in makers(candidate, args["values"], "Transpose"):
        perm = candidate.overlay.attr(maker, "perm")
        if isinstance(perm, tuple) and list(perm) == [*range(len(perm) - 2), *_swapped(perm)]:
            found.append(
                fail(
                    maker.label,
                    f"{maker.label} exchanges the last two axes, which the product does by itself",
                    f"compute {value} in this layout, or keep it",
                )
            )
    return found or None


def _swapped(perm: tuple[object, ...]) -> tuple[int, ...]:
    return (len(perm) - 1, len(perm) - 2) if len(perm) > 1 else ()


@check("pads-spatial", "attribute", takes=("node",))
def pads_spatial(candidate: Candidate, args: Args) -> Outcomes:
    """Only spatial axes are padded, and none is cropped."""
    role = _role(candidate, args, "node")
    if role is None:
        return None
    label = role.node.label
    stated = parameter(candidate.overlay, role, "axes")
    if stated.runtime:
        return [runtime(label, "axes", stated.runtime)]
    axes = stated.value
    found = parameter(candidate.overlay, role, "pads")
    if found.runtime:
        return [runtime(label, "pads", found.runtime)]
    if found.trouble or not isinstance(found.value, tuple):
        return [unknown(label, f"pads: {found.trouble or 'not known'}")]
    pads = [int(p) for p in found.value]
    half = len(pads) // 2
    padded = [int(a) for a in axes] if isinstance(axes, tuple) else list(range(half))
    rank = len(candidate.overlay.type_of(role.inputs[0]).dims or ()) or half
    outer = {a % rank for i, a in enumerate(padded) if (pads[i] or pads[i + half]) and a % rank < 2}
    if not outer and min(pads, default=0) >= 0:
        return None
    what = " and ".join(("batch", "channel")[a] for a in sorted(outer)) or "a crop"
    return [
        fail(
            label,
            f"pads is {pads}: it pads {what}" if outer else f"pads is {pads}: it crops",
            "pad height and width only; do the rest in a node of its own",
        )
    ]


_NEUTRAL = {"MaxPool": float("-inf")}


@check("pad-value", "constant-value", takes=("node", "reader"))
def pad_value(candidate: Candidate, args: Args) -> Outcomes:
    """The padding value is the one that the reader pads with."""
    role, reader = _role(candidate, args, "node"), _role(candidate, args, "reader")
    if role is None or reader is None:
        return None
    overlay, label = candidate.overlay, role.node.label
    found = parameter(overlay, role, "constant_value")
    stated = role.node.attrs.get("value", 0.0)
    if found.runtime:
        return [runtime(label, "the padding value", found.runtime)]
    if found.trouble:
        return [unknown(label, f"the padding value: {found.trouble}", "make the data readable")]
    actual = stated if found.value is None else found.value
    value = float(str(actual[0] if isinstance(actual, tuple) else actual))
    wanted = _NEUTRAL.get(candidate.operators.acts_as(reader.op), 0.0)
    if reader.op == "AveragePool" and not overlay.view.attr(reader.node, "count_include_pad"):
        return [
            fail(
                label,
                f"{reader.node.label} averages without counting its own padding",
                f"set count_include_pad to 1 on {reader.node.label} if that is what is meant",
            )
        ]
    if value == wanted or (wanted < 0 and value <= -3.4e38):
        return None
    return [
        fail(
            label,
            f"it pads with {value:g}, {reader.node.label} would pad with {wanted:g}",
            "another padding value is another function: keep it",
        )
    ]


@check("rotates-halves", "attribute", takes=("first", "second", "joined", "of"))
def rotates_halves(candidate: Candidate, args: Args) -> Outcomes:
    """The two parts are the first and the second half of the last axis, joined along it."""
    overlay = candidate.overlay
    first, second = _role(candidate, args, "first"), _role(candidate, args, "second")
    joined, whole = _role(candidate, args, "joined"), candidate.bound.get(str(args["of"]), "")
    if first is None or second is None or joined is None:
        return None
    dims = overlay.type_of(whole).dims
    if not dims or not isinstance(dims[-1], int):
        return [unknown(whole, f"the last axis of {whole} is not known", "give it a static shape")]
    label, half, last = joined.node.label, dims[-1] // 2, len(dims) - 1
    if dims[-1] % 2:
        return [fail(whole, f"the last axis of {whole} has {dims[-1]} elements: no halves")]
    axis = parameter(overlay, joined, "axis").value
    if not isinstance(axis, int) or axis % len(dims) != last:
        return [fail(label, f"it joins along axis {axis}, needed is the last")]
    if first.node is second.node:
        cut = parameter(overlay, first, "axis").value
        sizes = [overlay.type_of(o).dims for o in first.outputs[:2]]
        even = all(s is not None and s[-1] == half for s in sizes)
        good = isinstance(cut, int) and cut % len(dims) == last and even
        return (
            None if good else [fail(first.node.label, f"it does not split axis {last} in halves")]
        )
    for role, wanted in ((first, (0, half)), (second, (half, dims[-1]))):
        found = _slice(candidate, role)
        if found is None:
            return [unknown(role.node.label, "starts and ends are not known", "make them constant")]
        start, end, cut = found
        if (start, min(end, dims[-1])) != wanted or cut % len(dims) != last:
            return [fail(role.node.label, f"it takes [{start}, {end}) of axis {cut}, not a half")]
    return None


def _slice(candidate: Candidate, role: Role) -> tuple[int, int, int] | None:
    """Return start, end and axis of a Slice of one axis with step 1."""
    values = []
    for name in ("starts", "ends", "axes"):
        found = parameter(candidate.overlay, role, name).value
        if isinstance(found, tuple) and len(found) == 1:
            found = found[0]
        if not isinstance(found, int):
            return None
        values.append(found)
    steps = parameter(candidate.overlay, role, "steps").value
    if steps is not None and steps not in (1, (1,)):
        return None
    return values[0], values[1], values[2]
