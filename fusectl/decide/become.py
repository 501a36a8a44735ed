"""What an accepted match becomes: one group in the place of its parts."""

from __future__ import annotations

from dataclasses import dataclass

from fusectl.checks.form import form_of, named_op
from fusectl.checks.users import duplicable, other_readers
from fusectl.decide.judge import Ruling
from fusectl.graph.overlay import Group
from fusectl.graph.view import Node
from fusectl.match import Candidate, Role
from fusectl.tables.target_schema import Becomes

_QUANTIZE = "QuantizeLinear"


@dataclass(frozen=True, slots=True)
class Fused:
    """What a whole match is once it is one group; ``lead`` is the node whose attributes hold."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lead: Node | None
    form: Becomes


def fused(ruling: Ruling) -> Fused:
    """Return what a match becomes, or what a refused one would have become.

    The match has to be whole, and nothing of it held by another group.
    """
    found = ruling.candidate
    form = form_of(found)
    main = found.consumer if found.rule.becomes == "consumer" else found.producer
    gone = set(ruling.swallows)
    # A group that remains for its other readers writes its results itself.
    stays = {id(g) for g in _copied(ruling)}
    outputs = [o for o in found.consumer.outputs if o] if found.rule.two_node else []
    if not found.rule.two_node:
        parts = (r for r in found.roles if r is not None and id(r.group) not in stays)
        every = (o for r in parts for o in r.outputs if o)
        outputs = [o for o in dict.fromkeys(every) if o not in gone]
    outputs += ruling.materialises
    if found.rule.two_node and id(found.producer.group) not in stays:
        # What the producer's group writes beside the edge is written as before.
        outputs += [o for o in found.producer.group.outputs if o and o not in gone]
    lead = main.group.lead if form.op in ("", main.group.op) or _alike(found, form.op) else None
    made = tuple(dict.fromkeys(outputs))
    return Fused(form.op or _own_op(found, main), _inputs(found, main, gone), made, lead, form)


def become(ruling: Ruling) -> Group:
    """Put the fused form of an accepted match into its overlay."""
    found = ruling.candidate
    made = fused(ruling)
    ruling.stays = tuple(_copied(ruling))
    group = found.overlay.fuse(
        found.parts, made.op, made.inputs, made.outputs, made.lead, ruling.stays
    )
    group.decision = ruling.id
    group.function = made.form.function
    beside = (*(v for g in found.parts for v in g.beside), *ruling.materialises)
    group.beside = tuple(v for v in dict.fromkeys(beside) if v in made.outputs)
    group.sealed = made.form.sealed
    if not found.rule.two_node and found.operators.acts_as(found.consumer.op) == _QUANTIZE:
        group.core = (found.value, found.producer.node, found.consumer.node)
    if found.rule.slots.takes:
        taker = f"{found.consumer.node.label} ({found.consumer.op})"
        group.slots[found.rule.slots.takes] = taker
    ruling.group = group
    return group


def _copied(ruling: Ruling) -> list[Group]:
    """Groups that the target may copy and that others still read, with those in front of them."""
    found, overlay = ruling.candidate, ruling.candidate.overlay
    copied: list[Group] = []
    if ruling.materialises:
        return copied
    for group in found.parts:
        for value in group.outputs:
            if value and duplicable(found, value):
                needed = value in overlay.returned or value in overlay.captured
                if needed or other_readers(found, value):
                    copied.append(group)
    for group in copied:
        # What remains reads what it read before, so that has to remain as well.
        makers = [overlay.producers.get(v) for v in group.inputs]
        copied += [g for g in found.parts if g in makers and g not in copied]
    return copied


def _alike(found: Candidate, op: str) -> bool:
    return found.operators.acts_as(op) == found.operators.acts_as(found.producer.op)


def _own_op(found: Candidate, main: Role) -> str:
    return named_op(found) or main.group.op


def _inputs(found: Candidate, main: Role, gone: set[str]) -> tuple[str, ...]:
    """The fused form's inputs: those of the main node first, in its order."""
    if found.rule.operands:
        named = [found.bound.get(o, "") for o in found.rule.operands]
        while named and not named[-1]:
            named.pop()
        return tuple(named)
    first: list[str] = []
    for value in main.group.inputs:
        if value in gone and main is found.consumer:
            # The producer's own operand takes the place of what it made.
            first.append(found.bound[found.pattern.nodes[found.pattern.producer].inputs[0]])
        elif value not in gone:
            first.append(value)
    if found.rule.slots.takes not in ("", "bias"):
        # A slot is known by the number of an input, so further operands come behind them all.
        first += [""] * (4 - len(first))
    rest = [v for g in found.parts for v in g.inputs if v and v not in gone]
    known = set(first)
    return (*first, *(v for v in dict.fromkeys(rest) if v not in known))
