"""Whether shapes correspond, as legality asks; three-valued."""

from __future__ import annotations

from fusectl.checks.describe import types
from fusectl.checks.registry import Args, Outcomes, check, fail, names, unknown
from fusectl.graph.types import Dim, fits_into, same_dims
from fusectl.match.candidate import Candidate
from fusectl.tables.schema import Value

_STEPS = 3
"""Sums and products behind an operand that are asked for their shape."""
_MATRIX = ("MatMul", "MatMulInteger")
"""Products whose second operand has the columns of the result."""


def _arg(args: Args, name: str, default: str) -> str:
    value: Value = args.get(name, default)
    return value if isinstance(value, str) else value[0]


def read_value(candidate: Candidate) -> str:
    """Return the value that the consumer reads: the producer's, or the last one between."""
    return candidate.between[-1].group.outputs[0] if candidate.between else candidate.value


@check("fits", "shape", takes=("operand?", "into?"))
def fits(candidate: Candidate, args: Args) -> Outcomes:
    """The operand broadcasts into the product without making it larger."""
    operand = candidate.bound.get(_arg(args, "operand", "b"), "")
    into = _arg(args, "into", candidate.pattern.edge)
    host = candidate.bound.get(into, "")
    if into == candidate.pattern.edge:
        host = read_value(candidate)
    if not operand or not host:
        return None
    overlay = candidate.overlay
    small, big = overlay.type_of(operand).dims, overlay.type_of(host).dims
    verdict = fits_into(small, big)
    if verdict is None and (
        _result_says_so(candidate, operand, big) or _one_per_column(candidate, small)
    ):
        return None
    seen = f"{operand} {types(overlay, operand)}, {host} {types(overlay, host)}"
    if verdict is None:
        return [unknown(operand, seen, f"give {operand} and {host} known shapes")]
    if verdict:
        return None
    return [
        fail(
            operand,
            f"{seen}: the result is larger than {host}",
            f"bring {operand} to a shape that broadcasts into {host}",
        )
    ]


def _result_says_so(candidate: Candidate, operand: str, host: tuple[Dim, ...] | None) -> bool:
    """Tell whether arithmetic on the operand has a result with the shape of the host.

    No broadcast makes a result smaller than an operand, so the operand fits into that.
    """
    overlay, arithmetic = candidate.overlay, candidate.operators.expand("Arithmetic")
    values = [operand]
    for _ in range(_STEPS):
        readers = [g for v in values for g, _ in overlay.users(v) if g.op in arithmetic]
        values = [g.outputs[0] for g in readers]
        if any(same_dims(overlay.type_of(v).dims, host) for v in values):
            return True
    return False


def _one_per_column(candidate: Candidate, dims: tuple[Dim, ...] | None) -> bool:
    """Tell whether an operand has one value per column of the product, whatever its rank is.

    The columns are those of the second operand, and the last axis of the result.
    """
    producer = candidate.producer
    if candidate.operators.acts_as(producer.op) not in _MATRIX or len(producer.inputs) < 2:
        return False
    weight = candidate.overlay.type_of(producer.inputs[1]).dims
    if not weight or len(weight) < 2 or dims is None:
        return False
    return dims == weight[-1:] and isinstance(weight[-1], int)


@check("same-shape", "shape", takes=("a?", "b?"))
def same_shape(candidate: Candidate, args: Args) -> Outcomes:
    """The two operands have the same shape."""
    overlay = candidate.overlay
    a = candidate.bound.get(_arg(args, "a", "a"), "")
    b = candidate.bound.get(_arg(args, "b", "b"), "")
    if not a or not b:
        return None
    verdict = same_dims(overlay.type_of(a).dims, overlay.type_of(b).dims)
    seen = f"{a} {types(overlay, a)}, {b} {types(overlay, b)}"
    if verdict is None:
        return [unknown(b, seen, f"give {a} and {b} known shapes")]
    return (
        None if verdict else [fail(b, f"{seen}: broadcast", f"expand {b} beforehand, or keep it")]
    )


@check("same-elements", "shape")
def same_elements(candidate: Candidate, args: Args) -> Outcomes:
    """The consumer makes one element for each element of the intermediate value."""
    overlay = candidate.overlay
    source, made = read_value(candidate), candidate.consumer.outputs[0]
    operands = [v for i, v in enumerate(candidate.consumer.inputs) if v and i != candidate.slot]
    if not operands:
        return None  # one input, elementwise: nothing can change the shape
    if all(overlay.type_of(v).dims in ((), (1,)) for v in operands):
        return None
    before, after = overlay.type_of(source).dims, overlay.type_of(made).dims
    verdict = same_dims(before, after)
    if verdict is None:
        verdict = (
            True if all(fits_into(overlay.type_of(v).dims, before) for v in operands) else None
        )
    seen = f"{source} {types(overlay, source)}, {made} {types(overlay, made)}"
    if verdict is None:
        return [unknown(made, seen, f"give {made} a known shape")]
    return None if verdict else [fail(made, f"{seen}: a broadcast expands the result")]


