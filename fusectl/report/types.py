"""The report's records. Their JSON form is public: see ``fusectl.report.schema``."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "fusectl.report/1"
Status = Literal["pass", "fail", "unknown"]
Verdict = Literal["fuse", "keep"]


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=False):
    """Base of all records: immutable, compared by value."""

    def json(self, indent: int = 0) -> bytes:
        """Return the record as JSON, the same bytes for the same input."""
        encoded = msgspec.json.encode(self)
        return msgspec.json.format(encoded, indent=indent) if indent else encoded


class StepRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One step of a scope: ``{node, attr}`` into a body, ``{function, call}`` into a function."""

    node: str = ""
    attr: str = ""
    function: str = ""
    call: str = ""


class NodeRef(Record, frozen=True, gc=False):
    """A node of the user's model. ``output`` is its first output, its identity for machines."""

    name: str
    op_type: str
    domain: str
    output: str
    graph: tuple[StepRecord, ...] = ()

    @property
    def label(self) -> str:
        """What people call it: its name, or its first output where it has none."""
        return self.name or self.output

    @property
    def op(self) -> str:
        """The operator, domain-qualified outside ONNX's own domain."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type


class Finding(Record, frozen=True, gc=False):
    """What one check found: required and observed, and what would help."""

    reason: str
    group: str = msgspec.field(name="class")
    status: Status
    subject: str
    required: str
    observed: str
    help: str
    where: str


class Edge(Record, frozen=True, gc=False):
    """A candidate edge; ``value`` is what the producer makes."""

    value: str
    producer: NodeRef
    consumer: NodeRef


class Missing(Record, frozen=True, gc=False):
    """A role of a multi-node pattern that did not match."""

    role: str
    expected: str
    observed: str
    node: str


class FusedNode(Record, frozen=True, gc=False):
    """What the fused form is on the target: an operator, or a function of a path."""

    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    function: str


class Instructions(Record, frozen=True, gc=False):
    """What is run for the nodes apart (``before``) and for the fused form (``after``), in lines.

    They are instructions, or the kernels of a target that has none. ``would``: the pair is kept,
    and this is what the fused form would have been. ``trouble`` says why there are no lines.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    would: bool
    trouble: str


class Cost(Record, frozen=True, gc=False):
    """What a program costs: instructions by opcode, bytes moved, the most bytes in use.

    Of kernels, ``opcodes`` are their operators. Of values without a known size, which ``moved``
    and ``peak`` leave out, there are as many as ``unknown_moved`` and ``unknown_peak`` say.
    """

    instructions: int
    opcodes: dict[str, int]
    moved: dict[str, int]
    peak: dict[str, int]
    unknown_moved: dict[str, int] = {}
    unknown_peak: dict[str, int] = {}


class Programs(Record, frozen=True, gc=False):
    """The main graph's program without and with the fusions; ``trouble``: why there is none.

    ``kind`` tells what it is made of.
    """

    unfused: Cost | None
    fused: Cost | None
    trouble: str
    kind: Literal["instructions", "kernels"] = "instructions"


class Decision(Record, frozen=True, gc=False):
    """A candidate with all its findings and a verdict."""

    id: str
    structure: str
    rule: str
    pass_: int = msgspec.field(name="pass")
    builds_on: tuple[str, ...]
    edge: Edge
    nodes: tuple[NodeRef, ...]
    between: tuple[NodeRef, ...]
    missing: tuple[Missing, ...]
    swallows: tuple[str, ...]
    materialises: tuple[str, ...]
    verdict: Verdict
    headline: str | None
    findings: tuple[Finding, ...]
    fused_node: FusedNode | None = None
    source: str | None = None
    ledger: None = None
    instructions: Instructions | None = None

    @property
    def blockers(self) -> tuple[Finding, ...]:
        """The findings that are not ``pass``, in headline order."""
        return tuple(f for f in self.findings if f.status != "pass")


class Tool(Record, frozen=True, gc=False):
    """Who wrote the report."""

    name: str
    version: str


class ModelRef(Record, frozen=True, gc=False):
    """The model that was explained; ``opset`` by domain."""

    path: str
    sha256: str
    opset: dict[str, int]
    nodes: int


class TargetRef(Record, frozen=True, gc=False):
    """The target that it was explained for."""

    id: str
    version: str


class Summary(Record, frozen=True, gc=False):
    """Counts; ``reasons`` counts headlines, ``unknown`` the keeps with an unknown headline."""

    candidates: int
    fuse: int
    keep: int
    unknown: int
    reasons: dict[str, int]
    uncovered_edges: int


class NoteRecord(Record, frozen=True, gc=False):
    """Something about the model that the user should know."""

    level: Literal["info", "warning"]
    text: str
    subject: str


class Eliminated(Record, frozen=True, gc=False):
    """A node that a pass removed before fusing."""

    node: NodeRef
    pass_: int = msgspec.field(name="pass")
    why: str


class Uncovered(Record, frozen=True, gc=False):
    """Adjacent compute nodes that no rule of the target covers, by operator pair."""

    producer: str
    consumer: str
    count: int
    edges: tuple[Edge, ...]


class Report(Record, frozen=True, gc=False):
    """Everything that was decided about one model on one target."""

    schema: str
    tool: Tool
    model: ModelRef
    target: TargetRef
    summary: Summary
    notes: tuple[NoteRecord, ...]
    eliminated: tuple[Eliminated, ...]
    uncovered: tuple[Uncovered, ...]
    decisions: tuple[Decision, ...]
    programs: Programs | None = None
