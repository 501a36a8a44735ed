"""What a fused node says about itself: the decisions behind it and the nodes that it replaces."""

from __future__ import annotations

import onnx

from fusectl.decide import Ruling, Run
from fusectl.graph.overlay import Group
from fusectl.rewrite.forms import members
from fusectl.rewrite.scopes import Scope

_PREFIX = "fusectl."
_METADATA = 10
"""The IR version that has metadata at nodes."""


def history(group: Group, run: Run) -> list[Ruling]:
    """Return the decisions that made a group, the first one first."""
    made = {id(r.group): r for r in run.rulings if r.group is not None}
    found: list[Ruling] = []
    pending = [group]
    while pending:
        ruling = made.get(id(pending.pop()))
        if ruling is not None:
            found.append(ruling)
            pending += ruling.candidate.parts
    return found[::-1]


def mark(node: onnx.NodeProto, group: Group, scope: Scope) -> None:
    """Write a group's provenance into the node that stands for it."""
    rulings = history(group, scope.run)
    facts = {
        "rules": ", ".join(r.candidate.rule.id for r in rulings),
        "decisions": ", ".join(r.id for r in rulings),
        "nodes": ", ".join(m.label for m in members(group, scope)),
    }
    if scope.view.model.ir_version < _METADATA:
        node.doc_string = "\n".join(f"{_PREFIX}{key}: {text}" for key, text in facts.items())
        return
    for entry in [e for e in node.metadata_props if e.key.startswith(_PREFIX)]:
        node.metadata_props.remove(entry)
    for key, text in facts.items():
        node.metadata_props.add(key=f"{_PREFIX}{key}", value=text)
