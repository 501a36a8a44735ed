"""Fused decisions told as chains: what builds on what, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fusectl.report.types import Decision

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Chain:
    """Fusions that build on one another; the last one holds all the nodes."""

    decisions: tuple[Decision, ...]

    @property
    def last(self) -> Decision:
        """The decision that nothing builds on."""
        return self.decisions[-1]

    @property
    def operators(self) -> str:
        """The operators that became one: ``MatMul + Add + Relu -> Gemm``."""
        ops = [n.op for n in self.last.nodes]
        shown = " + ".join(ops)
        if len(ops) > _SHOWN:
            shown = f"{len(ops)} nodes"
        form = form_of(self.last)
        return f"{shown} -> {form}" if form else shown

    @property
    def rules(self) -> str:
        """The rules, in the order in which they fired."""
        return ", ".join(dict.fromkeys(d.rule for d in self.decisions))

    @property
    def label(self) -> str:
        """The name that stands for the chain: its first producer."""
        return self.decisions[0].edge.producer.label


def form_of(decision: Decision) -> str:
    """Return what a fused group becomes, if that says more than its own operators."""
    form = decision.fused_node
    own = {n.op_type for n in decision.nodes}
    names = (form.op_type, form.function) if form else ()
    return next((n for n in names if n and n not in own), "")


def chains(decisions: Iterable[Decision]) -> tuple[Chain, ...]:
    """Return every fused decision once, in chains."""
    fused = {d.id: d for d in decisions if d.verdict == "fuse"}
    inner = {i for d in fused.values() for i in d.builds_on}
    told: set[str] = set()
    tails = [d for d in fused.values() if d.id not in inner]
    return tuple(Chain(tuple(_unroll(tail, fused, told))) for tail in tails)


def _unroll(tail: Decision, fused: dict[str, Decision], told: set[str]) -> Iterator[Decision]:
    """Yield what a decision builds on, then the decision itself; each once."""
    stack = [(tail, iter(tail.builds_on))]
    told.add(tail.id)
    while stack:
        decision, below = stack[-1]
        base = next((i for i in below if i in fused and i not in told), None)
        if base is None:
            yield decision
            stack.pop()
        else:
            told.add(base)
            stack.append((fused[base], iter(fused[base].builds_on)))


def rows(found: Iterable[Chain]) -> list[tuple[Chain, ...]]:
    """Group chains of the same operators and rules, most frequent first."""
    kinds: dict[tuple[str, str], list[Chain]] = {}
    for chain in found:
        kinds.setdefault((chain.operators, chain.rules), []).append(chain)
    return [tuple(k) for k in sorted(kinds.values(), key=lambda k: -len(k))]
