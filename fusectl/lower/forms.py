"""What a fused group is run as: the operator that the tables name, and what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fusectl.decide.become import form_of
from fusectl.decide.judge import Ruling
from fusectl.decide.written import chosen
from fusectl.graph.overlay import Group
from fusectl.match import Candidate
from fusectl.tables.schema import Writes

_FEW = 3
"""Up to so many operators that fusions put into one are listed; more of them are counted."""


class Forms:
    """The operators and operands of a scope's groups, fused or not."""

    def __init__(self, rulings: Iterable[Ruling]) -> None:
        """Take what was decided in the scope."""
        self._rulings = {id(r.group): r for r in rulings if r.group is not None}
        self._ops: dict[int, str] = {}

    def ruling(self, group: Group) -> Ruling | None:
        """Return the decision that made a group, None: it is a node of the model."""
        return self._rulings.get(id(group))

    def op_of(self, group: Group) -> str:
        """Return the operator that a group is run as."""
        known = self._ops.get(id(group))
        if known is None:
            ruling = self.ruling(group)
            known = self.op(ruling.candidate) if ruling is not None else group.op
            self._ops[id(group)] = known
        return known

    def op(self, found: Candidate) -> str:
        """Return the operator that a match is or would be run as.

        That is the first of: what ``writes`` names, the operator or function of the target's
        form, the operator of the rule, the one of the match's main node.
        """
        return self._stated(found) or self.op_of(_main(found))

    def _stated(self, found: Candidate) -> str:
        how, form = chosen(found), form_of(found)
        kept = found.role_of(how.keep) if how is not None and how.keep else None
        if how is not None and how.op:
            return how.op.replace("*", kept.op if kept is not None else "")
        own = form.op or form.function
        if kept is not None and not own:
            return self.op_of(kept.group)
        return own or (found.rule.becomes if found.rule.becomes not in _ENDS else "")

    def operands(self, group: Group) -> tuple[str, ...]:
        """Return what a group reads, each value at its input; empty: not there."""
        ruling = self.ruling(group)
        return group.inputs if ruling is None else self.reads(ruling.candidate, group.inputs)

    def reads(self, found: Candidate, inputs: tuple[str, ...]) -> tuple[str, ...]:
        """Return what a match reads: what ``writes`` states, else ``inputs``."""
        how = chosen(found)
        return tuple(self._listed(found, how)) if how is not None and how.inputs else inputs

    def _listed(self, found: Candidate, how: Writes) -> Iterator[str]:
        for text in how.inputs:
            maker, dot, slot = text.partition(".")
            if not dot:
                yield found.bound.get(text, "")
                continue
            role = found.role_of(maker)
            every = self.operands(role.group) if role is not None else ()
            first = int(slot.rstrip("+"))
            yield from every[first:] if slot.endswith("+") else every[first : first + 1]

    def added(self, found: Candidate) -> tuple[str, ...]:
        """Return the operators in a match that neither its own name nor its operands tell."""
        names = list(self._added(found))
        return tuple(names) if len(names) <= _FEW else (f"{len(names)} nodes",)

    def _added(self, found: Candidate) -> Iterator[str]:
        for group in found.parts:
            ruling = self.ruling(group)
            if ruling is not None:
                yield from self._added(ruling.candidate)
        told = bool(self._stated(found)) if not found.rule.two_node else _shown(found)
        if told:
            return
        op, main = self.op(found), _main(found)
        for role in found.roles:
            if role is not None and role.group is not main and not _names(op, role.op):
                yield self.op_of(role.group)


_ENDS = ("", "producer", "consumer")


def _main(found: Candidate) -> Group:
    """Return the group whose operator a match keeps where none is named."""
    return (found.consumer if found.rule.becomes == "consumer" else found.producer).group


def _shown(found: Candidate) -> bool:
    """Tell whether a further operand shows what was fused."""
    return found.rule.slots.takes == "bias"


def _names(kernel: str, op: str) -> bool:
    """Tell whether a kernel's name says that it does an operator: BiasGelu does Gelu."""
    return op.rpartition(".")[2] in kernel.rpartition(".")[2]
