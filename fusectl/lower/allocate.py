"""Addresses for values: by size, then age, each at the lowest address that is free for its life.

A result may take the place of an operand only where the operation is elementwise, both have the
same length, and nobody reads the operand later.
"""

from __future__ import annotations

from dataclasses import dataclass

from fusectl.graph.types import BYTES
from fusectl.lower.jobs import Job, Value, Work
from fusectl.lower.life import lives

ELEMENTWISE = ("function", "arithmetic")


@dataclass(slots=True)
class _Block:
    """Values that share an address."""

    names: list[str]
    bytes: int
    first: int
    last: int
    address: int = 0


def length(value: Value) -> int:
    """Return the bytes of a value as the machine holds it."""
    return value.count * BYTES.get(value.encoding.dtype, 1)


def allocate(work: Work, align: int) -> dict[str, int]:
    """Return the address of every value. Same input, same addresses."""
    blocks = _blocks(work)
    placed: list[_Block] = []
    for block in sorted(blocks, key=lambda b: (-b.bytes, b.first, b.names[0])):
        block.address = _lowest(block, placed, align)
        placed.append(block)
    return {name: block.address for block in blocks for name in block.names}


def _lowest(block: _Block, placed: list[_Block], align: int) -> int:
    address = 0
    for other in sorted(placed, key=lambda b: b.address):
        apart = other.last < block.first or block.last < other.first
        if not apart and address + block.bytes > other.address:
            address = max(address, aligned(other.address + other.bytes, align))
    return address


def aligned(address: int, align: int) -> int:
    """Return the next address that is a multiple of ``align``."""
    return -(-address // align) * align


def _blocks(work: Work) -> list[_Block]:
    calls = ((work.buffer(n) for n in (*j.reads, *j.writes) if n) for j in work.jobs)
    found = lives(calls, lambda name: work.values[name].role)
    blocks: dict[str, _Block] = {}
    for name, value in work.values.items():
        if name not in work.views and name in found:
            first, last = found[name]
            blocks[name] = _Block([name], length(value), first, last)
    for place, job in enumerate(work.jobs):
        _share(job, place, work, blocks)
    return list({id(b): b for b in blocks.values()}.values())


def _share(job: Job, place: int, work: Work, blocks: dict[str, _Block]) -> None:
    """Let an elementwise result take over an operand's block where nobody reads it later."""
    if job.kind not in ELEMENTWISE or len(job.writes) != 1:
        return
    made = blocks[job.writes[0]]
    if work.values[job.writes[0]].role != "value" or len(made.names) > 1:
        return
    for name in map(work.buffer, job.reads):
        block = blocks.get(name)
        if block is None or work.values[name].role != "value":
            continue
        if block.last == place and block.bytes == made.bytes:
            block.names.append(job.writes[0])
            block.last = made.last
            blocks[job.writes[0]] = block
            return
