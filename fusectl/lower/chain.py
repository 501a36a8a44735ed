"""A group of the overlay taken apart again: the product, its bias, its function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fusectl.decide.judge import Ruling
from fusectl.graph.overlay import Group
from fusectl.graph.view import Node
from fusectl.lower.jobs import Unlowerable
from fusectl.match.candidate import Candidate
from fusectl.tables.target_schema import PathDoc


@dataclass(frozen=True, slots=True)
class Chain:
    """One node of the graph, with what a fusion put behind it.

    ``node`` is the first, whose attributes hold, ``inputs`` are its own; ``bias`` is the value
    that is added to its sum, ``rounds``: to the rounded sum, as the nodes apart do; ``post`` is the
    function's node; ``path`` is what the target states about the last fusion; ``order`` places it
    among the others.
    """

    op: str
    node: Node
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    order: int
    bias: str = ""
    rounds: bool = False
    post: Node | None = None
    path: PathDoc | None = None


def chain(group: Group, rulings: Mapping[int, Ruling]) -> Chain:
    """Return what a group computes. ``rulings`` are those that fused, by the group they made.

    Raises Unlowerable for a fusion that is neither a bias nor a function behind a product.
    """
    ruling = rulings.get(id(group))
    if ruling is None:
        node = group.lead or group.last
        return Chain(group.op, node, group.inputs, group.outputs, (node,), group.order)
    found = ruling.candidate
    joined = extended(chain(found.producer.group, rulings), found)
    return replace(joined, outputs=group.outputs, nodes=group.members, order=group.order)


def extended(base: Chain, found: Candidate) -> Chain:
    """Return a chain with the consumer of a candidate put behind it. Raises Unlowerable."""
    takes = found.rule.slots.takes
    consumer = found.consumer
    nodes = (*base.nodes, *found.told_between, consumer.node)
    whole = replace(base, outputs=consumer.outputs, nodes=nodes, path=found.path)
    if takes == "bias" and not base.bias:
        others = [v for slot, v in enumerate(consumer.inputs) if slot != found.slot and v]
        return replace(whole, bias=others[0], rounds=found.numerics == "exact")
    if takes == "post" and base.post is None:
        return replace(whole, post=consumer.node)
    raise Unlowerable(f"there is no program for what {found.rule.id} makes of {base.node.label}")
