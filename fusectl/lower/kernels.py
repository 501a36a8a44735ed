"""What a target without instructions of its own runs: one kernel for each node that is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fusectl.checks.adjacency import ORDER_KEPT
from fusectl.checks.form import form_of
from fusectl.decide.become import fused
from fusectl.decide.engine import Run
from fusectl.decide.judge import Ruling
from fusectl.graph.overlay import Group
from fusectl.graph.view import Node
from fusectl.lower.forms import Form, Forms
from fusectl.lower.jobs import Unlowerable
from fusectl.match import Candidate
from fusectl.program import Role


@dataclass(frozen=True, slots=True)
class Kernel:
    """One call. ``added`` are operators that fusions put into it and that its name does not tell.

    A value that is read at several inputs stands once. ``%y.1`` lies between two kernels that one
    fusion made.
    """

    op: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    added: tuple[str, ...] = ()


class Kernels:
    """The kernels of one scope, as the passes left it."""

    def __init__(self, run: Run) -> None:
        """Take a scope and what was decided there."""
        self._overlay = run.overlay
        self._forms = Forms(run.rulings)
        self._inputs = frozenset(run.view.inputs)
        self._made: dict[str, int | None] = {}
        self._captured: dict[int, list[str]] = {}
        for value, readers in run.overlay.captured.items():
            for node in readers:
                self._captured.setdefault(id(node), []).append(value)

    def whole(self) -> list[Kernel]:
        """Return the kernels of everything that the scope computes, in the order of the graph."""
        return self._of_groups(self._left())

    def before(self, ruling: Ruling) -> list[Kernel]:
        """Return the kernels that a decision joins or would join. Raises Unlowerable."""
        found = ruling.candidate
        if found.missing:
            raise Unlowerable("a part of the pattern is missing")
        for role in found.roles:
            if role is not None and role.held:
                kernel = self._forms.of(role.group).op
                raise Unlowerable(f"{role.node.label} is part of another kernel, {kernel}")
        return self._of_groups(found.parts)

    def after(self, ruling: Ruling) -> list[Kernel]:
        """Return what the kernels of ``before`` become, or would have become.

        A part that was copied stays beside the fused kernel, for its other readers.
        """
        if ruling.group is not None:
            return [*self._of_groups(ruling.stays), *self._of_group(ruling.group)]
        found, made = ruling.candidate, fused(ruling)
        # What stands between is left out, with what it alone reads.
        parts = [g for g in found.parts if all(g is not b.group for b in found.between)]
        own = {v for g in parts for v in g.inputs}
        inputs = tuple(v if v in own else "" for v in made.inputs)
        nodes = tuple(m for g in parts for m in g.members)
        return self._fused(found, self._forms.fused(found, inputs), made.outputs, nodes)

    def size(self, value: str) -> int | None:
        """Return the bytes of a value, or None where its type or a dimension is not known."""
        if value in self._made:
            return self._made[value]
        return self._overlay.type_of(value).bytes

    def role(self, value: str) -> Role:
        """Return what a value is to the scope."""
        if self._overlay.is_constant(value):
            return "constant"
        if value in self._inputs:
            return "input"
        return "output" if value in self._overlay.returned else "value"

    def _left(self) -> list[Group]:
        """Return the groups that are there in the end.

        Nodes that only served what a fusion took in, and does not read, are gone with it. Those
        that nobody read in the model as it was are not: runtimes run them.
        """
        overlay = self._overlay
        alive = [g for g in overlay.groups if g.alive]
        taken = {id(m) for g in alive if g.fused for m in g.members}
        readers: dict[str, list[int]] = {}
        for node in overlay.view.nodes:
            for value in node.inputs:
                readers.setdefault(value, []).append(id(node))
        gone: set[int] = set()
        left = []
        for group in sorted(alive, key=lambda g: -g.order):
            now = {id(g) for o in group.outputs for g, _ in overlay.users(o)}
            kept = any(o in overlay.returned or o in overlay.captured for o in group.outputs)
            served = any(r in taken for o in group.outputs for r in readers.get(o, ()))
            if served and not kept and now <= gone:
                gone.add(id(group))
                taken.update(id(m) for m in group.members)
            else:
                left.append(group)
        return left

    def _of_groups(self, groups: Iterable[Group]) -> list[Kernel]:
        ordered = sorted(groups, key=lambda g: g.order)
        return [kernel for group in ordered for kernel in self._of_group(group)]

    def _of_group(self, group: Group) -> list[Kernel]:
        form, found = self._forms.of(group), self._forms.match(group)
        if found is not None:
            return self._fused(found, form, group.outputs, group.members)
        return [self._kernel(form, group.outputs, group.members)]

    def _fused(
        self, found: Candidate, form: Form, writes: Iterable[str], nodes: Iterable[Node]
    ) -> list[Kernel]:
        kernel = self._kernel(form, writes, nodes)
        return list(self._unsealed(kernel, form_of(found).sealed))

    def _kernel(self, form: Form, writes: Iterable[str], nodes: Iterable[Node]) -> Kernel:
        made = tuple(dict.fromkeys(v for v in writes if v))
        captured = (v for n in nodes for v in self._captured.get(id(n), ()))
        operands = dict.fromkeys(self._overlay.real(v) for v in (*form.operands, *captured) if v)
        reads = tuple(v for v in operands if v not in made)
        return Kernel(form.op, reads, made, form.told)

    def _unsealed(self, kernel: Kernel, sealed: str) -> Iterator[Kernel]:
        """Yield the kernels of a fusion that makes several: ``Reshape, Gemm, Reshape``.

        Those in front of the operator bring its first operand, those behind it hand on its result.
        """
        ops = sealed.split(", ")
        if ops.count(kernel.op) != 1 or not kernel.reads or not kernel.writes:
            yield kernel
            return
        at, last = ops.index(kernel.op), len(ops) - 1
        source, result = kernel.reads[0], kernel.writes[0]
        for place, op in enumerate(ops):
            made = result if place == last else f"%{result}.{place + 1}"
            if made != result:
                moves, like = (ops[:at], source) if place < at else (ops[at + 1 :], result)
                self._made[made] = self.size(like) if set(moves) <= set(ORDER_KEPT) else None
            if place == at:
                reads, writes = (source, *kernel.reads[1:]), (made, *kernel.writes[1:])
                yield Kernel(op, reads, writes, kernel.added)
            else:
                yield Kernel(op, (source,), (made,))
            source = made
