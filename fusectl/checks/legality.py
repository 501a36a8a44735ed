"""Facts without which a rule's replacement would be another function."""

from __future__ import annotations

from math import prod

import numpy as np

from fusectl.checks.describe import constant, types
from fusectl.checks.parameters import parameter
from fusectl.checks.registry import Args, Outcome, Outcomes, check, fail, runtime, unknown
from fusectl.graph.constants import Unreadable
from fusectl.graph.types import fits_into
from fusectl.match.candidate import Candidate, Role

_FLOATS = ("float16", "float32", "float64", "bfloat16")


def _one(args: Args, name: str) -> str:
    value = args[name]
    return value if isinstance(value, str) else value[0]


def _role(candidate: Candidate, args: Args, name: str) -> Role | None:
    return candidate.role_of(_one(args, name))


@check("constants-fit", "shape", takes=("into",))
def constants_fit(candidate: Candidate, args: Args) -> Outcomes:
    """The constants of the pattern do not make the value larger."""
    overlay = candidate.overlay
    host = candidate.bound.get(_one(args, "into"), "")
    found: list[Outcome] = []
    for name, fact in candidate.pattern.where.items():
        value = candidate.bound.get(name, "")
        if fact.const is None or not value or not host:
            continue
        small, big = overlay.type_of(value).dims, overlay.type_of(host).dims
        verdict = fits_into(small, big)
        if verdict:
            continue
        seen = f"{value} {types(overlay, value)}, {host} {types(overlay, host)}"
        if verdict is None:
            found.append(unknown(value, seen, f"give {value} and {host} known shapes"))
        else:
            found.append(
                fail(value, f"{seen}: the result is larger than {host}", f"make {value} a scalar")
            )
    return found or None


@check("floating", "inexact", takes=("of",))
def floating(candidate: Candidate, args: Args) -> Outcomes:
    """The values are floating point: integers round in between."""
    value = candidate.bound.get(_one(args, "of"), "")
    dtype = candidate.overlay.type_of(value).dtype if value else ""
    if not dtype or dtype in _FLOATS:
        return None
    return [
        fail(
            value,
            f"{value} is {dtype}, which rounds between the operators",
            "keep the operators apart, or compute in floating point",
        )
    ]


@check("same-axes", "attribute", takes=("a", "b"))
def same_axes(candidate: Candidate, args: Args) -> Outcomes:
    """The two reductions are taken over the same axes."""
    a, b = _role(candidate, args, "a"), _role(candidate, args, "b")
    if a is None or b is None:
        return None
    overlay = candidate.overlay
    known = (overlay.type_of(r.inputs[0]).dims for r in (a, b))
    rank = next((len(d) for d in known if d is not None), 0)
    first, second = (_axes(candidate, r, rank) for r in (a, b))
    mixed = any(x < 0 for x in (*first, *second)) and any(x >= 0 for x in (*first, *second))
    if first == second or (not rank and mixed):
        return None  # over which axes, where the rank is not known, is another check's finding
    shown = f"{a.node.label} {list(first)}, {b.node.label} {list(second)}"
    help = "normalise over one set of axes, or keep them apart"
    return [fail(b.node.label, f"axes differ: {shown}", help)]


def _axes(candidate: Candidate, role: Role, rank: int) -> tuple[int, ...]:
    stated = parameter(candidate.overlay, role, "axes").value
    if stated is None:
        return tuple(range(rank))
    raw = [int(a) for a in stated] if isinstance(stated, tuple) else [int(str(stated))]
    return tuple(sorted(a % rank if rank else a for a in raw))


@check("inference-mode", "attribute", takes=("node",))
def inference_mode(candidate: Candidate, args: Args) -> Outcomes:
    """The normalisation uses stored statistics, one per channel."""
    role = _role(candidate, args, "node")
    if role is None or role.op != "BatchNormalization":
        return None  # of several operators that may stand here, one is a normalisation
    overlay, label = candidate.overlay, role.node.label
    opset = overlay.view.opset("")
    trains = ""
    if opset >= 14:
        mode = parameter(overlay, role, "training_mode").value
        trains = "training_mode is 1" if mode else ""
    elif opset >= 7:
        more = [o for o in role.node.outputs[1:] if o]
        trains = f"it has {1 + len(more)} outputs, which means training" if more else ""
    elif not role.node.attrs.get("is_test"):
        trains = "is_test is not 1"
    if trains:
        return [fail(label, trains, "export the model in inference mode")]
    if role.node.attrs.get("spatial", 1) == 0:
        return [fail(label, "spatial is 0: the statistics are per element, not per channel")]
    return None


