"""The plan of ``apply``: what is written in the place of what. Its JSON form is public."""

from __future__ import annotations

from collections.abc import Iterable

from fusectl import __version__
from fusectl.report.types import ModelRef, NoteRecord, Record, StepRecord, TargetRef, Tool
from fusectl.rewrite.emit import Edit
from fusectl.rewrite.forms import members
from fusectl.rewrite.marks import history
from fusectl.rewrite.rounds import Result
from fusectl.tables.targets import Target

PLAN_SCHEMA = "fusectl.plan/1"


class PlannedNode(Record, frozen=True, gc=False):
    """A node that is written: an operator of the target, or a call of a function.

    ``native`` is False for a function whose body is ``replaces``; ``why`` says what stands against
    an operator. ``rules`` and ``decisions`` are those behind it, the first one first.
    """

    name: str
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    native: bool
    why: str
    rules: tuple[str, ...]
    decisions: tuple[str, ...]
    replaces: tuple[str, ...]
    round: int
    graph: tuple[StepRecord, ...] = ()


class LeftNode(Record, frozen=True, gc=False):
    """What was decided and is not written: a group, or the body of a function."""

    name: str
    why: str


class Plan(Record, frozen=True, gc=False):
    """What ``apply`` writes."""

    schema: str
    tool: Tool
    model: ModelRef
    target: TargetRef
    nodes_before: int
    nodes_after: int
    rounds: int
    removed: int
    edits: tuple[PlannedNode, ...]
    left: tuple[LeftNode, ...]
    notes: tuple[NoteRecord, ...]
    output: str = ""
    data_files: tuple[str, ...] = ()

    @property
    def native(self) -> int:
        """How many nodes are operators of the target."""
        return sum(e.native for e in self.edits)


def plan(result: Result, path: str, sha256: str, target: Target) -> Plan:
    """Make the plan of a rewritten model."""
    rounds = result.rounds
    opsets = {o.domain: o.version for o in result.model.opset_import}
    edits = tuple(_planned(e, n) for n, r in enumerate(rounds, start=1) for e in r.edits)
    return Plan(
        PLAN_SCHEMA,
        Tool("fusectl", __version__),
        ModelRef(path, sha256, opsets, result.nodes),
        TargetRef(target.id, target.version),
        result.nodes,
        rounds[-1].nodes if rounds else result.nodes,
        len(rounds),
        sum(len(run.removed) for r in rounds for run in r.runs),
        edits,
        tuple(LeftNode(name, why) for r in rounds for name, why in r.left),
        tuple(NoteRecord("info", text, "") for text in result.notes),
    )


def _planned(edit: Edit, number: int) -> PlannedNode:
    rulings = history(edit.group, edit.scope.run)
    node = edit.node
    return PlannedNode(
        node.name,
        node.op_type,
        node.domain,
        tuple(node.input),
        tuple(node.output),
        edit.native,
        edit.why,
        tuple(r.candidate.rule.id for r in rulings),
        tuple(r.id for r in rulings),
        tuple(m.label for m in members(edit.group, edit.scope)),
        number,
        tuple(_steps(edit)),
    )


def _steps(edit: Edit) -> Iterable[StepRecord]:
    for step in edit.scope.view.scope:
        yield StepRecord(step.node, step.attr, step.function, step.call)
