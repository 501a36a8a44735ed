"""What stands between decisions and instructions: one job for each call of a unit."""

from __future__ import annotations

from dataclasses import dataclass, field

from fusectl.program import Encoding, Role
from fusectl.tiling import Tiling
from fusectl.tiling.geometry import Geometry


class Unlowerable(Exception):
    """Something has no program on this target; the text says what and why."""


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of the post-processing stage, with its attributes; by table or directly."""

    function: str
    arguments: tuple[tuple[str, float], ...]
    table: bool


@dataclass(frozen=True, slots=True)
class Job:
    """One call. ``reads`` are its operands in the order a, b, c (empty: not there).

    ``kind`` is that of its template; ``sizes`` those of a product or convolution, ``tiling`` its
    cut; ``coded`` the encoding that a conversion reads or writes, or in which the
    post-processing writes its result; ``between`` the one to which the sum is rounded before
    operand c is added.
    """

    kind: str
    operator: str
    nodes: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    sizes: Geometry | None = None
    tiling: Tiling | None = None
    activation: Activation | None = None
    coded: Encoding | None = None
    alpha: float = 1.0
    beta: float = 1.0
    between: Encoding | None = None

    @property
    def late(self) -> bool:
        """Whether operand c is added to the finished sum, not what the accumulators start with."""
        return self.alpha != 1.0 or self.between is not None


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the model as the machine holds it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    encoding: Encoding
    role: Role

    @property
    def count(self) -> int:
        """The number of its elements."""
        count = 1
        for length in self.shape:
            count *= length
        return count


@dataclass(frozen=True, slots=True)
class Work:
    """The jobs of a program in order, and every value that they read or write.

    ``views`` are values that are another one looked at under another shape: no job makes them.
    """

    jobs: tuple[Job, ...]
    values: dict[str, Value]
    views: dict[str, str] = field(default_factory=dict)

    def buffer(self, name: str) -> str:
        """Return the value in whose memory a value lies."""
        while name in self.views:
            name = self.views[name]
        return name
