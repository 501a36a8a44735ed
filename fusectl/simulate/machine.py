"""Executes instructions one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from fusectl.program import (
    Convolution,
    Descriptor,
    Encoding,
    Header,
    Instruction,
    Post,
    Product,
    Program,
    Region,
)
from fusectl.simulate import units
from fusectl.simulate.memory import Memory, Trap
from fusectl.simulate.units import F32

Array = npt.NDArray[np.generic]
Host = Callable[[Descriptor, dict[str, Array]], dict[str, Array]]
"""Computes a node that the machine leaves to its host: values by name in the model's types."""


class Machine:
    """One run of a program."""

    def __init__(self, program: Program, host: Host | None = None) -> None:
        """Take a program, and who computes what it leaves to the host."""
        self.program = program
        self.memory = Memory(program.addresses)
        self.descriptors = {d.id: d for d in program.descriptors}
        self.parameters = {p.name: p for p in program.parameters}
        self._host = host
        self._loaded: dict[str, str] = {}
        """What lies in each table slot and header register: the record it was loaded from."""
        self._steps: dict[str, Callable[[Instruction, Descriptor | None], None]] = {
            "load": self._load,
            "store": self._store,
            "load-table": self._fetch,
            "load-header": self._fetch,
            "start": self._start,
            "multiply": self._multiply,
            "partial": self._partial,
            "finish": self._finish,
            "apply": self._apply,
            "combine": self._combine,
            "convert": self._convert,
            "copy": self._copy,
            "host": self._on_host,
        }

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Execute the program on values by name, constants too; return outputs by name.

        Values go in and come out in the model's types. Raises Trap.
        """
        for record in self.program.addresses:
            if record.role in ("input", "constant") and record.space == "dram":
                if record.name not in feeds:
                    raise Trap(f"{record.name} is not given")
                self._put(record.name, np.asarray(feeds[record.name]))
        for place, instruction in enumerate(self.program.instructions):
            try:
                step = self._steps[instruction.does]
                step(instruction, self.descriptors.get(instruction.descriptor))
            except (KeyError, ValueError, IndexError) as error:
                raise Trap(f"instruction {place} {instruction.op}: {error}") from error
        return {r.name: self.get(r.name) for r in self.program.addresses if r.role == "output"}

    def _put(self, name: str, array: Array) -> None:
        record = self.memory.records[name]
        dtype = self.memory.dtype(name)
        view = self.memory.raw(name, dtype, array.size)
        if dtype == "float16" and array.dtype != np.float16:
            view[:] = units.encode(array.astype(np.float32), Encoding("float16")).reshape(-1)
        else:
            view[:] = array.astype(dtype).reshape(-1)
        if array.size != int(np.prod(record.shape, dtype=np.int64)):
            raise Trap(f"{name} has {array.size} elements, not {record.shape}")

    def get(self, name: str) -> Array:
        """Return a value in the model's type, as it lies in memory now."""
        record = self.memory.records[name]
        count = int(np.prod(record.shape, dtype=np.int64))
        held = self.memory.raw(name, self.memory.dtype(name), count).reshape(record.shape)
        return held.astype(record.dtype)

    # ---- memory

    def _load(self, instruction: Instruction, _: Descriptor | None) -> None:
        self.memory.tile(instruction.writes[0])[...] = self.memory.value(instruction.reads[0])

    def _store(self, instruction: Instruction, _: Descriptor | None) -> None:
        self.memory.value(instruction.writes[0])[...] = self.memory.tile(instruction.reads[0])

    def _copy(self, instruction: Instruction, _: Descriptor | None) -> None:
        source, made = instruction.reads[0], instruction.writes[0]
        self.memory.value(made)[...] = self.memory.value(source).copy()

    def _fetch(self, instruction: Instruction, _: Descriptor | None) -> None:
        """A slot holds what was loaded last, whatever name it went by before."""
        source, made = instruction.reads[0].buffer, instruction.writes[0].buffer
        record = self.memory.records[made]
        for name in list(self._loaded):
            other = self.memory.records[name]
            if other.space == record.space and other.address == record.address:
                del self._loaded[name]
        if source not in self.parameters:
            raise Trap(f"{source} is no parameter record")
        self._loaded[made] = source

    def _held(self, name: str | None) -> str | None:
        if name is None:
            return None
        record = self.memory.records.get(name)
        if record is None:
            raise Trap(f"{name} has no address")
        for loaded, source in self._loaded.items():
            other = self.memory.records[loaded]
            if (other.space, other.address) == (record.space, record.address):
                return source
        raise Trap(f"{name} is not loaded")

    # ---- units

    def _tile(self, region: Region) -> F32:
        """Return a tile's numbers."""
        return self.memory.tile(region).astype(np.float32)

    def _accumulators(self, region: Region) -> F32:
        return self.memory.tile(region)  # type: ignore[return-value]

    def _start(self, instruction: Instruction, call: Descriptor | None) -> None:
        acc = self._accumulators(instruction.writes[0])
        if not instruction.reads:
            acc[...] = 0
            return
        source = instruction.reads[0]
        start = self._along(source, acc)
        beta = np.float32(call.beta if call is not None and len(source.view) < acc.ndim else 1.0)
        acc[...] = beta * start if beta != 1 else start

    def _along(self, source: Region, sums: F32) -> F32:
        """Return a tile of partial sums or of a bias, whose one axis is that of the channels."""
        numbers = self._tile(source)
        return numbers.reshape((1, -1, *(1,) * (sums.ndim - 2))) if numbers.ndim == 1 else numbers

    def _multiply(self, instruction: Instruction, call: Descriptor | None) -> None:
        x, w, _ = instruction.reads
        acc = self._accumulators(instruction.writes[0])
        a, b = self.memory.tile(x), self.memory.tile(w)
        sizes = call.sizes if call is not None else None
        with np.errstate(invalid="ignore", over="ignore"):
            if isinstance(sizes, Product):
                units.multiply(a, b, acc, sizes)
            elif isinstance(sizes, Convolution):
                units.convolve(a, b, acc, sizes, x, instruction.writes[0])
            else:
                raise Trap(f"{instruction.op} has no sizes to multiply by")

    def _partial(self, instruction: Instruction, call: Descriptor | None) -> None:
        """Partial sums leave by the same stage: with post-processing on, it is done to them."""
        sums = self._tile(instruction.reads[0])
        how = call.post if call is not None else None
        if how is not None and how.enable:
            sums = self._post(sums, how).astype(np.float32)
        self.memory.tile(instruction.writes[0])[...] = sums

    def _finish(self, instruction: Instruction, call: Descriptor | None) -> None:
        sums = self._tile(instruction.reads[0])
        if call is not None and (call.alpha != 1.0 or call.between is not None):
            sums = np.asarray(np.float32(call.alpha) * sums, np.float32)
            if call.between is not None:
                sums = units.decode(units.encode(sums, call.between), call.between)
            if len(instruction.reads) > 1:
                bias = self._along(instruction.reads[1], sums)
                sums = np.asarray(sums + np.float32(call.beta) * bias, np.float32)
        self._leave(sums, instruction.writes[0], call)

    def _apply(self, instruction: Instruction, call: Descriptor | None) -> None:
        self._leave(self._tile(instruction.reads[0]), instruction.writes[0], call)

    def _leave(self, numbers: F32, made: Region, call: Descriptor | None) -> None:
        """Write results in the encoding of the call, through its post-processing if it is on."""
        how = call.post if call is not None else None
        if how is not None and how.enable:
            self.memory.tile(made)[...] = self._post(numbers, how)
            return
        encoding = Encoding(self.memory.dtype(made.buffer))
        if call is not None and call.encoding is not None:
            encoding = call.encoding
        self.memory.tile(made)[...] = units.encode(numbers, encoding)

    def _post(self, sums: F32, how: Post) -> Array:
        table, bank = self._held(how.table), self._held(how.header)
        if table is None and bank is None:
            return units.post(sums, how, None, None)
        header: Header | None = self.parameters[bank].header if bank is not None else None
        if table is None or header is None:
            raise Trap(f"{how.function}: a table without its header, or a header without a table")
        entries = np.asarray(self.parameters[table].entries, np.float32)
        if len(entries) != header.entries:
            raise Trap(f"{how.function}: {len(entries)} entries, the header says {header.entries}")
        if how.function != header.function:
            raise Trap(f"{how.function} is selected, the header belongs to {header.function}")
        return units.post(sums, how, header, entries)

    def _combine(self, instruction: Instruction, call: Descriptor | None) -> None:
        operations = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
        operation = operations[call.operator if call is not None else ""]
        pair = [self._tile(r) for r in instruction.reads]
        # Both operands may be one value, which lies in one tile.
        with np.errstate(invalid="ignore", over="ignore"):
            made = operation(pair[0], pair[-1])
        self._leave(np.asarray(made, np.float32), instruction.writes[0], call)

    def _convert(self, instruction: Instruction, call: Descriptor | None) -> None:
        codes = self.memory.tile(instruction.reads[0])
        made = instruction.writes[0]
        encoding = call.encoding if call is not None else None
        if encoding is None:
            raise Trap(f"{instruction.op} does not say what the codes mean")
        if call is not None and call.kind == "quantize":
            numbers = codes.astype(np.float32)
            self.memory.tile(made)[...] = units.encode(numbers, encoding)
            return
        numbers = units.decode(codes, encoding)
        self.memory.tile(made)[...] = units.encode(
            numbers, Encoding(self.memory.dtype(made.buffer))
        )

    def _on_host(self, instruction: Instruction, call: Descriptor | None) -> None:
        if self._host is None or call is None:
            raise Trap(f"{instruction.op} needs a host")
        pairs = zip(call.reads, instruction.reads, strict=True)
        given = {name: self.get(r.buffer).reshape(r.view) for name, r in pairs}
        for name, array in self._host(call, given).items():
            if name in self.memory.records:
                self._put(name, np.asarray(array))


def simulate(
    program: Program, feeds: Mapping[str, Array], host: Host | None = None
) -> dict[str, Array]:
    """Execute a program; see ``Machine.run``."""
    return Machine(program, host).run(feeds)
