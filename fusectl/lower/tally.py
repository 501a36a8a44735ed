"""What a program costs, counted: calls by name, bytes moved, the highest number of bytes in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fusectl.lower.kernels import Kernel, Kernels
from fusectl.lower.life import lives, peak
from fusectl.program import Program

READ, CONSTANTS, WRITTEN = MOVED = ("activations read", "constants read", "activations written")
LIVE, STORED = "activations", "constants"


@dataclass(frozen=True, slots=True)
class Tally:
    """Instructions or kernels by name; bytes moved and in use, by kind.

    ``unknown_moved`` and ``unknown_peak`` count what is left out, by kind: its size is not known.
    """

    calls: int
    names: dict[str, int]
    moved: dict[str, int]
    peak: dict[str, int]
    unknown_moved: dict[str, int] = field(default_factory=dict)
    unknown_peak: dict[str, int] = field(default_factory=dict)


def tally_program(program: Program) -> Tally:
    """Count the instructions of a lowered program."""
    return Tally(len(program.instructions), program.opcodes, program.moved, program.peak)


def tally_kernels(kernels: Kernels, program: Iterable[Kernel]) -> Tally:
    """Count the kernels of a program.

    What is moved counts once for each kernel that reads or writes it. In use are all constants
    from the first kernel to the last, and each activation as long as it lives.
    """
    program = list(program)
    moved, held = Sizes(kernels), Sizes(kernels)
    for kernel in program:
        moved.add_kernel(kernel)
    found = lives(((*k.reads, *k.writes) for k in program), kernels.role)
    live: dict[str, int] = {}
    for value in found:
        constant = kernels.role(value) == "constant"
        size = held.add(STORED if constant else LIVE, value)
        if size is not None and not constant:
            live[value] = size
    in_use = {LIVE: peak(found, live)} if live else {}
    in_use |= {k: v for k, v in held.bytes.items() if k == STORED}
    names = dict(Counter(k.op for k in program))
    return Tally(
        len(program), names, _ordered(moved.bytes), in_use, _ordered(moved.unknown), held.unknown
    )


def _ordered(by_kind: dict[str, int]) -> dict[str, int]:
    return {kind: by_kind[kind] for kind in MOVED if kind in by_kind}


class Sizes:
    """Bytes by kind, and how many values of each kind have no size that is known."""

    def __init__(self, kernels: Kernels) -> None:
        """Take the scope that the values are of."""
        self._kernels = kernels
        self.bytes: dict[str, int] = {}
        self.unknown: dict[str, int] = {}

    def add(self, kind: str, value: str) -> int | None:
        """Count one value; returns its bytes, if they are known."""
        size = self._kernels.size(value)
        if size is None:
            self.unknown[kind] = self.unknown.get(kind, 0) + 1
        else:
            self.bytes[kind] = self.bytes.get(kind, 0) + size
        return size

    def add_kernel(self, kernel: Kernel) -> None:
        """Count what a kernel reads and writes."""
        for value in kernel.reads:
            constant = self._kernels.role(value) == "constant"
            self.add(CONSTANTS if constant else READ, value)
        for value in kernel.writes:
            self.add(WRITTEN, value)

    def told(self, kind: str) -> str:
        """Return the bytes of a kind in words; empty where there is nothing of it."""
        known = [str(self.bytes[kind])] if kind in self.bytes else []
        missing = self.unknown.get(kind, 0)
        if not missing:
            return "".join(known)
        return " + ".join((*known, f"{missing} unknown" if known or missing > 1 else "unknown"))


def lines(kernels: Kernels, program: Iterable[Kernel]) -> Iterator[str]:
    """Yield one line for each kernel: ``OP result <- operands  + what is in it  bytes: ...``."""
    words = (("read", READ), ("constants", CONSTANTS), ("written", WRITTEN))
    for kernel in program:
        sizes = Sizes(kernels)
        sizes.add_kernel(kernel)
        made, read = ", ".join(kernel.writes), ", ".join(kernel.reads) or "nothing"
        parts = [f"{kernel.op} {made} <- {read}"]
        if kernel.added:
            parts.append(f"+ {' + '.join(kernel.added)}")
        told = [f"{word} {text}" for word, kind in words if (text := sizes.told(kind))]
        if told:
            parts.append(f"bytes: {', '.join(told)}")
        yield "  ".join(parts)
