"""What ``verify`` found. Its JSON form is public."""

from __future__ import annotations

from typing import Literal

from fusectl.report.types import ModelRef, Record, TargetRef, Tool

VERIFICATION_SCHEMA = "fusectl.verification/1"
Outcome = Literal["pass", "fail", "told", "not run"]


class Witness(Record, frozen=True, gc=False):
    """The worst element of all that was compared: where it is, and what stood there.

    ``relative`` is ``absolute`` over the largest magnitude of the expected tensor; for whole
    numbers ``absolute`` counts codes. ``inputs`` names the region that the inputs were from.
    """

    output: str
    place: tuple[int, ...]
    expected: str
    actual: str
    absolute: float
    relative: float
    whole: bool
    inputs: str


class Checked(Record, frozen=True, gc=False):
    """A fused node, or the model as a whole, held against what it replaces.

    ``told``: measured and not judged. ``why`` says what failed, or why nothing was run.
    """

    name: str
    op_type: str
    rules: tuple[str, ...]
    outcome: Outcome
    why: str
    witness: Witness | None


class Verification(Record, frozen=True, gc=False):
    """All fused nodes and the whole model, original against fused."""

    schema: str
    tool: Tool
    model: ModelRef
    target: TargetRef
    runtime: str
    relative: float
    absolute: float
    codes: int
    nodes: tuple[Checked, ...]
    whole: Checked

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Checked, ...]:
        """What failed."""
        return tuple(c for c in (*self.nodes, self.whole) if c.outcome == "fail")
