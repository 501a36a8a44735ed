"""Edges in the user's own names, as wide as there is room."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

from fusectl.render.names import ellipsis, escape, share, shorten
from fusectl.render.paths import shared_path, without
from fusectl.report.types import Decision, NodeRef


def scope(node: NodeRef) -> str:
    """Return where a node stands, or nothing for the main graph."""
    steps = (f"{s.node}.{s.attr}" if s.node else f"{s.function} at {s.call}" for s in node.graph)
    return " > ".join(steps)


def pair(decision: Decision) -> str:
    """Return the operators of an edge without their domains: ``MatMul -> Sigmoid``."""
    return f"{decision.edge.producer.op_type} -> {decision.edge.consumer.op_type}"


def edge(decision: Decision, room: int, encoding: str = "utf-8", ops: bool = True) -> str:
    """Return ``mm (MatMul) -> [q QuantizeLinear] -> act (Sigmoid)``, cut to fit ``room``.

    Without ``ops`` the operators of the two ends are left out. Where room is short, operators go
    that a name tells already, then the path that the names share, then the names of what stands
    between, then the middle of names.
    """
    ends = decision.edge
    return chain((ends.producer, *decision.between, ends.consumer), room, encoding, ops)


def chain(nodes: Sequence[NodeRef], room: int, encoding: str = "utf-8", ops: bool = True) -> str:
    """Return nodes with arrows, cut to fit ``room``; those between the ends in brackets."""
    dots = ellipsis(encoding)
    names = [escape(n.label, encoding) for n in nodes]
    kinds = [escape(n.op, encoding) for n in nodes]
    place = scope(nodes[0])
    where = f" in {escape(place, encoding)}" if place else ""
    room -= cell_len(where)
    if not ops:
        kinds = ["", *kinds[1:-1], ""]
    if _width(names, kinds) > room:
        kinds = [_untold(names[0], kinds[0]), *kinds[1:-1], _untold(names[-1], kinds[-1])]
    if _width(names, kinds) > room:
        path = shared_path(names)
        names = [names[0], *(without(path, n, dots) for n in names[1:])]
    if _width(names, kinds) > room:
        names = [names[0], *("" for _ in nodes[1:-1]), names[-1]]
    spent = _width(["" for _ in names], kinds)
    limits = share([cell_len(n) for n in names], room - spent)
    return _arrow([shorten(n, r, dots) for n, r in zip(names, limits, strict=True)], kinds) + where


def _untold(name: str, op: str) -> str:
    """Return the operator unless the last piece of the name tells it: ``/b.0/mm/MatMul_1``."""
    told = re.split(r"[/.:]", name)[-1].rstrip("_0123456789") == op
    return "" if told else op


def _width(names: Sequence[str], ops: Sequence[str]) -> int:
    return cell_len(_arrow(names, ops))


def _arrow(names: Sequence[str], ops: Sequence[str]) -> str:
    first, *between, last = zip(names, ops, strict=True)
    start, end = (f"{name} ({op})" if op else name for name, op in (first, last))
    if not between:
        return f"{start} -> {end}"
    return f"{start} -> [{', '.join(f'{n} {op}'.lstrip() for n, op in between)}] -> {end}"