@check("bounds-known", "not-constant")
def bounds_known(candidate: Candidate, args: Args) -> Outcomes:
    """The bounds of a limit that is taken as a function are constants."""
    consumer = candidate.consumer
    if consumer.op not in candidate.operators.limits():
        return None
    found = []
    for name in ("min", "max"):
        known = parameter(candidate.overlay, consumer, name)
        if known.runtime:
            found.append(runtime(consumer.node.label, f"its {name}", known.runtime))
    return found or None


@check("bias-scale", "requantize", takes=("bias", "x", "w"))
def bias_scale(candidate: Candidate, args: Args) -> Outcomes:
    """The bias has the scale of the accumulator: input scale times weight scale."""
    names = [_one(args, n) for n in ("bias", "x", "w")]
    values = [candidate.bound.get(n, "") for n in names]
    if not all(values):
        return None
    try:
        bias, x, w = (candidate.overlay.array(v).astype(np.float64).reshape(-1) for v in values)
    except (Unreadable, KeyError):
        return None  # that they are not constant is another check's finding
    wanted = x * w if x.size == 1 or x.size == w.size else x[:1] * w
    if bias.size not in (1, wanted.size) or not np.allclose(bias, wanted, rtol=1e-3, atol=0):
        shown = constant(candidate.overlay, values[0])
        product = f"{wanted[0]:.7g}" if wanted.size == 1 else f"{wanted.size} products"
        return [
            fail(
                values[0],
                f"the scale of the bias is {shown}, input scale times weight scale is {product}",
                "quantise the bias to int32 with the product of the two scales",
            )
        ]
    return None


@check("channel-scale", "attribute", takes=("weight", "reader"))
def channel_scale(candidate: Candidate, args: Args) -> Outcomes:
    """A scale per axis runs along the output channels of the weight, unblocked."""
    role, reader = _role(candidate, args, "weight"), _role(candidate, args, "reader")
    if role is None or reader is None or len(role.inputs) < 2:
        return None
    overlay, label = candidate.overlay, role.node.label
    if role.node.attrs.get("block_size"):
        return [fail(label, "its scale is blocked", "use one scale per output channel")]
    scale = overlay.type_of(role.inputs[1]).dims
    if scale is None or prod(d for d in scale if isinstance(d, int)) == 1:
        return None
    dims = overlay.type_of(role.inputs[0]).dims
    rank = len(dims) if dims else 0
    axis = parameter(overlay, role, "axis").value
    actual = (axis if isinstance(axis, int) else 1) % rank if rank else axis
    wanted = _channel_axis(candidate, reader, rank)
    if actual == wanted:
        return None
    return [
        fail(
            label,
            f"its scale runs along axis {actual} of {types(overlay, role.inputs[0])}, the output "
            f"channels are axis {wanted}",
            f"quantise the weight along axis {wanted}",
        )
    ]


def _channel_axis(candidate: Candidate, reader: Role, rank: int) -> int:
    op = candidate.operators.acts_as(reader.op)
    if op == "Conv":
        return 0
    if op == "Gemm" and candidate.overlay.attr(reader.group, "transB"):
        return 0
    return rank - 1


@check(
    "casts-stay-floating",
    "cast",
    lambda pattern, path: any("Cast" in node.ops for node in pattern.nodes),
)
def casts_stay_floating(candidate: Candidate, args: Args) -> Outcomes:
    """A Cast inside the pattern goes to a floating-point type."""
    found = []
    for role in candidate.roles:
        if role is None or role.op != "Cast":
            continue
        made = candidate.overlay.type_of(role.outputs[0]).dtype
        if made and made not in _FLOATS:
            help = "an integer in between rounds: keep it"
            found.append(fail(role.node.label, f"it goes to {made}", help))
    return found or None