@check("matrix-sizes", "unsupported-shape", takes=("values", "rows#", "columns#"))
def matrix_sizes(candidate: Candidate, args: Args) -> Outcomes:
    """The matrices have no more rows and columns than this path takes."""
    rows, columns, found = int(str(args["rows"])), int(str(args["columns"])), []
    for name in names(args["values"]):
        value = candidate.bound.get(name, "")
        if not value:
            continue
        seen = f"{value} {types(candidate.overlay, value)}"
        dims = candidate.overlay.type_of(value).dims
        height, width = dims[-2:] if dims is not None and len(dims) > 1 else (None, None)
        if not isinstance(height, int) or not isinstance(width, int):
            found.append(unknown(value, seen, f"give {value} a known shape"))
        elif height > rows or width > columns:
            taken = f"up to {rows} rows and {columns} columns"
            found.append(fail(value, f"{seen}; this path takes {taken}", "keep them apart"))
    return found or None


@check("open-shape", "unsupported-shape", takes=("values",))
def open_shape(candidate: Candidate, args: Args) -> Outcomes:
    """A dimension of one of the values is open."""
    known = [v for n in names(args["values"]) if (v := candidate.bound.get(n, ""))]
    if not all(candidate.overlay.type_of(v).static is not None for v in known):
        return None
    seen = ", ".join(f"{v} {types(candidate.overlay, v)}" for v in known)
    return [fail(known[0] if known else "", f"{seen}: all dimensions are numbers", "keep it")]


@check("per-channel", "shape", takes=("operand?",))
def per_channel(candidate: Candidate, args: Args) -> Outcomes:
    """The operand has one value per channel, or one in all."""
    overlay = candidate.overlay
    operand = candidate.bound.get(_arg(args, "operand", "b"), "")
    if not operand:
        return None  # a spelling without it, such as a normalisation, which is per channel
    host = read_value(candidate)
    dims, big = overlay.type_of(operand).dims, overlay.type_of(host).dims
    seen = f"{operand} {types(overlay, operand)}, {host} {types(overlay, host)}"
    verdict = _per_channel(dims, big)
    if verdict is None:
        return [unknown(operand, seen, f"give {operand} and {host} known shapes")]
    if verdict:
        return None
    return [
        fail(
            operand,
            seen,
            f"one value per channel would be [{_channels(big)},1,1]; a full tensor belongs to a "
            "residual sum",
        )
    ]


def _channels(dims: tuple[Dim, ...] | None) -> str:
    return str(dims[1]) if dims and len(dims) > 1 and dims[1] is not None else "C"


def _per_channel(dims: tuple[Dim, ...] | None, big: tuple[Dim, ...] | None) -> bool | None:
    if dims is None:
        return None
    if all(d == 1 for d in dims):
        return len(dims) <= len(big) if big is not None else (True if len(dims) <= 1 else None)
    if big is None or len(big) < 3:
        return None if big is None else False
    if len(dims) > len(big) or len(dims) < len(big) - 1:
        return False
    aligned = (1,) * (len(big) - len(dims)) + tuple(dims)
    outer = [small for axis, small in enumerate(aligned) if axis != 1 and small != 1]
    if any(small is not None for small in outer):
        return False
    small, large = aligned[1], big[1]
    if isinstance(small, int) and isinstance(large, int) and small not in (1, large):
        return False
    return True if not outer and (small == 1 or (small == large is not None)) else None


@check("product-agrees", "shape")
def product_agrees(candidate: Candidate, args: Args) -> Outcomes:
    """The inner dimensions of the product agree."""
    producer = candidate.producer
    if candidate.operators.acts_as(producer.op) != "MatMul" or len(producer.inputs) < 2:
        return None
    a, b = (candidate.overlay.type_of(v).dims for v in producer.inputs[:2])
    if not a or not b:
        return None
    inner, outer = a[-1], b[-2] if len(b) > 1 else b[0]
    if isinstance(inner, int) and isinstance(outer, int) and inner != outer:
        if producer.op != "MatMul":
            return None
        return [
            fail(
                producer.node.label,
                f"{producer.node.label} multiplies {inner} columns with {outer} rows",
                "the model is not valid here; correct its shapes",
            )
        ]
    return None
