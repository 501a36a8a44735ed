"""Memories as bytes: what is written to an address is what is read from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fusectl.program import Address, Region

Array = npt.NDArray[np.generic]
_POISON = 0xA5


class Trap(Exception):
    """The machine cannot execute an instruction; the text says which and why."""


class Memory:
    """All memories of one run. Bytes that nobody wrote hold a pattern that is no useful number."""

    def __init__(self, addresses: tuple[Address, ...]) -> None:
        """Make room for every record."""
        self.records = {a.name: a for a in addresses}
        ends: dict[str, int] = {}
        for record in addresses:
            ends[record.space] = max(ends.get(record.space, 0), record.address + record.bytes)
        self._bytes = {s: np.full(end, _POISON, np.uint8) for s, end in ends.items()}

    def raw(self, name: str, dtype: str, count: int) -> Array:
        """Return a view of the first elements of a buffer. Raises Trap."""
        record = self.records.get(name)
        if record is None:
            raise Trap(f"{name} has no address")
        kind = np.dtype(dtype)
        size = kind.itemsize * count
        if size > record.bytes:
            raise Trap(f"{name} has {record.bytes} bytes, {size} are wanted")
        start = record.address
        return self._bytes[record.space][start : start + size].view(kind)

    def dtype(self, name: str) -> str:
        """Return the type in which a buffer holds its elements. Raises Trap."""
        record = self.records.get(name)
        if record is None or record.encoding is None:
            raise Trap(f"{name} has no encoding")
        return record.encoding.dtype

    def value(self, region: Region) -> Array:
        """Return a view of a part of a value that lies whole in memory."""
        count = int(np.prod(region.view, dtype=np.int64))
        whole = self.raw(region.buffer, self.dtype(region.buffer), count).reshape(region.view)
        return whole[tuple(slice(a, b) for a, b in zip(region.start, region.stop, strict=True))]

    def tile(self, region: Region) -> Array:
        """Return a view of a tile, which holds nothing but the region."""
        count = int(np.prod(region.lengths, dtype=np.int64))
        return self.raw(region.buffer, self.dtype(region.buffer), count).reshape(region.lengths)
