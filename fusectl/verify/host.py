"""The host beside the simulated machine: it computes, node by node, what has no template.

ONNX's reference evaluator does, and where it lacks an operator the runtime that is installed. Both
programs have the same host, so who computes decides nothing about their bits.
"""

from __future__ import annotations

import numpy as np

from fusectl.graph.constants import Array, Unreadable
from fusectl.graph.evaluate import evaluate_node, node_model
from fusectl.graph.overlay import Overlay
from fusectl.graph.view import GraphView, Node
from fusectl.program import Descriptor, Program
from fusectl.runtime import CannotRun, open_session, optional


class Host:
    """Computes the nodes that a program leaves to the host."""

    def __init__(self, overlay: Overlay) -> None:
        """Take the scope that the program was made from."""
        self._overlay = overlay
        self._nodes = {o: n for n in overlay.view.nodes for o in n.outputs if o}

    def __call__(self, call: Descriptor, given: dict[str, Array]) -> dict[str, Array]:
        """Return the outputs of a call's node. Raises Unreadable."""
        node = self._nodes[call.writes[0]]
        feeds = dict(given)
        for name in node.inputs:
            # A node reads values that were merged or eliminated under their old names.
            real = self._overlay.alias.get(name, name)
            if name and name not in feeds and real in given:
                feeds[name] = given[real]
        try:
            return evaluate_node(node, feeds, self._overlay.view)
        except Unreadable as error:
            return _by_runtime(node, feeds, self._overlay.view, error)


def _by_runtime(
    node: Node, feeds: dict[str, Array], view: GraphView, trouble: Unreadable
) -> dict[str, Array]:
    """Compute a node that the reference evaluator cannot. Raises Unreadable that tells why."""
    other = optional()
    if other is None:
        raise Unreadable(f"{trouble} (pip install 'fusectl[runtime]' may help)")
    try:
        session = open_session(node_model(node, feeds, view).SerializeToString())
        made = session.run(
            {n: a for n, a in feeds.items() if n in {p.name for p in session.inputs}}
        )
    except CannotRun as error:
        raise Unreadable(
            f"{node.label} ({node.op}) cannot be computed by {other}: {error}"
        ) from None
    return {name: np.asarray(made[name]) for name in node.outputs if name}


def constants(program: Program, overlay: Overlay) -> dict[str, Array]:
    """Return the contents of every constant that a program reads. Raises Unreadable."""
    return {
        a.name: overlay.array(a.name)
        for a in program.addresses
        if a.role == "constant" and a.space == "dram"
    }
