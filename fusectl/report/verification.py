"""What ``verify`` found. Its JSON form is public."""

from __future__ import annotations

from typing import Literal

from fusectl.report.types import Edge, ModelRef, Record, TargetRef, Tool
from fusectl.tables.target_schema import Demand

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


class InputGroup(Record, frozen=True, gc=False):
    """One group of inputs: ``centre``, ``ends`` or ``half-step``.

    ``inputs`` counts the sums that the group is about, ``different`` the results whose bits are not
    those of the nodes apart, ``beyond`` those beyond the bound of ONNX's reference evaluator;
    ``worst`` is the largest distance to it, in the numbers that the results stand for; None where
    a result is no finite number and the evaluator's is.
    """

    group: str
    inputs: int
    different: int
    beyond: int
    worst: float | None


class EpilogueProof(Record, frozen=True, gc=False):
    """The proof of the epilogue given U: ``codes`` of U that went through both paths.

    ``possible`` counts all that a sum can leave as. ``different`` and ``beyond`` are those of a
    group of inputs.
    """

    codes: int
    possible: int
    different: int
    beyond: int


class FromFormula(Record, frozen=True, gc=False):
    """Distances from the real-number formula: what the nodes would compute without any rounding.

    ``written`` and ``fused`` are the largest absolute distances of the graph as written and of the
    fused form, None where one of them is no finite number; ``closer`` and ``farther`` count
    elements in which the fused form is; ``beyond`` those in which it is farther than the graph as
    written and than the bound. Of codes, distances are in the numbers that they stand for where
    the target runs programs, else in codes.
    """

    written: float | None
    fused: float | None
    closer: int
    farther: int
    beyond: int


class Simulated(Record, frozen=True, gc=False):
    """What the simulator found about one decision. ``decision`` is its id in the report.

    ``proof`` is None where no function follows the product. Without ``groups`` nothing was run.
    """

    decision: str
    edge: Edge
    groups: tuple[InputGroup, ...]
    proof: EpilogueProof | None

    @property
    def different(self) -> int:
        """How many results differ in their bits, over all groups of inputs."""
        return sum(g.different for g in self.groups)

    @property
    def beyond(self) -> int:
        """How many results lie beyond the bound, over all groups of inputs."""
        return sum(g.beyond for g in self.groups)


class Times(Record, frozen=True, gc=False):
    """Seconds that one run takes: the median, and between which a half of all runs lie."""

    median: float
    low: float
    high: float


class Timing(Record, frozen=True, gc=False):
    """The original nodes (``before``) and what is written for them, run in turns ``runs`` times."""

    before: Times
    after: Times
    runs: int


class Checked(Record, frozen=True, gc=False):
    """A fused node, or the model as a whole, held against what it replaces.

    ``told``: measured and not judged. ``why`` says what failed, or why nothing was run.
    ``demands`` is what had to hold, ``held`` all that did; ``formula`` is None where none is known
    of a node. ``simulated`` is set for a decision whose program was run by the target's simulator,
    ``timing`` where both sides were timed.
    """

    name: str
    op_type: str
    rules: tuple[str, ...]
    outcome: Outcome
    why: str
    witness: Witness | None
    demands: Demand = "bound"
    held: tuple[Demand, ...] = ()
    formula: FromFormula | None = None
    simulated: Simulated | None = None
    timing: Timing | None = None


class Verification(Record, frozen=True, gc=False):
    """All fused nodes and the whole model, original against fused.

    ``programs``: the target runs programs, so ``nodes`` are decisions, fused and unfused programs
    are compared, and ``relative`` and ``absolute`` are the target's bound: both count together,
    and of codes half a step.
    """

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
    programs: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def complete(self) -> bool:
        """Whether all that was fused was run, by itself or in the whole model."""
        return self.whole.outcome != "not run" or all(c.outcome != "not run" for c in self.nodes)

    @property
    def failures(self) -> tuple[Checked, ...]:
        """What failed."""
        return tuple(c for c in (*self.nodes, self.whole) if c.outcome == "fail")
