"""The graph as a target's passes leave it, over a view that never changes.

A fused group is an ordinary node of the overlay that remembers its original nodes and values, so
that everything can be told in the user's own names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from fusectl.graph.constants import Array, Unreadable
from fusectl.graph.evaluate import evaluate
from fusectl.graph.types import TensorType
from fusectl.graph.view import Attribute, GraphView, Node, default


class Group:
    """A node of the overlay: one original node, or several that a decision joined.

    ``op`` is what it is now; ``lead`` is the original node whose attributes still hold, if any;
    ``slots`` maps each post-processing slot that is taken to the name of the node that took it;
    ``sealed`` says why later passes cannot enter; ``decision`` is the id of the last decision.
    ``core`` is, for an operator that a quantiser joined, the value before it, the node that makes
    that value, and the quantiser. ``beside`` are values inside that it writes for other readers.
    ``order`` is the place of its last node, ``first`` that of its first.
    """

    __slots__ = (
        "alive", "beside", "core", "decision", "first", "function", "inputs", "lead", "members",
        "op", "order", "outputs", "sealed", "slots", "swallowed",
    )  # fmt: skip

    def __init__(self, node: Node, order: int) -> None:
        self.op = node.op
        self.inputs = node.inputs
        self.outputs = node.outputs
        self.members: tuple[Node, ...] = (node,)
        self.lead: Node | None = node
        self.slots: dict[str, str] = {}
        self.sealed = ""
        self.decision = ""
        self.function = ""
        self.swallowed: tuple[str, ...] = ()
        self.beside: tuple[str, ...] = ()
        self.core: tuple[str, Node, Node] | None = None
        self.order = order
        self.first = order
        self.alive = True

    @property
    def last(self) -> Node:
        """The original node that makes the group's first output."""
        return self.members[-1]

    @property
    def label(self) -> str:
        """What the user calls it: the name of the node that makes its result."""
        return self.members[-1].label

    @property
    def fused(self) -> bool:
        """Whether a decision made this group."""
        return bool(self.decision)

    def __repr__(self) -> str:
        return f"<Group {self.op} {'+'.join(m.label for m in self.members)}>"


Use = tuple[Group, int]


