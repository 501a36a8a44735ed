"""What earlier decisions, or the model as loaded, have made of the nodes."""

from __future__ import annotations

from fusectl.checks.registry import Args, Outcomes, check, fail
from fusectl.checks.users import written_beside
from fusectl.graph.view import Node
from fusectl.match.candidate import Candidate, Role
from fusectl.tables.schema import SlotFact


def taken(candidate: Candidate, role: Role, slot: str) -> str:
    """Return what has taken a slot: a node of an earlier fusion, or the model as loaded."""
    if role.held:
        return ""
    known = role.group.slots.get(slot)
    if known:
        return known
    facts = candidate.operators.facts.get(role.group.op)
    fact = facts.slots.get(slot) if facts else None
    return taken_as_loaded(fact, role.group.inputs, role.group.lead) if fact is not None else ""


def taken_as_loaded(fact: SlotFact, inputs: tuple[str, ...], lead: Node | None) -> str:
    """Return what has taken a slot in the model as loaded, as the operator's facts tell it."""
    if fact.input is not None:
        there = len(inputs) > fact.input and bool(inputs[fact.input])
        return f"input {inputs[fact.input]}" if there else ""
    stated = lead.attrs.get(fact.attribute) if lead is not None else None
    return f"{fact.attribute} {stated} in the model" if stated else ""


@check("slot-free", "already-fused")
def slot_free(candidate: Candidate, args: Args) -> Outcomes:
    """The producer's post-processing slot is free."""
    found = []
    for slot in candidate.rule.slots.free:
        holder = taken(candidate, candidate.producer, slot)
        if holder:
            label = candidate.producer.node.label
            found.append(
                fail(
                    label,
                    f"its {slot} slot is taken by {holder}",
                    f"one {slot} slot takes one operator: merge {holder} and "
                    f"{candidate.consumer.node.label} into one function, or keep the second",
                )
            )
    return found or None


@check("unclaimed", "claimed")
def unclaimed(candidate: Candidate, args: Args) -> Outcomes:
    """No other decision holds one of the nodes."""
    found = []
    for role in candidate.roles:
        if role is None:
            continue
        group = role.group
        if role.held and role is candidate.producer and written_beside(candidate):
            continue  # the group is open: another reader of the value joins it
        if role.held:
            names = "+".join(m.label for m in group.members)
            found.append(
                fail(
                    role.node.label,
                    f"{names} became {_form(group.op)} first (decision {group.decision})",
                    "the earlier pass wins; keep it, or switch that rule off to give this one "
                    "the node",
                )
            )
        elif group.sealed:
            names = "+".join(m.label for m in group.members)
            found.append(
                fail(
                    role.node.label,
                    f"{names} became {group.sealed} (decision {group.decision}), which later "
                    "passes cannot enter",
                    "give the product a rank or static shape for which the earlier fusion is "
                    "one operator",
                )
            )
    return found or None


def _form(op: str) -> str:
    return f"one {op.rsplit('.', 1)[-1]}"
