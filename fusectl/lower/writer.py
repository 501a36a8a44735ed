"""Collects the four sections of a program while jobs are written out."""

from __future__ import annotations

from math import prod

import msgspec

from fusectl.graph.types import BYTES
from fusectl.lower.allocate import aligned, length
from fusectl.lower.jobs import Activation, Job, Unlowerable, Work
from fusectl.lower.residency import Placed, Slots
from fusectl.lut import Missing, Table, build
from fusectl.program import (
    Address,
    Descriptor,
    Does,
    Encoding,
    Instruction,
    Parameter,
    Post,
    Region,
    Role,
    Sizes,
    Space,
)
from fusectl.tables.lowering import TemplateStep, step
from fusectl.tables.target_schema import Template
from fusectl.tables.targets import Target

HEADER_BYTES = 32
ENTRY_BYTES = 2
_INTERMEDIATE = Encoding("float16")


class Writer:
    """Writes one program; ``addresses`` are those of the values."""

    def __init__(self, target: Target, work: Work, addresses: dict[str, int]) -> None:
        """Prepare the sections."""
        if target.lowering is None:
            raise Unlowerable(f"target {target.id} has no lowering")
        self.target = target
        self.lowering = target.lowering
        self.work = work
        self.descriptors: list[Descriptor] = []
        self.instructions: list[Instruction] = []
        self.parameters: dict[str, Parameter] = {}
        self.records: dict[str, Address] = {}
        self._addresses = addresses
        self._tiles: dict[str, tuple[int, Encoding]] = {}
        self._tables = {id(j): self._table(j.activation) for j in work.jobs if j.activation}
        keys = [self._key(j) for j in work.jobs]
        self._slots = Slots(max(target.memory.table_slots, 1), keys)
        self._banks = Slots(max(target.lowering.header_banks, 1), keys)
        self._names: dict[str, str] = {}
        self._sources = 0

    # ---- tables and headers

    def _table(self, activation: Activation) -> Table | None:
        if not activation.table:
            return None
        memory = self.target.memory
        try:
            return build(
                activation.function,
                activation.arguments,
                _INTERMEDIATE,
                memory.table_entries,
                memory.interpolate,
            )
        except Missing as missing:
            raise Unlowerable(str(missing)) from None

    def _key(self, job: Job) -> str | None:
        table = self._tables.get(id(job))
        return repr(table.header) if table is not None else None

    def post(self, job: Job, call: int, template: Template) -> Post | None:
        """Write what loads the table and the header of a call; return its post-processing."""
        activation = job.activation
        if activation is None:
            return None
        output = job.coded or Encoding(self.work.values[job.writes[0]].encoding.dtype)
        arguments = dict(activation.arguments)
        table = self._tables[id(job)]
        if table is None:
            return Post(True, activation.function, None, None, _INTERMEDIATE, output, arguments)
        key = repr(table.header)
        name = self._names.setdefault(key, f"{activation.function}{len(self._names)}")
        slot, bank = self._slots.place(key, call), self._banks.place(key, call)
        entries = ENTRY_BYTES * len(table.entries)
        made = {
            "load-table": (f"%lut.{name}", f"@slot{slot.place}", slot, entries, table.entries),
            "load-header": (f"%hdr.{name}", f"@bank{bank.place}", bank, HEADER_BYTES, ()),
        }
        places = {}
        for line in (step(t.value) for t in template.setup):
            source, suffix, where, size, numbers = made[line.does]
            places[line.does] = self._load(line, source, suffix, where, size)
            header = table.header if line.does == "load-header" else None
            self.parameters.setdefault(source, Parameter(source, header, numbers))
        return Post(
            True,
            activation.function,
            places["load-table"],
            places["load-header"],
            _INTERMEDIATE,
            output,
            {},
        )

    def _load(self, line: TemplateStep, source: str, suffix: str, where: Placed, size: int) -> str:
        table = line.does == "load-table"
        name = f"{source}{suffix}#{where.residency}"
        if not where.fresh:
            return name
        role: Role = "table" if table else "header"
        space: Space = "table" if table else "register"
        if source not in self.records:
            base = aligned(self._end(), self.lowering.align)
            self.records[source] = _record(source, "dram", base, size, role)
        self.records[name] = _record(name, space, where.place * size, size, role)
        whole = ((size,), (0,), (size,))
        self.emit(line, "", (Region(source, *whole),), (Region(name, *whole),), size)
        return name

    def _end(self) -> int:
        values = (base + length(self.work.values[name]) for name, base in self._addresses.items())
        tables = (r.address + r.bytes for r in self.records.values() if r.space == "dram")
        return max((*values, *tables), default=0)

    # ---- descriptors and instructions

    @property
    def next_id(self) -> str:
        """The id that the next descriptor gets."""
        return f"d{len(self.descriptors)}"

    def describe(self, job: Job, sizes: Sizes | None, post: Post | None) -> str:
        """Add the descriptor of a call."""
        name = self.next_id
        encoding = job.coded
        if encoding is None and post is None and job.kind != "host":
            encoding = Encoding(self.work.values[job.writes[0]].encoding.dtype)
        self.descriptors.append(
            Descriptor(
                name,
                job.kind,
                job.operator,
                job.nodes,
                job.reads,
                job.writes,
                sizes,
                None if post is not None else encoding,
                post,
                job.alpha,
                job.beta,
                job.between,
            )
        )
        return name

    def emit(
        self,
        line: TemplateStep,
        descriptor: str,
        reads: tuple[Region, ...],
        writes: tuple[Region, ...],
        moved: int = 0,
        mask: dict[str, int] | None = None,
    ) -> None:
        """Add an instruction; setup belongs to the descriptor that comes next."""
        does: Does = line.does  # type: ignore[assignment]
        name = descriptor or self.next_id
        self.instructions.append(Instruction(line.op, does, name, reads, writes, moved, mask or {}))

    # ---- tiles

    def width(self, value: str) -> int:
        """Return the bytes of an element of a value."""
        return BYTES.get(self.work.values[value].encoding.dtype, 1)

    def tile(self, descriptor: str, operand: str, encoding: Encoding) -> str:
        """Return the name of an operand's tile on chip."""
        name = f"%{descriptor}.{operand}"
        self._tiles.setdefault(name, (0, encoding))
        return name

    def grow(self, region: Region) -> Region:
        """Make room for a region in its tile, and return it."""
        size, encoding = self._tiles[region.buffer]
        wanted = prod(region.lengths) * BYTES.get(encoding.dtype, 1)
        self._tiles[region.buffer] = (max(size, wanted), encoding)
        return region

    def close(self) -> None:
        """Place the tiles of a call side by side on chip; the next call has all of it again.

        Wide elements first: then every tile begins at a multiple of its element.
        """
        base = 0
        order = sorted(self._tiles.items(), key=lambda t: (-BYTES.get(t[1][1].dtype, 1), t[0]))
        for name, (size, encoding) in order:
            width = BYTES.get(encoding.dtype, 1)
            self.records[name] = Address(
                name, "sram", base, size, "tile", encoding, (size // width,), "", 0, 0
            )
            base += size
        self._tiles = {}
        budget = self.target.on_chip
        if budget is not None and base > budget:
            raise Unlowerable(f"the tiles of {self.descriptors[-1].nodes[0]} take {base} bytes")

    def finished(self) -> tuple[Address, ...]:
        """Return all address records, with the instructions between which each counts."""
        for name, base in self._addresses.items():
            value = self.work.values[name]
            self.records[name] = Address(
                name,
                "dram",
                base,
                length(value),
                value.role,
                value.encoding,
                value.shape,
                value.dtype,
                0,
                0,
            )
        spans = self._spans()
        order = {"dram": 0, "table": 1, "register": 2, "sram": 3}
        made = [
            _spanned(record, spans.get(name, (0, 0)), len(self.instructions))
            for name, record in self.records.items()
        ]
        return tuple(sorted(made, key=lambda r: (order[r.space], r.address, r.first, r.name)))

    def _spans(self) -> dict[str, tuple[int, int]]:
        spans: dict[str, tuple[int, int]] = {}
        posts = {d.id: d.post for d in self.descriptors}
        for place, instruction in enumerate(self.instructions):
            names = [r.buffer for r in (*instruction.reads, *instruction.writes)]
            post = posts.get(instruction.descriptor)
            if post is not None and instruction.does not in ("load-table", "load-header"):
                names += [n for n in (post.table, post.header) if n]
            for name in names:
                spans[name] = (spans.get(name, (place, place))[0], place)
        return spans


def _record(name: str, space: Space, address: int, size: int, role: Role) -> Address:
    return Address(name, space, address, size, role, None, (size,), "", 0, 0)


def _spanned(record: Address, span: tuple[int, int], end: int) -> Address:
    first, last = span
    given = record.role in ("input", "constant")
    if given or (record.role in ("table", "header") and record.space == "dram"):
        first = 0
    if given or record.role == "output":
        last = max(end - 1, 0)
    return msgspec.structs.replace(record, first=first, last=last)
