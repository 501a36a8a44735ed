"""Transpositions that a compiler moves forward, until they meet others that they cancel."""

from __future__ import annotations

from fusectl.graph.overlay import Group, Overlay
from fusectl.tables.target_schema import Transposes

Perm = tuple[int, ...]
_TRANSPOSE = "Transpose"
_UNKNOWN_RANK = 5
"""Axes that a transposition of a value of unknown rank is taken to move."""


def sink_transposes(overlay: Overlay, how: Transposes) -> None:
    """Note in ``overlay.transposed`` the results of operators that a transposition moves through.

    An operator is passed where its operands then need fewer transpositions, counted in axes longer
    than 1, and either another transposition follows or the result costs less than is saved.
    """
    sink = _Sink(overlay, how)
    for group in sink.groups:
        sink.visit(group)


class _Sink:
    def __init__(self, overlay: Overlay, how: Transposes) -> None:
        self.overlay = overlay
        self.broadcast = frozenset(how.broadcast)
        self.every = frozenset(how.all) | self.broadcast
        self.first = frozenset(how.first)
        self.known = self.every | self.first | frozenset(how.ends) | {_TRANSPOSE}
        living = (g for g in overlay.groups if g.alive and g.outputs)
        self.groups = sorted(living, key=lambda g: g.order)
        self.perms: dict[str, Perm] = {}
        self.leading = self._leading()

    def _leading(self) -> set[str]:
        """Return the values from which a path of operators leads to a Transpose."""
        found: set[str] = set()
        for group in reversed(self.groups):
            if group.op == _TRANSPOSE:
                found.add(group.inputs[0])
            elif any(o in found for o in group.outputs):
                found.update(self._operands(group))
        return found

    def _operands(self, group: Group) -> tuple[str, ...]:
        """Return the operands that a transposition can move through."""
        if group.op in self.every:
            return tuple(v for v in group.inputs if v)
        return group.inputs[:1] if group.op in self.first else ()

    def visit(self, group: Group) -> None:
        """Move a transposition through an operator, or meet another one."""
        if group.op == _TRANSPOSE:
            self._meet(group)
            return
        operands = self._operands(group)
        for value in operands:
            perm = self.perms.get(value)
            if perm is None or not self._fits(group, operands, perm):
                continue
            if self._pays(group, operands, perm):
                self.overlay.transposed.update((o, perm) for o in group.outputs if o)
                if self.overlay.attr(group, "keepdims") != 0:
                    self.perms.update((o, perm) for o in group.outputs if o)
                return

    def _meet(self, group: Group) -> None:
        perm = self.overlay.attr(group, "perm")
        if not isinstance(perm, tuple) or not all(isinstance(axis, int) for axis in perm):
            return
        axes = tuple(int(axis) for axis in perm)
        before = self.perms.get(group.inputs[0])
        if before is not None and len(before) == len(axes):
            axes = tuple(before[axis] for axis in axes)
        if axes != tuple(range(len(axes))):
            self.perms[group.outputs[0]] = axes

    def _fits(self, group: Group, operands: tuple[str, ...], perm: Perm) -> bool:
        """Tell whether operands that are broadcast can be given the rank of the transposition."""
        if group.op not in self.broadcast:
            return True
        shapes = [self.overlay.plain_type_of(value).dims for value in operands]
        return all(dims is not None and len(dims) <= len(perm) for dims in shapes)

    def _pays(self, group: Group, operands: tuple[str, ...], perm: Perm) -> bool:
        saved = -sum(self._cost(value, perm) for value in operands)
        if not any(o in self.leading for o in group.outputs):
            saved -= max(self._axes(o) for o in group.outputs if o)
        return saved > 0

    def _cost(self, value: str, perm: Perm) -> int:
        """Return what it costs to transpose an operand back; less than 0 where one goes away."""
        if self.overlay.is_constant(value):
            return 0
        before = self.perms.get(value)
        if before is None:
            return self._axes(value)
        return -self._axes(value) if before == perm and self._goes_away(value) else 0

    def _goes_away(self, value: str) -> bool:
        overlay = self.overlay
        if value in overlay.returned or value in overlay.captured:
            return False
        return all(g.op in self.known for g, _ in overlay.users(value))

    def _axes(self, value: str) -> int:
        dims = self.overlay.plain_type_of(value).dims
        return _UNKNOWN_RANK if dims is None else sum(dim != 1 for dim in dims)
