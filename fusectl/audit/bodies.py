"""Edges in the bodies of If, Loop and Scan. Bodies cannot be run alone: names have to do there."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from onnx import GraphProto

from fusectl.audit.anchor import Anchors, Guess, anchors
from fusectl.audit.edges import Laid, Scope
from fusectl.audit.net import Net, bodies, body_net
from fusectl.audit.work import Measured


def nested(
    plain: tuple[GraphProto, Net],
    optimised: tuple[GraphProto, Net],
    found: Anchors,
    guess: Guess,
    moves: Collection[str],
    scope: Scope = (),
) -> Iterator[Measured]:
    """Yield the edges in all bodies of a graph whose node is still there, at any depth."""
    (graph, before), (other, after) = plain, optimised
    places = {found.data(original): value for value, original in found.of.items()}
    for op in before.ops:
        data = map(found.data, op.outputs)
        value = next((places[d] for d in data if d in places), "")
        twin = after.maker.get(value)
        if not op.bodies or twin is None or twin.op_type != op.op_type:
            continue
        left = bodies(other.node[twin.index])
        for name, body in bodies(graph.node[op.index]).items():
            if name not in left:
                continue
            inner = body, body_net(body, before.constant)
            made = left[name], body_net(left[name], after.constant)
            known = anchors(inner[1], made[1], guess, moves)
            step = (*scope, (op.label, name))
            yield from Laid(inner[1], made[1], known, moves).measured(step)
            yield from nested(inner, made, known, guess, moves, step)
