"""Buffers: written before they are read, and not under somebody else's feet."""

from __future__ import annotations

from fusectl.lower.validate.registry import Found, validator
from fusectl.program import Address, Descriptor, Instruction, Program, Region

_ELEMENTWISE = ("function", "arithmetic")
_GIVEN = ("input", "constant")


@validator("written-before-read")
def written_before_read(program: Program) -> Found:
    """Every buffer is written before it is read, and nothing else was written over it since."""
    records = {a.name: a for a in program.addresses}
    there = {a.name for a in program.addresses if a.role in _GIVEN}
    there |= {a.name for a in program.addresses if a.space == "dram" and a.role in _TABLES}
    under: dict[str, set[str]] = {}
    for place, instruction in enumerate(program.instructions):
        at = f"{place} {instruction.op}"
        for region in instruction.reads:
            if region.buffer not in records:
                yield at, f"{region.buffer} has no address"
            elif region.buffer not in there:
                yield at, f"{region.buffer} is read and was not written, or written over"
        for region in instruction.writes:
            record = records.get(region.buffer)
            if record is None:
                yield at, f"{region.buffer} has no address"
                continue
            if record.name not in under:
                under[record.name] = {n for n, a in records.items() if _overlap(a, record)}
            there -= under[record.name]
            there.add(record.name)
    for record in program.addresses:
        if record.role == "output" and record.name not in there:
            yield record.name, "the output is not there at the end"


_TABLES = ("table", "header")


def _overlap(a: Address, b: Address) -> bool:
    if a.space != b.space or not a.bytes or not b.bytes:
        return False
    return a.address < b.address + b.bytes and b.address < a.address + a.bytes


@validator("overlap-only-elementwise")
def overlap_only_elementwise(program: Program) -> Found:
    """A result overlaps an operand only where the operation is elementwise."""
    records = {a.name: a for a in program.addresses}
    for call in program.descriptors:
        for made in call.writes:
            for read in call.reads:
                one, two = records.get(made), records.get(read)
                if one is None or two is None or not _overlap(one, two):
                    continue
                if made == read or not _may_share(call, one, two):
                    yield call.id, f"{made} lies on {read}, which it is computed from"


def _may_share(call: Descriptor, made: Address, read: Address) -> bool:
    same = (made.address, made.bytes) == (read.address, read.bytes)
    return call.kind in _ELEMENTWISE and same


@validator("regions-inside")
def regions_inside(program: Program) -> Found:
    """Every region lies inside its value, every tile inside its buffer, and tails are masked."""
    records = {a.name: a for a in program.addresses}
    calls = {d.id: d for d in program.descriptors}
    for place, instruction in enumerate(program.instructions):
        for region in (*instruction.reads, *instruction.writes):
            if not _inside(region):
                yield f"{place} {instruction.op}", f"a part of {region.buffer} lies outside it"
            record = records.get(region.buffer)
            if (
                record is not None
                and record.space == "sram"
                and _bytes(region, record) > (record.bytes)
            ):
                yield f"{place} {instruction.op}", f"{region.buffer} is too small for its tile"
        call = calls.get(instruction.descriptor)
        if call is not None and not _masked(instruction, call):
            yield f"{place} {instruction.op}", "a tile at the tail is not masked"


def _inside(region: Region) -> bool:
    triples = zip(region.start, region.stop, region.view, strict=True)
    return all(0 <= a <= b <= whole for a, b, whole in triples)


def _bytes(region: Region, record: Address) -> int:
    count = 1
    for length in region.lengths:
        count *= length
    dtype = record.encoding.dtype if record.encoding is not None else ""
    return count * _WIDTHS.get(dtype, 1)


_WIDTHS = {"float32": 4, "float16": 2, "int8": 1, "uint8": 1}


def _masked(instruction: Instruction, call: Descriptor) -> bool:
    """Tell whether rows and columns that a finished tile lacks are masked."""
    tile = getattr(call.sizes, "tile", 0)
    if isinstance(tile, int):
        if instruction.does not in ("apply", "combine", "convert"):
            return True
        (length,) = instruction.writes[0].lengths
        return length == tile or instruction.mask.get("elements") == length
    if call.kind != "product" or instruction.does != "finish":
        return True
    _, m, n = instruction.writes[0].lengths
    pairs = (("m", m, tile[0]), ("n", n, tile[1]))
    return all(length == whole or instruction.mask.get(axis) == length
               for axis, length, whole in pairs)  # fmt: skip
