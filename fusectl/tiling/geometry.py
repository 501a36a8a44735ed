"""The sizes of a product or a convolution, read off a node and the types of its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from fusectl.graph.types import Dim, TensorType
from fusectl.graph.view import Attribute

Attr = Callable[[str], Attribute]


_MOST_PARTS = 1 << 20
"""Products in one batch above which nobody lists them one by one."""


@dataclass(frozen=True, slots=True)
class Product:
    """``parts`` independent products of m x k by k x n; ``m`` is None where it is not known.

    ``a_step`` and ``b_step`` tell for each part which matrix of the operand it reads.
    """

    m: int | None
    n: int
    k: int
    a_step: tuple[int, ...] = (0,)
    b_step: tuple[int, ...] = (0,)
    trans_a: bool = False
    trans_b: bool = False

    @property
    def parts(self) -> int:
        """How many products there are."""
        return len(self.a_step)


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution in any number of spatial axes. ``images`` is None where it is not known.

    ``channels`` and ``filters`` count all groups; ``pads`` are those in front of each axis.
    """

    images: int | None
    groups: int
    channels: int
    filters: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    out: tuple[int, ...]


Geometry = Product | Convolution


def read_geometry(
    op: str, types: tuple[TensorType, ...], made: TensorType, attr: Attr
) -> Geometry | None:
    """Return the sizes of a MatMul, Gemm or Conv; None where they are not known, or for others.

    ``types`` are those of the first two inputs, ``made`` that of the result, ``attr`` reads an
    attribute of the node.
    """
    if len(types) < 2 or types[0].dims is None or types[1].dims is None:
        return None
    a, b = types[0].dims, types[1].dims
    if op == "MatMul":
        return _matmul(a, b)
    if op == "Gemm":
        return _gemm(a, b, bool(attr("transA")), bool(attr("transB")))
    if op == "Conv":
        return _conv(a, b, made.dims, attr)
    return None


def _whole(dims: tuple[Dim, ...]) -> tuple[int, ...] | None:
    known = tuple(d for d in dims if isinstance(d, int))
    return known if len(known) == len(dims) else None


def _matmul(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> Product | None:
    if not a or not b:
        return None
    a = (1, *a) if len(a) == 1 else a
    b = (*b, 1) if len(b) == 1 else b
    inner, n = _whole((a[-1], b[-2])), b[-1]
    if inner is None or inner[0] != inner[1] or not isinstance(n, int):
        return None
    if all(d == 1 for d in b[:-2]):
        rows = _whole(a[:-1])
        return Product(None if rows is None else prod(rows), n, inner[0])
    return _batched(a, b, n, inner[0])


def _batched(a: tuple[Dim, ...], b: tuple[Dim, ...], n: int, k: int) -> Product | None:
    first, second, m = _whole(a[:-2]), _whole(b[:-2]), a[-2]
    if first is None or second is None or not isinstance(m, int):
        return None
    rank = max(len(first), len(second))
    left = (1,) * (rank - len(first)) + first
    right = (1,) * (rank - len(second)) + second
    if prod(map(max, left, right)) > _MOST_PARTS:
        return None
    steps: list[tuple[int, int]] = [(0, 0)]
    for x, y in zip(left, right, strict=True):
        length = max(x, y)
        if 0 in (x, y) or (x != y and 1 not in (x, y)):
            return None
        steps = [
            (p * x + (i if x > 1 else 0), q * y + (i if y > 1 else 0))
            for p, q in steps
            for i in range(length)
        ]
    return Product(m, n, k, tuple(p for p, _ in steps), tuple(q for _, q in steps))


def _gemm(a: tuple[Dim, ...], b: tuple[Dim, ...], trans_a: bool, trans_b: bool) -> Product | None:
    if len(a) != 2 or len(b) != 2:
        return None
    m, k = a[::-1] if trans_a else a
    other, n = b[::-1] if trans_b else b
    if not isinstance(k, int) or not isinstance(n, int) or k != other:
        return None
    return Product(m if isinstance(m, int) else None, n, k, trans_a=trans_a, trans_b=trans_b)


def _conv(
    x: tuple[Dim, ...], w: tuple[Dim, ...], y: tuple[Dim, ...] | None, attr: Attr
) -> Convolution | None:
    weight, inner = _whole(w), _whole(x[1:])
    out = _whole(y[2:]) if y is not None else None
    if weight is None or inner is None or out is None or len(weight) != len(x) or len(x) < 3:
        return None
    rank = len(x) - 2
    groups = attr("group")
    groups = groups if isinstance(groups, int) and groups > 0 else 1
    strides, dilations = _axes(attr("strides"), rank), _axes(attr("dilations"), rank)
    size, kernel = inner[1:], weight[2:]
    pads = _pads(attr, size, kernel, strides, dilations, out)
    if inner[0] != weight[1] * groups or len(out) != rank or 0 in (*out, *weight, *inner):
        return None
    images = x[0] if isinstance(x[0], int) else None
    return Convolution(
        images, groups, inner[0], weight[0], size, kernel, strides, dilations, pads, out
    )


def _axes(stated: Attribute, rank: int) -> tuple[int, ...]:
    return tuple(int(v) for v in stated) if isinstance(stated, tuple) and stated else (1,) * rank


def _pads(
    attr: Attr,
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    out: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the padding in front of each axis; what stands behind follows from the result."""
    auto = attr("auto_pad")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        found = []
        for i, k, s, d, o in zip(size, kernel, strides, dilations, out, strict=True):
            total = max((o - 1) * s + (k - 1) * d + 1 - i, 0)
            found.append(total // 2 if auto == "SAME_UPPER" else total - total // 2)
        return tuple(found)
    stated = attr("pads")
    if auto == "VALID" or not isinstance(stated, tuple) or not stated:
        return (0,) * len(kernel)
    return tuple(int(v) for v in stated[: len(kernel)])
