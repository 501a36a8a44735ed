"""What a decision looks like apart from names: a hash of the operators around its edge."""

from __future__ import annotations

import hashlib
from collections import Counter

from fusectl.graph.view import GraphView, Node


class Neighbourhoods:
    """Operator neighbourhoods of one scope, two steps up and one down, computed once each."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._readers: dict[str, list[str]] = {}
        for node in view.nodes:
            for value in node.inputs:
                self._readers.setdefault(value, []).append(node.op)
        self._near: dict[int, str] = {}
        self._far: dict[int, str] = {}

    def of(self, node: Node) -> str:
        """Return a node's neighbourhood as text."""
        known = self._far.get(node.index)
        if known is None:
            readers = sorted(r for o in node.outputs for r in self._readers.get(o, ()))
            known = f"{self._up(node, self._near_of)}>{','.join(readers)}"
            self._far[node.index] = known
        return known

    def _near_of(self, node: Node) -> str:
        known = self._near.get(node.index)
        if known is None:
            known = self._near[node.index] = self._up(node, lambda n: n.op)
        return known

    def _up(self, node: Node, name: object) -> str:
        shown = []
        for value in node.inputs:
            maker = self._view.producers.get(value)
            if maker is None or maker.op == "Constant":
                shown.append("const" if value in self._view.constants else "in")
            elif maker.op == "Identity":
                shown.append("id")
            else:
                shown.append(name(maker))  # type: ignore[operator]
        return f"{node.op}({','.join(shown)})"


def structures(keys: list[str]) -> list[str]:
    """Return hash and ordinal among equals for each key, in order."""
    seen: Counter[str] = Counter()
    result = []
    for key in keys:
        result.append(f"{hashlib.blake2b(key.encode(), digest_size=6).hexdigest()}:{seen[key]}")
        seen[key] += 1
    return result