class Overlay:
    """The overlay of one scope. Values keep their original names throughout.

    ``follows``: how far the target follows computed sizes, as its ``follow_sizes`` says.
    """

    def __init__(
        self, view: GraphView, outer: Overlay | None = None, *, follows: str = "all"
    ) -> None:
        self.view = view
        self.outer = outer
        self.follows = follows
        self.groups: list[Group] = []
        self.producers: dict[str, Group] = {}
        self.uses: dict[str, list[Use]] = {}
        self.returned: set[str] = set(view.outputs)
        self.captured: dict[str, list[Node]] = {k: list(v) for k, v in view.captured.items()}
        self.folded: dict[str, Group] = {}
        self.eliminated: dict[str, list[Node]] = {}
        self.retyped: dict[str, str] = {}
        self.layouts: dict[str, str] = {}
        self.transposed: dict[str, tuple[int, ...]] = {}
        self.bound: frozenset[str] = outer.bound if outer is not None else frozenset()
        self.alias: dict[str, str] = {}
        self.merged: dict[str, list[str]] = {}
        # What changed, so that a rule can tell whether looking again can find anything: the
        # operators that fusions made, and how often nodes were taken out.
        self.made: list[str] = []
        self.removals = 0
        self._common = view.model.repeat.common if view.model.repeat else frozenset()
        self._plain: dict[str, int] = {}
        self._count: dict[str, int] = {}
        self._index: dict[str, list[Group]] = {}
        self._held: dict[str, list[tuple[Group, Node]]] = {}
        self._arrays: dict[str, Array] = {}
        for place, node in enumerate(view.nodes):
            if node.op == "Constant":
                continue
            self._plain[node.op] = self._plain.get(node.op, 0) + node.copies
            self._add(Group(node, place))

    def _add(self, group: Group) -> None:
        self.groups.append(group)
        self._index.setdefault(group.op, []).append(group)
        self._count[group.op] = self._count.get(group.op, 0) + group.last.copies
        for output in group.outputs:
            if output:
                self.producers[output] = group
        uses = self.uses
        for slot, value in enumerate(group.inputs):
            if value:
                known = uses.get(value)
                if known is None:
                    uses[value] = [(group, slot)]
                else:
                    known.append((group, slot))

    def _remove(self, group: Group) -> None:
        group.alive = False
        if not group.decision:
            self._plain[group.op] = self._plain.get(group.op, 0) - group.last.copies
        for slot, value in enumerate(group.inputs):
            if value:
                self.uses[value].remove((group, slot))
        for output in group.outputs:
            if self.producers.get(output) is group:
                del self.producers[output]

    def ops(self) -> Iterator[str]:
        """Yield the operators that occur."""
        return (op for op, groups in self._index.items() if any(g.alive for g in groups))

    def of_op(self, ops: Iterable[str]) -> list[Group]:
        """Return the living groups of some operators in graph order."""
        lists = [self._index[op] for op in ops if op in self._index]
        found = [g for groups in lists for g in groups if g.alive]
        if len(lists) > 1 or any(g.fused for g in found):
            found.sort(key=lambda g: g.order)
        return found

    def reads(self, group: Group) -> Iterator[str]:
        """Yield what a group reads: its operands, and what the bodies of its nodes read."""
        yield from (v for v in group.inputs if v)
        inside = {id(n) for n in group.members} if self.captured else set()
        yield from (v for v, nodes in self.captured.items() if any(id(n) in inside for n in nodes))

    def count(self, op: str) -> int:
        """Return how many groups of an operator there were at most; cheap."""
        return self._count.get(op, 0)

    def plain(self, op: str) -> int:
        """Return how many nodes of an operator no fusion has taken; cheap."""
        return self._plain.get(op, 0)

    def held(self, op: str) -> list[tuple[Group, Node]]:
        """Return the original nodes of an operator that sit inside fused groups."""
        return [(g, n) for g, n in self._held.get(op, ()) if g.alive]

    def users(self, value: str) -> list[Use]:
        """Return every use of a value: the group that reads it and at which input."""
        return self.uses.get(value, [])

    def readers(self, value: str) -> int:
        """Return how many uses of a value there are, also in layers that were taken out."""
        users = self.users(value)
        if value in self._common:
            return sum(g.last.copies for g, _ in users)
        return len(users)

    def type_of(self, value: str) -> TensorType:
        """Return what is known of a value's type, as the passes left it."""
        return self._as_left(value, self.view.type_of(value))

    def plain_type_of(self, value: str) -> TensorType:
        """Return the same without following sizes through the graph."""
        return self._as_left(value, self.view.plain_type_of(value))

    def known_type_of(self, value: str) -> TensorType:
        """Return the type of a value as far as the target itself finds it out."""
        return self.type_of(value) if self.follows == "all" else self.plain_type_of(value)

    def _as_left(self, value: str, known: TensorType) -> TensorType:
        if known.dims is None and value in self.folded:
            known = self._computed(value, known)
        dtype = self.retyped.get(value)
        return TensorType(dtype, known.dims) if dtype else known

    def _computed(self, value: str, known: TensorType) -> TensorType:
        """The type of a folded constant whose shape inference did not find: it has one."""
        try:
            array = self.array(value)
        except (Unreadable, KeyError):
            return known
        return TensorType(known.dtype or str(array.dtype), array.shape)

    def real(self, value: str) -> str:
        """Return the name under which a value still exists after merging and eliminating."""
        overlay: Overlay | None = self
        while overlay is not None:
            seen = set()
            while value in overlay.alias and value not in seen:
                seen.add(value)
                value = overlay.alias[value]
            view = overlay.view
            mine = seen or value in view.producers or value in view.inputs
            overlay = None if mine else overlay.outer
        return value

    def attr(self, group: Group, name: str) -> Attribute:
        """Return an attribute of a group, or the schema's default for what the group is now."""
        if group.lead is not None:
            return self.view.attr(group.lead, name)
        domain, _, op_type = group.op.rpartition(".")
        return default(op_type, domain, self.view.opset(domain), name)

    def is_constant(self, value: str) -> bool:
        """Tell whether a value is known at compile time."""
        value = self.alias.get(value, value)
        overlay: Overlay | None = self
        while overlay is not None:
            if value in overlay.folded:
                return True
            overlay = overlay.outer
        return value in self.view.constants or value in self.bound

    def array(self, value: str) -> Array:
        """Return a constant's contents. Raises Unreadable, or KeyError where it is no constant."""
        value = self.alias.get(value, value)
        cached = self._arrays.get(value)
        if cached is not None:
            return cached
        overlay: Overlay | None = self
        while overlay is not None and value not in overlay.folded:
            overlay = overlay.outer
        if overlay is None and value in self.bound and value not in self.view.constants:
            found = self._main().view.constants.default_array(value)
        elif overlay is None:
            found = self.view.constants.array(value)
        else:
            found = evaluate(overlay.folded[value].last, value, overlay.array, overlay.view)
        self._arrays[value] = found
        return found

    def _main(self) -> Overlay:
        overlay = self
        while overlay.outer is not None:
            overlay = overlay.outer
        return overlay

    def bind(self) -> None:
        """Take inputs that have a default as constants: nobody will pass another value."""
        self.bound = frozenset(self.view.constants.defaults)

    def trouble(self, value: str) -> str:
        """Return why a constant's contents cannot be had, as far as that shows without reading."""
        return self.view.constants.trouble(value)

    def scalar(self, value: str) -> float | None:
        """Return the one number a constant holds, or None if it holds several or is unreadable."""
        size = self.type_of(value).static
        if size is not None and math.prod(size) != 1:
            return None  # told without reading it
        try:
            array = self.array(value)
        except (Unreadable, KeyError):
            return None
        if array.size != 1:
            return None
        try:
            return float(array.reshape(-1)[0].astype("float64"))
        except (TypeError, ValueError):
            return None

    def fold(self, group: Group) -> None:
        """Make a group's outputs constants, to be computed when somebody asks."""
        for output in group.outputs:
            if output:
                self.folded[output] = group
        self._remove(group)
        self.removals += 1

    def bypass(self, group: Group, source: str) -> bool:
        """Remove a no-op: readers of its output read ``source`` instead.

        False where the output must keep existing: it is returned beside or without its source.
        """
        gone = group.outputs[0]
        if gone in self.returned:
            maker = self.producers.get(source)
            if maker is None or source in self.returned or source in self.captured:
                return False
            self.returned.discard(gone)
            self.returned.add(source)
        self._remove(group)
        self.removals += 1
        self.redirect(gone, source)
        earlier = self.eliminated.pop(gone, [])
        self.eliminated.setdefault(source, []).extend((*group.members, *earlier))
        return True

    def merge(self, group: Group, twin: Group) -> None:
        """Remove ``group``, whose results ``twin`` computes as well."""
        self._remove(group)
        self.removals += 1
        twin.members = (*group.members, *twin.members)
        for gone, source in zip(group.outputs, twin.outputs, strict=True):
            if gone and source:
                self.redirect(gone, source)
                self.merged.setdefault(source, []).extend((gone, *self.merged.pop(gone, ())))

    def redirect(self, gone: str, source: str) -> None:
        """Let every reader of ``gone`` read ``source`` instead."""
        self.alias[gone] = source
        moved = self.uses.pop(gone, [])
        for user, slot in moved:
            inputs = list(user.inputs)
            inputs[slot] = source
            user.inputs = tuple(inputs)
        if moved:
            self.uses.setdefault(source, []).extend(moved)
        if gone in self.captured:
            self.captured.setdefault(source, []).extend(self.captured.pop(gone))

    def fuse(
        self,
        parts: Iterable[Group],
        op: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        lead: Node | None,
        stays: Iterable[Group] = (),
    ) -> Group:
        """Join groups into one that makes ``outputs`` from ``inputs``; returns the new group.

        Groups in ``stays`` are copied into it: they remain for their other readers.
        """
        remaining = {id(g) for g in stays}
        parts = sorted(parts, key=lambda g: g.order)
        joined = Group(parts[-1].last, parts[-1].order)
        joined.op, joined.inputs, joined.outputs, joined.lead = op, inputs, outputs, lead
        joined.first = min(g.first for g in parts)
        joined.members = tuple(m for g in parts for m in g.members)
        joined.swallowed = tuple(v for g in parts for v in (*g.swallowed, *g.outputs) if v)
        joined.swallowed = tuple(v for v in joined.swallowed if v not in outputs)
        for part in parts:
            joined.slots.update(part.slots)
            if id(part) not in remaining:
                self._remove(part)
        for member in joined.members:
            self._held.setdefault(member.op, []).append((joined, member))
        self._add(joined)
        self.made.append(op)
        return joined
