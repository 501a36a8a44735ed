"""Why a model has no decision that another one has: what of the edge is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fusectl.compare.account import Account, Wire, scope_of
from fusectl.report.comparison import Answer
from fusectl.report.types import NodeRef

_FAR = 6
"""Nodes that may stand between producer and consumer before we stop looking."""


@dataclass(frozen=True, slots=True)
class Told:
    """A cause: the whole sentence, and what equal causes have in common."""

    sentence: str
    gist: str


class Presence:
    """Looks for edges in a model. A lock file has no nodes, only the decisions about some."""

    def __init__(self, account: Account, when: str) -> None:
        self._account = account
        self._when = when
        self._makers: dict[tuple[str, str], Wire] = {}
        self._labels: dict[tuple[str, str], Wire] = {}
        self._ops: Counter[str] = Counter()
        for wire in account.wiring:
            self._ops[wire.op] += 1
            self._labels.setdefault((wire.scope, wire.label), wire)
            for value in wire.outputs:
                self._makers.setdefault((wire.scope, value), wire)

    def absent(self, answer: Answer, word: str, own: Presence) -> Told | None:
        """Say why there is no decision like this one; ``word`` is "any more" or "before".

        ``own`` looks into the model that has the decision. Nothing is returned where the edge
        looks the same in both.
        """
        edge = answer.edge
        if not self._account.wiring:
            return self._unseen(answer)
        producer, consumer = self._find(edge.producer), self._find(edge.consumer)
        lacking = [n for n in (edge.producer, edge.consumer) if not self._ops[n.op]]
        if lacking and not (producer and consumer):
            had = "has no" if self._when == "now" else "had no"
            ops = " and no ".join(dict.fromkeys(n.op for n in lacking))
            return Told(f"the model {had} {ops} {word}", f"no {ops} {word}")
        if producer is None or consumer is None:
            return self._missing(answer, producer, consumer)
        return self._changed(answer, producer, consumer, own)

    def _missing(self, answer: Answer, producer: Wire | None, consumer: Wire | None) -> Told:
        ends = ((answer.edge.producer, producer), (answer.edge.consumer, consumer))
        names = " and ".join(f"{n.label} ({n.op})" for n, found in ends if found is None)
        one = producer is not None or consumer is not None
        if self._when == "now":
            return Told(f"{names} {'is' if one else 'are'} not in the model any more", "nodes gone")
        return Told(f"{names} {'is' if one else 'are'} new in the model", "new nodes")

    def _changed(
        self, answer: Answer, producer: Wire, consumer: Wire, own: Presence
    ) -> Told | None:
        edge, was = answer.edge, ("was" if self._when == "now" else "is")
        for node, found in ((edge.producer, producer), (edge.consumer, consumer)):
            if found.op != node.op and found.label not in (node.name, node.output):
                return self._replaced(node, found)
            if found.op != node.op:
                here = "is now" if self._when == "now" else "was"
                text = f"{node.label} {here} {found.op}, {was} {node.op}"
                return Told(text, f"{node.op} became {found.op}" if was == "was" else text)
        removed = self._account.removed.get(edge.consumer.output)
        if removed:
            text = f"{edge.consumer.label} ({edge.consumer.op}) is removed by a pass: {removed}"
            return Told(text, f"a pass removes {edge.consumer.op}")
        if own.between(answer) == self.between(answer) != ():
            return self._other(answer)
        return self._path(answer, producer, consumer) or self._other(answer)

    def between(self, answer: Answer) -> tuple[str, ...] | None:
        """Return the operators between the ends of an edge, () where that is not known."""
        producer, consumer = self._find(answer.edge.producer), self._find(answer.edge.consumer)
        if producer is None or consumer is None:
            return ()
        found = self._between(producer, consumer)
        return None if found is None else ("edge", *(w.op for w in found))

    def _replaced(self, node: NodeRef, found: Wire) -> Told:
        """Say that another node makes the value of one that is not there."""
        if self._when == "now":
            text = f"{node.label} ({node.op}) is gone: {found.label} ({found.op}) makes its value"
            return Told(text, f"{node.op} is gone, {found.op} makes its value")
        text = f"{node.label} ({node.op}) is new: {found.label} ({found.op}) made its value"
        return Told(text, f"{node.op} is new, {found.op} made its value")

    def _path(self, answer: Answer, producer: Wire, consumer: Wire) -> Told | None:
        """Say what stands between the two, or that no way leads from one to the other."""
        between = self._between(producer, consumer)
        value = answer.edge.value
        reads = "reads" if self._when == "now" else "read"
        if between is None:
            made = ", ".join(filter(None, consumer.inputs))
            text = f"{consumer.label} ({consumer.op}) {reads} {made} and nothing of {value}"
            return Told(text, "the edge was cut" if self._when == "now" else "a new edge")
        if not between:
            return None
        names = ", ".join(f"{w.label} ({w.op})" for w in between)
        verb = "stands" if len(between) == 1 else "stand"
        when = "now" if self._when == "now" else "then"
        ops = ", ".join(w.op for w in between)
        return Told(f"{names} {when} {verb} between", f"{ops} between")

    def _between(self, producer: Wire, consumer: Wire) -> list[Wire] | None:
        """Return the nodes between two, nearest to the consumer last; None where no way leads."""
        pending: list[tuple[Wire, tuple[Wire, ...]]] = [(consumer, ())]
        while pending:
            wire, path = pending.pop(0)
            for value in wire.inputs:
                maker = self._makers.get((wire.scope, value))
                if maker is producer:
                    return list(path)
                if maker is not None and len(path) < _FAR and maker not in path:
                    pending.append((maker, (maker, *path)))
            if len(pending) > 500:
                break
        return None

    def _other(self, answer: Answer) -> Told | None:
        """Say which other rule decides the edge."""
        for other in self._account.answers:
            edge = other.edge
            same = (edge.value, edge.consumer.output) == (
                answer.edge.value,
                answer.edge.consumer.output,
            )
            if same and other.rule != answer.rule:
                what = other.verdict if other.verdict == "fuse" else f"keep [{other.headline}]"
                now = "decides" if self._when == "now" else "decided"
                return Told(f"{other.rule} {now} the edge: {what}", f"{other.rule} {now} the edge")
        return None

    def _unseen(self, answer: Answer) -> Told:
        """Tell from decisions alone: nothing is known of other nodes."""
        for other in self._account.answers:
            mine, edge = answer.edge, other.edge
            if edge.producer == mine.producer and edge.consumer.output != mine.consumer.output:
                verb = "leads" if self._when == "now" else "led"
                text = (
                    f"{mine.producer.label} ({mine.producer.op}) {verb} to "
                    f"{edge.consumer.label} ({edge.consumer.op}) {self._when}"
                )
                return Told(text, "another consumer")
        ends = " -> ".join(
            f"{n.label} ({n.op})" for n in (answer.edge.producer, answer.edge.consumer)
        )
        if self._when == "now":
            return Told(f"{ends} is in no decision any more", "no decision any more")
        return Told(f"{ends} was in no decision before", "not decided before")

    def _find(self, node: NodeRef) -> Wire | None:
        scope = scope_of(node)
        by_value = self._makers.get((scope, node.output))
        return by_value or (self._labels.get((scope, node.name)) if node.name else None)
