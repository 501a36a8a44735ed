"""A layout in blocks of channels: which values a compiler keeps in it."""

from __future__ import annotations

from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.types import same_dims
from fusectl.tables.operators import Operators
from fusectl.tables.target_schema import Layout

_FLOATS = ("float32", "float16")


def assign_layout(overlay: Overlay, layout: Layout, operators: Operators) -> None:
    """Mark the values that are kept in the layout, from the front of the graph to its end."""
    marker = _Marker(overlay, layout, operators)
    living = (g for g in overlay.groups if g.alive and g.outputs and g.outputs[0])
    for group in sorted(living, key=lambda g: g.order):
        if marker.stays(group):
            overlay.layouts[group.outputs[0]] = layout.name


class _Marker:
    def __init__(self, overlay: Overlay, layout: Layout, operators: Operators) -> None:
        self.overlay = overlay
        self.layout = layout
        self.operators = operators

    def stays(self, group: Group) -> bool:
        """Tell whether a node works on the layout; what it makes is in the layout then."""
        layout = self.layout
        if group.op in layout.convolutions:
            return self._convolution(group)
        if group.op in layout.poolings:
            return self._pooling(group)
        if group.op in layout.scales and self._scaled(group):
            return True
        if group.op in layout.concatenations:
            return all(map(self._inside, group.inputs)) and self._in_blocks(group)
        if group.op in layout.joins:
            return all(map(self._inside, group.inputs)) and self._alike(group)
        return group.op in layout.stay and self._inside(group.inputs[0])

    def _inside(self, value: str) -> bool:
        return self.overlay.layouts.get(value) == self.layout.name

    def _scaled(self, group: Group) -> bool:
        """Tell whether a value inside meets one constant factor per channel."""
        for value, factor in (group.inputs, group.inputs[::-1]):
            dims, known = self.overlay.type_of(value).dims, self.overlay.type_of(factor).dims
            if self._inside(value) and self.overlay.is_constant(factor) and dims and known:
                return known in ((dims[1], 1, 1), (1, dims[1], 1, 1)) and dims[1] != 1
        return False

    def _in_blocks(self, group: Group) -> bool:
        """Tell whether operands meet along their channels, each of them whole blocks."""
        shapes = [self.overlay.type_of(value).dims for value in group.inputs]
        channels = [dims[1] if dims and len(dims) > 1 else None for dims in shapes]
        whole = all(isinstance(c, int) and c % self.layout.block == 0 for c in channels)
        return whole and self.overlay.attr(group, "axis") == 1

    def _alike(self, group: Group) -> bool:
        first, *others = (self.overlay.type_of(v).dims for v in group.inputs)
        return all(same_dims(first, other) is not False for other in others)

    def _pooling(self, group: Group) -> bool:
        dims = self.overlay.type_of(group.inputs[0]).dims
        whole = dims is not None and len(dims) == 4 and isinstance(dims[1], int)
        return whole and not any(group.outputs[1:])

    def _convolution(self, group: Group) -> bool:
        """Tell whether the weights, known at compile time, can be put into blocks."""
        overlay, (_, weight, *more) = self.overlay, group.inputs
        known = overlay.type_of(weight)
        if not all(overlay.is_constant(v) for v in (weight, *more[:1]) if v):
            return False
        size = known.static
        if known.dtype not in _FLOATS or size is None or len(size) != 4:
            return False
        groups = overlay.attr(group, "group")
        return self._blocks(size[0], size[1], groups if isinstance(groups, int) else 1)

    def _blocks(self, made: int, read: int, groups: int) -> bool:
        """Tell whether channels made in all, and read by one group of them, come in blocks."""
        block = self.layout.block
        depthwise = read == 1 and made == groups
        in_blocks = read % block == 0 and made % groups == 0 and made // groups % block == 0
        return groups == 1 or depthwise or in_blocks
