"""Operators: classes, stand-ins, barriers, slots; and the functions of one tensor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import onnx

from fusectl.graph.shapes import StandIn
from fusectl.tables.schema import FunctionFacts, OperatorFacts, SlotFact

_NOTHING = frozenset[str]()


def known_ops() -> frozenset[str]:
    """Return every operator that ONNX defines, domain-qualified outside its own domain."""
    return frozenset(
        f"{s.domain}.{s.name}" if s.domain else s.name
        for s in onnx.defs.get_all_schemas_with_history()
    )


@dataclass(frozen=True, slots=True)
class Operators:
    """Everything that tables say about operators and functions."""

    classes: dict[str, tuple[str, ...]]
    facts: dict[str, OperatorFacts]
    functions: dict[str, FunctionFacts]
    _stand_ins: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for op, facts in self.facts.items():
            if facts.acts_as:
                known = self._stand_ins.get(facts.acts_as, ())
                self._stand_ins[facts.acts_as] = (*known, op)

    def extended(
        self, classes: dict[str, tuple[str, ...]], facts: dict[str, OperatorFacts]
    ) -> Operators:
        """Return these tables with more classes and facts."""
        if not classes and not facts:
            return self
        return Operators({**self.classes, **classes}, {**self.facts, **facts}, self.functions)

    def expand(self, name: str) -> frozenset[str]:
        """Return the operators that an operator or class name of a pattern stands for."""
        names = self.classes.get(name, (name,))
        found = set(names)
        for op in names:
            found.update(self._stand_ins.get(op, ()))
        return frozenset(found)

    def stands_in(self, op: str) -> bool:
        """Tell whether an operator counts as another one."""
        facts = self.facts.get(op)
        return facts is not None and bool(facts.acts_as)

    def more_slots(self, op: str) -> dict[str, SlotFact]:
        """Return the slots of an operator that the one which it counts as does not have."""
        facts, base = self.facts[op], self.facts.get(self.acts_as(op))
        known = base.slots if base is not None else {}
        return {name: fact for name, fact in facts.slots.items() if name not in known}

    def acts_as(self, op: str) -> str:
        """Return the operator as which another one counts: FusedGemm counts as Gemm."""
        facts = self.facts.get(op)
        return facts.acts_as or op if facts else op

    def kind(self, op: str) -> str:
        """Return product, elementwise, move or other."""
        facts = self.facts.get(op)
        if facts is not None:
            return facts.kind
        return "elementwise" if op in self.functions else "other"

    def barrier(self, op: str) -> str:
        """Return the reason that an operator gives where it stands between two others."""
        facts = self.facts.get(op)
        return (facts.barrier if facts else "") or "intervening-op"

    def commutative(self, op: str) -> bool:
        """Tell whether the two operands may be exchanged."""
        facts = self.facts.get(op)
        return facts.commutative if facts else False

    def limits(self) -> frozenset[str]:
        """Return the functions that only limit a range: Clip, Min, Max."""
        return frozenset(name for name, facts in self.functions.items() if facts.limit)

    def moving(self) -> tuple[str, ...]:
        """Return the operators that compute nothing: they move data or change its type."""
        found = (o for o, f in self.facts.items() if f.kind == "move" or f.barrier == "cast")
        return tuple(sorted(found))

    def alike(self) -> dict[str, StandIn]:
        """Return for operators outside ONNX what stands in for them in shape inference."""
        return {
            op: StandIn(f.shape_like, f.weight, f.same_shape)
            for op, f in self.facts.items()
            if f.shape_like
        }

    def like_first(self) -> frozenset[str]:
        """Return operators outside ONNX whose result has the element type of the first input."""
        return frozenset(op for op, f in self.facts.items() if f.same_type)

    def names(self) -> Iterable[str]:
        """Return every name a pattern may use."""
        return {*known_ops(), *self.classes, *self.facts, *self.functions}
