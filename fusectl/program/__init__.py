"""A lowered program: descriptors, address records, parameter records, instructions.

These records are all that whoever builds a program and whoever executes one share. Sizes count
elements, addresses and lengths bytes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "fusectl.program/1"
Space = Literal["dram", "sram", "table", "register"]
Role = Literal["input", "constant", "value", "output", "tile", "table", "header"]
Does = Literal[
    "load", "store", "load-table", "load-header", "start", "multiply", "partial", "finish",
    "apply", "combine", "convert", "copy", "host",
]  # fmt: skip
"""What an instruction does, whatever the machine calls it."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """Base of all records: immutable, compared by value."""


class Encoding(Record, frozen=True, gc=False):
    """How numbers are held: an element type, and for codes what they stand for.

    A code ``q`` stands for ``scale * (q - zero_point)``; ``scale`` is None for floating types and
    for numbers that are no codes.
    """

    dtype: str
    scale: float | None = None
    zero_point: int = 0


class Product(Record, frozen=True, gc=False, tag="product"):
    """``parts`` products of m x k by k x n. ``tile``: lengths along m, n, k."""

    parts: int
    m: int
    n: int
    k: int
    trans_a: bool
    trans_b: bool
    tile: tuple[int, int, int]
    splits: tuple[str, ...]


class Convolution(Record, frozen=True, gc=False, tag="convolution"):
    """A convolution; ``pads`` stand in front of each axis.

    ``tile``: lengths along rows of the result, channels (groups, where there are several) of the
    result, and channels of the input.
    """

    images: int
    groups: int
    channels: int
    filters: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    out: tuple[int, ...]
    tile: tuple[int, int, int]
    splits: tuple[str, ...]


class Elements(Record, frozen=True, gc=False, tag="elements"):
    """So many elements in a row, ``tile`` at a time."""

    count: int
    tile: int


Sizes = Product | Convolution | Elements


class Post(Record, frozen=True, gc=False):
    """The post-processing of a descriptor.

    With a table it takes six things: the address of the table, the header that says how to read
    it, the encoding in which the function reads the sum, the one in which the result leaves, the
    function, and that it is on. A function without a table has neither address nor header, and
    may have ``arguments``.
    """

    enable: bool
    function: str
    table: str | None
    header: str | None
    intermediate: Encoding | None
    output: Encoding | None
    arguments: dict[str, float]


class Descriptor(Record, frozen=True, gc=False):
    """One call of a unit of the machine.

    ``nodes`` are the nodes of the model that it computes, ``reads`` and ``writes`` the values.
    ``alpha`` and ``beta`` scale the sum and the bias; ``encoding`` is the one of the result where
    there is no post-processing. ``operator`` is the operator that computes, ``uses`` counts how
    often the model calls it. ``between``: the encoding to which the sum is rounded before the bias
    is added; without it the bias is part of the sum.
    """

    id: str
    kind: str
    operator: str
    nodes: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    sizes: Sizes | None
    encoding: Encoding | None
    post: Post | None = None
    alpha: float = 1.0
    beta: float = 1.0
    between: Encoding | None = None


class Address(Record, frozen=True, gc=False):
    """Where something lies. ``first`` and ``last`` are the instructions between which it counts.

    ``dtype`` is the type that the model gives a value; the encoding says how it is held.
    """

    name: str
    space: Space
    address: int
    bytes: int
    role: Role
    encoding: Encoding | None
    shape: tuple[int, ...]
    dtype: str
    first: int
    last: int


class Header(Record, frozen=True, gc=False):
    """How a table is read.

    Entry i is the function at ``low + i * 2**step`` (for codes: at the code ``low + i``). Left
    and right of the table the function is the line ``slope * x + offset``.
    """

    function: str
    of_codes: bool
    low: float
    step: int
    entries: int
    interpolate: bool
    below: tuple[float, float]
    above: tuple[float, float]


class Parameter(Record, frozen=True, gc=False):
    """A parameter record: a header, or a table's entries."""

    name: str
    header: Header | None
    entries: tuple[float, ...]


class Region(Record, frozen=True, gc=False):
    """A part of a value or of the operand that a tile holds: from ``start`` up to ``stop``.

    ``view`` is the shape under which the whole is looked at. ``buffer`` names an address record.
    """

    buffer: str
    view: tuple[int, ...]
    start: tuple[int, ...]
    stop: tuple[int, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return tuple(b - a for a, b in zip(self.start, self.stop, strict=True))


class Instruction(Record, frozen=True, gc=False):
    """One instruction. ``mask`` is how much of a tile counts, where that is not all of it.

    ``bytes`` are those that it moves between two memories.
    """

    op: str
    does: Does
    descriptor: str
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]
    bytes: int = 0
    mask: dict[str, int] = {}


class Program(Record, frozen=True, gc=False):
    """A program; ``capacity`` is what the target states of each memory, None: not stated.

    ``storage`` lists the element types in which the target can hold an intermediate value.
    """

    schema: str
    target: str
    model: str
    fused: bool
    descriptors: tuple[Descriptor, ...]
    addresses: tuple[Address, ...]
    parameters: tuple[Parameter, ...]
    instructions: tuple[Instruction, ...]
    capacity: dict[Space, int]
    storage: tuple[str, ...]

    def json(self, indent: int = 2) -> bytes:
        """Return the program as JSON, the same bytes for the same input."""
        return msgspec.json.format(msgspec.json.encode(self), indent=indent)

    @property
    def peak(self) -> dict[str, int]:
        """The highest byte in use of each memory."""
        found: dict[str, int] = {}
        for record in self.addresses:
            end = record.address + record.bytes
            found[record.space] = max(found.get(record.space, 0), end)
        return found

    @property
    def moved(self) -> dict[str, int]:
        """Bytes moved by what kind of instruction, between which memories."""
        found: dict[str, int] = {}
        for instruction in self.instructions:
            way = WAYS.get(instruction.does)
            if way is not None and instruction.bytes:
                found[way] = found.get(way, 0) + instruction.bytes
        return found

    @property
    def opcodes(self) -> dict[str, int]:
        """How often each opcode stands in the program, in order of its first use."""
        found: dict[str, int] = {}
        for instruction in self.instructions:
            found[instruction.op] = found.get(instruction.op, 0) + 1
        return found


WAYS: dict[str, str] = {
    "load": "dram to sram",
    "store": "sram to dram",
    "load-table": "dram to table",
    "load-header": "dram to register",
    "copy": "dram to dram",
    "host": "dram to host and back",
}
"""Between which memories an instruction moves bytes."""
