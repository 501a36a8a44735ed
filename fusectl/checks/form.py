"""What a match becomes, and whether that computes all that the match did."""

from __future__ import annotations

from fusectl.checks.limits import holds
from fusectl.checks.registry import Args, Outcome, Outcomes, check, fail
from fusectl.checks.state import taken
from fusectl.graph.view import GraphView, Node
from fusectl.match.candidate import Candidate, Role
from fusectl.tables.schema import OperatorFacts
from fusectl.tables.target_schema import Becomes, When

_ENDS = ("", "producer", "consumer")


def form_of(found: Candidate) -> Becomes:
    """Choose what a match becomes on this target: the first form whose condition holds."""
    for form in found.path.becomes if found.path else ():
        if form.when is None or _applies(found, form.when):
            return form
    return Becomes()


def _applies(found: Candidate, when: When) -> bool:
    roles = ((found.role_of(value), ops) for value, ops in when.only.items())
    return holds(found, when.rank, when.static) and all(
        role is not None and role.op in ops for role, ops in roles
    )


def named_op(found: Candidate) -> str:
    """Return the operator that the rule names for a whole match; empty: one of its nodes stays."""
    return found.rule.becomes if found.rule.becomes not in _ENDS else ""


@check("nothing-beside", "attribute", needs="stand-ins")
def nothing_beside(candidate: Candidate, args: Args) -> Outcomes:
    """An operator that counts as another one computes nothing beside what that one does."""
    form = form_of(candidate)
    made = form.op or named_op(candidate)
    # A function has the original nodes in its body.
    if not made or form.function:
        return None
    found: list[Outcome] = []
    for role, node in zip(candidate.roles, candidate.pattern.nodes, strict=True):
        if role is None or role.op == made:
            continue
        counts = candidate.operators.acts_as(role.op)
        if counts == role.op or counts not in node.ops:
            continue
        more = beside(candidate, role)
        if more:
            found.append(
                fail(
                    role.node.label,
                    f"{more}, which {made} would not compute",
                    f"write it as {counts} and what is done beside it, or keep it",
                )
            )
    return found or None


def beside(candidate: Candidate, role: Role) -> str:
    """Return what a stand-in computes beside the operator that it counts as; nothing: nothing."""
    operators = candidate.operators
    facts = operators.facts[role.op]
    name = role.op.rpartition(".")[2]
    if facts.alike is None or (not role.held and role.lead.op != role.op):
        return f"{name} is more than {facts.acts_as}"
    stated = attribute_beside(facts, candidate.overlay.view, role.lead)
    if stated:
        return f"{name} has {stated}"
    for slot in operators.more_slots(role.op):
        holder = taken(candidate, role, slot)
        if holder:
            return f"{name} has its {slot} slot taken by {holder}"
    return ""


def differs(candidate: Candidate, role: Role) -> bool:
    """Tell whether a stand-in of the model as loaded computes something else than its like.

    What has taken a slot is another matter, and so is a result that is quantised.
    """
    facts = candidate.operators.facts.get(role.op)
    if facts is None or not facts.acts_as or facts.quantized_output or role.lead.op != role.op:
        return False
    stated = attribute_beside(facts, candidate.overlay.view, role.lead)
    return facts.alike is None or bool(stated)


def attribute_beside(facts: OperatorFacts, view: GraphView, node: Node) -> str:
    """Return an attribute by which a stand-in differs from the operator that it counts as."""
    for attribute, plain in (facts.alike or {}).items():
        stated = view.attr(node, attribute)
        if isinstance(stated, int | float) and stated != plain:
            return f"{attribute} {stated:g}"
    return ""
