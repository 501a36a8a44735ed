"""Element types by name, and what is known of a value's type and shape."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

import onnx

DTYPES: dict[int, str] = {
    number: {"FLOAT": "float32", "DOUBLE": "float64"}.get(name, name.lower())
    for name, number in onnx.TensorProto.DataType.items()
    if number
}
BYTES = {"float64": 8, "int64": 8, "uint64": 8, "complex64": 8, "float32": 4, "int32": 4}
BYTES |= {"uint32": 4, "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2, "complex128": 16}

_BITS = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}
"""Types of which ONNX packs several elements into a byte."""

Dim = int | str | None
"""A size, the name of a symbolic size, or None: nothing is known."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type by name (empty: unknown) and dimensions (None: rank unknown)."""

    dtype: str
    dims: tuple[Dim, ...] | None

    @property
    def static(self) -> tuple[int, ...] | None:
        """All dimensions as numbers, or None where one is not."""
        if self.dims is None:
            return None
        known = tuple(d for d in self.dims if isinstance(d, int))
        return known if len(known) == len(self.dims) else None

    @property
    def bytes(self) -> int | None:
        """How long the value is as ONNX stores it, or None: not known, or text."""
        if self.static is None or self.dtype in ("", "string"):
            return None
        bits = _BITS.get(self.dtype, 8 * BYTES.get(self.dtype, 1))
        return -(-prod(self.static) * bits // 8)

    def __str__(self) -> str:
        if self.dims is None:
            return f"{self.dtype or '?'}[rank unknown]"
        return f"{self.dtype or '?'}[{','.join('?' if d is None else str(d) for d in self.dims)}]"


UNKNOWN = TensorType("", None)
INVENTED = "unk__"
"""How ONNX's shape inference names sizes that it does not know."""


def tensor_type(proto: onnx.TypeProto, stated: Collection[str] = ()) -> TensorType:
    """Read a TypeProto. Dimensions invented by shape inference and negative ones are unknown.

    ``stated``: symbols that count as they stand, though they look invented.
    """
    if not proto.HasField("tensor_type"):
        return UNKNOWN
    tensor = proto.tensor_type
    dtype = DTYPES.get(tensor.elem_type, "")
    if not tensor.HasField("shape"):
        return TensorType(dtype, None)
    return TensorType(dtype, tuple(_dim(d, stated) for d in tensor.shape.dim))


def _dim(dim: onnx.TensorShapeProto.Dimension, stated: Collection[str]) -> Dim:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        # Exporters write -1 for "unknown".
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    name = str(dim.dim_param)
    if kind == "dim_param" and name and (not name.startswith(INVENTED) or name in stated):
        return name
    return None


def same_dim(a: Dim, b: Dim) -> bool | None:
    """Tell whether two sizes are equal: True, False, or None where that cannot be known."""
    if a is None or b is None:
        return None
    if a == b:
        return True
    return False if isinstance(a, int) and isinstance(b, int) else None


def same_dims(a: tuple[Dim, ...] | None, b: tuple[Dim, ...] | None) -> bool | None:
    """Tell whether two shapes are equal, three-valued."""
    if a is None or b is None:
        return None
    if len(a) != len(b):
        return False
    verdicts = [same_dim(x, y) for x, y in zip(a, b, strict=True)]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def fits_into(small: tuple[Dim, ...] | None, big: tuple[Dim, ...] | None) -> bool | None:
    """Tell whether ``small`` broadcasts into ``big`` without making it larger, three-valued."""
    if small == ():
        return True  # a scalar fits whatever there is
    if small == (1,) and big is None:
        return True  # only a scalar would grow by it, and nobody leaves a scalar's rank open
    if small is None or big is None:
        return None
    if len(small) > len(big):
        return False
    verdict: bool | None = True
    for s, b in zip(reversed(small), reversed(big), strict=False):
        if s == 1:
            continue
        same = same_dim(s, b)
        if same is False:
            return False
        verdict = verdict if same else None
    return verdict
