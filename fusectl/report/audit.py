"""What ``audit`` found: the records that its renderers see."""

from __future__ import annotations

from typing import Literal

from fusectl.report.types import Edge, Finding, ModelRef, Record, TargetRef, Tool, Verdict

SCHEMA = "fusectl.audit/1"
Fate = Literal["fused", "kept", "folded", "eliminated", "unresolved"]
Outcome = Literal[
    "agree",
    "predicted-not-fused",  # a decision fuses the edge, the compiler does not
    "fused-not-predicted",  # the compiler fuses an edge that no decision fuses
    "fused-although-illegal",  # the compiler fuses what the legality checks prove wrong
    "not-comparable",  # folded, eliminated, unresolved, or an edge that only moves data
]


class Against(Record, frozen=True, gc=False):
    """What the decisions were held against: a runtime that ran, or a file of measured edges.

    ``truth`` is the file, or empty; ``version`` and ``level`` are what the runtime or the file say.
    """

    runtime: str
    title: str
    version: str
    level: str
    truth: str


class AuditedEdge(Record, frozen=True, gc=False):
    """One edge, what the compiler did with it and what was decided.

    ``kernel`` is the operator that runs a fused edge and ``node`` its name in the optimised graph;
    ``between`` has the operators of eliminated nodes on the way. ``decision`` is the id of the
    decision in the report of ``explain`` (None: no decision is about the edge), ``blockers`` its
    findings if it is a ``keep``. ``where`` are the places in rule and target files to look at, and
    ``hint`` says what to do; both are empty where nothing disagrees.
    """

    edge: Edge
    outcome: Outcome
    fate: Fate
    moves_data: bool
    kernel: str
    node: str
    between: tuple[str, ...]
    decision: str | None
    rule: str | None
    verdict: Verdict | None
    headline: str | None
    blockers: tuple[Finding, ...] = ()
    where: tuple[str, ...] = ()
    hint: str = ""


class Witness(Record, frozen=True, gc=False):
    """How far apart the outputs of the model, optimised and not, were found on ``tried`` inputs.

    ``differs``: by more than rounding makes. ``plain`` and ``optimised`` are the numbers at
    ``index`` of ``output``, where they lie furthest apart; None is no finite number. ``inputs``
    says how the inputs were made, ``file`` where they are. ``error`` says why nothing could be run.
    """

    tried: int
    differs: bool
    inputs: str
    output: str
    index: tuple[int, ...]
    plain: float | None
    optimised: float | None
    file: str
    error: str = ""


class Incomparable(Record, frozen=True, gc=False):
    """Edges that are not compared: ``nested`` ones lie in bodies and functions."""

    folded: int
    eliminated: int
    unresolved: int
    moves_data: int
    nested: int


class AuditSummary(Record, frozen=True, gc=False):
    """Counts of edges.

    ``agreement`` is the share of edges that agree, of those that are compared; edges that are
    fused although illegal are left out of it. ``precision`` is the share of the predicted edges
    that are fused, ``recall`` the share of the fused edges that are predicted. None: of nothing.
    """

    compared: int
    fused: int
    kept: int
    predicted_not_fused: int
    fused_not_predicted: int
    illegal: int
    not_comparable: Incomparable
    agreement: float | None
    precision: float | None
    recall: float | None

    @property
    def disagreements(self) -> int:
        """Edges about which the decisions and the compiler say different things."""
        return self.predicted_not_fused + self.fused_not_predicted + self.illegal


class Audit(Record, frozen=True, gc=False):
    """The decisions about one model on one target, held against what a compiler did."""

    schema: str
    tool: Tool
    model: ModelRef
    target: TargetRef
    against: Against
    summary: AuditSummary
    edges: tuple[AuditedEdge, ...]
    witness: Witness | None
    notes: tuple[str, ...] = ()
