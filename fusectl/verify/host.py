"""The host beside the simulated machine: ONNX's reference evaluator, node by node."""

from __future__ import annotations

from fusectl.graph.constants import Array
from fusectl.graph.evaluate import evaluate_node
from fusectl.graph.overlay import Overlay
from fusectl.program import Descriptor, Program


class ReferenceHost:
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
        return evaluate_node(node, feeds, self._overlay.view)


def constants(program: Program, overlay: Overlay) -> dict[str, Array]:
    """Return the contents of every constant that a program reads. Raises Unreadable."""
    return {
        a.name: overlay.array(a.name)
        for a in program.addresses
        if a.role == "constant" and a.space == "dram"
    }
