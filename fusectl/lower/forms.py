"""What a fused group is run as: the operator that the tables name, and what it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from fusectl.checks.form import form_of, named_op
from fusectl.decide.judge import Ruling
from fusectl.decide.written import chosen
from fusectl.graph.overlay import Group
from fusectl.match import Candidate
from fusectl.tables.schema import Writes

_FEW = 3
"""Up to so many operators that fusions put into one are listed; more of them are counted."""
_BIAS = {"add-bias": "b", "fold-batchnorm": "bias"}
"""The constant of a match that stands for the bias which a transform makes."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a node or a group is run.

    ``operands`` are what it reads, each value at its input (empty: not there). ``added`` are
    operators that fusions put into it, and that neither its operator nor its operands tell;
    there are ``more`` of them that are not listed.
    """

    op: str
    operands: tuple[str, ...]
    added: tuple[str, ...] = ()
    more: int = 0

    @property
    def told(self) -> tuple[str, ...]:
        """What was added, in a few words."""
        return (f"{len(self.added) + self.more} nodes",) if self.more else self.added


class Forms:
    """The forms of a scope's groups."""

    def __init__(self, rulings: Iterable[Ruling]) -> None:
        """Take what was decided in the scope."""
        self._rulings = {id(r.group): r for r in rulings if r.group is not None}
        self._forms: dict[int, Form] = {}
        for ruling in self._rulings.values():
            self._prepare(ruling)

    def of(self, group: Group) -> Form:
        """Return how a group is run."""
        known = self._forms.get(id(group))
        return known if known is not None else Form(group.op, group.inputs)

    def match(self, group: Group) -> Candidate | None:
        """Return the match that a group was made of, None: it is a node of the model."""
        ruling = self._rulings.get(id(group))
        return ruling.candidate if ruling is not None else None

    def fused(self, found: Candidate, inputs: tuple[str, ...]) -> Form:
        """Return how a match is or would be run that reads ``inputs`` from outside.

        Its operator is the first of: what ``writes`` names, the operator or function of the
        target's form, the operator of the rule, the one of the match's main node.
        """
        how = chosen(found)
        stated = self._stated(found, how)
        op, reads = stated or self.of(_main(found)).op, self._reads(found, how, inputs)
        inner = [self.of(g) for g in found.parts]
        added = [*(a for f in inner for a in f.added), *self._added(found, op, stated, reads)]
        more = len(added[_FEW:]) + sum(f.more for f in inner)
        return Form(op, reads, tuple(added[:_FEW]), more)

    def _prepare(self, ruling: Ruling) -> None:
        """Make the form of a group, those of its parts first; chains may be long."""
        pending = [ruling]
        while pending:
            last = pending[-1]
            inner = (self._rulings.get(id(g)) for g in last.candidate.parts)
            missing = [r for r in inner if r is not None and id(r.group) not in self._forms]
            if missing:
                pending += missing
                continue
            pending.pop()
            group = last.group
            assert group is not None
            self._forms[id(group)] = self.fused(last.candidate, group.inputs)

    def _stated(self, found: Candidate, how: Writes | None) -> str:
        """Return the operator that the tables name for a match, or an empty string."""
        form = form_of(found)
        kept = found.role_of(how.keep) if how is not None and how.keep else None
        if how is not None and how.op:
            return how.op.replace("*", kept.op if kept is not None else "")
        own = form.op or form.function
        if kept is not None and not own:
            return self.of(kept.group).op
        return own or named_op(found)

    def _reads(
        self, found: Candidate, how: Writes | None, inputs: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return what a match reads of ``inputs``: what ``writes`` lists, where it does.

        Where a node is kept with its own inputs, constants of the other nodes are attributes now,
        or computed into its weights.
        """
        if how is None:
            return inputs
        if how.inputs:
            return tuple(self._listed(found, how))
        kept, overlay = found.role_of(how.keep), found.overlay
        own = set(self.of(kept.group).operands) if kept is not None else set()
        if found.rule.slots.takes == "bias":
            own.update(inputs)
        own.update(found.bound.get(_BIAS[t], "") for t in how.transforms if t in _BIAS)
        # Passes after the decision may have merged constants: what is there now counts.
        left = {overlay.real(v) for v in own}
        real = [overlay.real(v) for v in inputs]
        return tuple(v if v in left or not overlay.is_constant(v) else "" for v in real)

    def _listed(self, found: Candidate, how: Writes) -> Iterator[str]:
        for text in how.inputs:
            maker, dot, slot = text.partition(".")
            if not dot:
                yield found.bound.get(text, "")
                continue
            role = found.role_of(maker)
            every = self.of(role.group).operands if role is not None else ()
            first = int(slot.rstrip("+"))
            yield from every[first:] if slot.endswith("+") else every[first : first + 1]

    def _added(
        self, found: Candidate, op: str, stated: str, reads: Collection[str]
    ) -> Iterator[str]:
        if stated and not found.rule.two_node:
            return
        main, visible = _main(found), stated or found.rule.slots.takes == "bias"
        real = found.overlay.real
        known = {real(v) for v in reads}
        for role in found.roles:
            if role is None or role.group is main or _names(op, role.op):
                continue
            others = [v for v in role.inputs if v and v != found.value]
            told = len(others) > (role is found.producer) and all(real(v) in known for v in others)
            if not (told and visible):
                yield self.of(role.group).op


def _main(found: Candidate) -> Group:
    """Return the group whose operator a match keeps where none is named."""
    return (found.consumer if found.rule.becomes == "consumer" else found.producer).group


def _names(kernel: str, op: str) -> bool:
    """Tell whether a kernel's name says that it does an operator: BiasGelu does Gelu."""
    return op.rpartition(".")[2] in kernel.rpartition(".")[2]
