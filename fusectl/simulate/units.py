"""The arithmetic of the machine's units. Every rounding is stated here.

Sums are kept in single precision, one rounding for each product that is added, in the order of k
(for a convolution: channel, then tap). All conversions round to nearest, ties to even; codes
saturate.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from fusectl.program import Convolution, Encoding, Header, Post, Product, Region

F32 = npt.NDArray[np.float32]
Array = npt.NDArray[np.generic]
_LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


def encode(numbers: F32, encoding: Encoding) -> Array:
    """Round numbers to an encoding."""
    if encoding.dtype == "float16":
        with np.errstate(over="ignore"):
            return numbers.astype(np.float16)
    if encoding.dtype == "float32":
        return numbers
    low, high = _LIMITS[encoding.dtype]
    scale = np.float32(encoding.scale if encoding.scale is not None else 1.0)
    codes = np.rint(numbers / scale) + np.float32(encoding.zero_point)
    return np.asarray(np.clip(np.nan_to_num(codes, nan=0.0), low, high).astype(encoding.dtype))


def decode(codes: Array, encoding: Encoding) -> F32:
    """Return the numbers that codes stand for."""
    if encoding.scale is None:
        return codes.astype(np.float32)
    offset = codes.astype(np.int32) - np.int32(encoding.zero_point)
    return np.asarray(offset.astype(np.float32) * np.float32(encoding.scale), np.float32)


def multiply(a: Array, b: Array, acc: F32, sizes: Product) -> None:
    """Add the product of two tiles (leading axis of length one) to the accumulators."""
    first = (a[0].T if sizes.trans_a else a[0]).astype(np.float32)
    second = (b[0].T if sizes.trans_b else b[0]).astype(np.float32)
    sums = acc[0]
    for k in range(second.shape[0]):
        sums += first[:, k : k + 1] * second[k : k + 1, :]


def convolve(a: Array, b: Array, acc: F32, sizes: Convolution, x: Region, y: Region) -> None:
    """Add a convolution of tiles to the accumulators. ``x`` and ``y`` say which part it is."""
    picture = _padded(a[0].astype(np.float32), sizes, x, y)
    filters = b.astype(np.float32)
    rows = (y.lengths[2], *sizes.out[1:])
    each = filters.shape[1]
    per_group = filters.shape[0] // max(picture.shape[0] // each, 1)
    groups = np.repeat(np.arange(picture.shape[0] // each), per_group)
    for channel in range(each):
        for tap in product(*(range(k) for k in sizes.kernel)):
            window = tuple(
                slice(t * d, t * d + (o - 1) * s + 1, s)
                for t, d, o, s in zip(tap, sizes.dilations, rows, sizes.strides, strict=True)
            )
            seen = picture[(slice(channel, None, each), *window)]
            at: tuple[slice | int, ...] = (slice(None), channel, *tap)
            weights = filters[at]
            shape = (-1, *(1,) * len(rows))
            acc[0] += weights.reshape(shape) * seen[groups]


def _padded(picture: F32, sizes: Convolution, x: Region, y: Region) -> F32:
    """Put zeros around what was loaded, so that every window of the tile is there."""
    pads = [(0, 0)]
    for axis, taps in enumerate(sizes.kernel):
        low, high = y.start[axis + 2], y.stop[axis + 2]
        stride, front = sizes.strides[axis], sizes.pads[axis]
        reach = (taps - 1) * sizes.dilations[axis] + 1
        first, last = low * stride - front, (high - 1) * stride - front + reach
        pads.append((max(x.start[axis + 2] - first, 0), max(last - x.stop[axis + 2], 0)))
    return np.pad(picture, pads)


def read_table(codes: Array, encoding: Encoding, header: Header, entries: F32) -> F32:
    """Look codes of the intermediate encoding up, by the header."""
    x = codes.astype(np.float32) if header.of_codes else decode(codes, encoding)
    last = header.entries - 1
    with np.errstate(invalid="ignore", over="ignore"):
        place = (x - np.float32(header.low)) * np.float32(2.0**-header.step)
        inside = _inside(np.clip(place, 0, last), entries, last, header.interpolate)
        below = _line(x, header.below)
        above = _line(x, header.above)
    made = np.where(place < 0, below, np.where(place > last, above, inside))
    return np.where(np.isnan(x), x, made).astype(np.float32)


def _inside(place: F32, entries: F32, last: int, interpolate: bool) -> F32:
    place = np.nan_to_num(place, nan=0.0)
    if not interpolate:
        nearest = np.floor(place + np.float32(0.5)).astype(np.int64).clip(0, last)
        return np.asarray(entries[nearest], np.float32)
    index = np.floor(place).astype(np.int64).clip(0, max(last - 1, 0))
    share = (place - index.astype(np.float32)).astype(np.float32)
    step = entries[np.minimum(index + 1, last)] - entries[index]
    return np.asarray(entries[index] + share * step, np.float32)


def _line(x: F32, line: tuple[float, float]) -> F32:
    slope, offset = (np.float32(v) for v in line)
    if slope == 0:  # also for an infinite x
        return np.full_like(x, offset)
    return np.asarray(slope * x + offset, np.float32)


def direct(x: F32, function: str, arguments: dict[str, float]) -> F32:
    """Compute a function that needs no table. Raises KeyError for one that does."""
    if function == "Relu":
        return np.maximum(x, np.float32(0))
    if function == "LeakyRelu":
        return np.where(x < 0, np.float32(arguments["alpha"]) * x, x).astype(np.float32)
    raise KeyError(function)


def post(sums: F32, how: Post, header: Header | None, entries: F32 | None) -> Array:
    """Run sums through the post-processing stage: intermediate code, function, output code.

    A result that leaves as a code is rounded to half precision first: the stage's own width.
    """
    if how.intermediate is None or how.output is None:
        raise KeyError("an encoding of the post-processing is missing")
    codes = encode(sums, how.intermediate)
    if header is not None and entries is not None:
        made = read_table(codes, how.intermediate, header, entries)
    else:
        made = direct(decode(codes, how.intermediate), how.function, how.arguments)
    half = encode(made, Encoding("float16"))
    return half if how.output.dtype == "float16" else encode(half.astype(np.float32), how.output)
