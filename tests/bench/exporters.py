"""Hold the decisions on exports of one network against each other.

    python tests/bench/exporters.py --models FOLDER [--target T] [--markdown FILE] [--values]

FOLDER holds files `NETWORK__EXPORT.onnx`: one network through several exporters, options and
opsets. Each export is paired with the network's base export, and their decisions with each other:
by `id`, then by `structure`, then by aligning what is left in graph order, where an operator counts
as what it is, or as what an earlier decision made of it (Div, Erf, Add, Mul, Mul as one Gelu).
Pairs with different verdicts and decisions without a partner are listed with the cause that the
two reports show. `--values` runs both exports in ONNX Runtime, unoptimised, on the same inputs and
tells for how many pairs the two consumers compute the same tensor.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import inliner

from fusectl import api
from fusectl.report.types import Decision, NodeRef, Report
from fusectl.tables import Catalog

TARGETS = ("ideal", "onnxruntime-cpu")
BASES = ("legacy17", "dynamo")
METHODS = ("id", "structure", "sequence")
UNEXPLAINED = "unexplained"

Key = tuple[str, str, str]
Place = tuple[str, tuple[object, ...]]


def place(node: NodeRef) -> Place:
    """What tells a node from all others of its model."""
    return node.output, node.graph


@dataclass(frozen=True)
class Export:
    """One export of a network and what was decided about it."""

    network: str
    name: str
    path: Path
    report: Report

    @cached_property
    def fused(self) -> dict[str, Decision]:
        return {d.id: d for d in self.report.decisions if d.verdict == "fuse"}

    @cached_property
    def operators(self) -> Counter[str]:
        """How often each operator occurs, in all graphs."""
        model = onnx.load(self.path, load_external_data=False)
        found: Counter[str] = Counter()
        pending = [*model.graph.node, *(n for f in model.functions for n in f.node)]
        while pending:
            node = pending.pop()
            found[f"{node.domain}.{node.op_type}" if node.domain else node.op_type] += 1
            pending += [n for a in node.attribute for n in a.g.node]
        return found

    def key(self, decision: Decision) -> Key:
        """Rule, producer and consumer, each as what earlier decisions made of it."""
        edge = decision.edge
        return (
            decision.rule,
            self._acting(edge.producer, decision),
            self._acting(edge.consumer, decision),
        )

    def _acting(self, node: NodeRef, decision: Decision) -> str:
        for earlier in map(self.fused.get, reversed(decision.builds_on)):
            if earlier is not None and earlier.fused_node and node in earlier.nodes:
                return earlier.fused_node.op_type
        return node.op_type


@dataclass(frozen=True, slots=True)
class Pair:
    """Corresponding decisions of two exports and how they were found."""

    base: Decision
    other: Decision
    by: str

    @property
    def agrees(self) -> bool:
        return self.base.verdict == self.other.verdict


@dataclass(frozen=True, slots=True)
class Reason:
    """Why decisions differ or stand alone; equal ones are counted together."""

    rule: str
    where: str
    cause: str


@dataclass(frozen=True)
class Comparison:
    """Two exports of a network on one target."""

    base: Export
    other: Export
    pairs: tuple[Pair, ...]

    @cached_property
    def different(self) -> list[Pair]:
        return [p for p in self.pairs if not p.agrees]

    @cached_property
    def alone(self) -> list[tuple[Export, Decision]]:
        """The decisions without a partner."""
        paired = {id(d) for p in self.pairs for d in (p.base, p.other)}
        return [
            (export, decision)
            for export in (self.base, self.other)
            for decision in export.report.decisions
            if id(decision) not in paired
        ]

    def facing(self, export: Export) -> Export:
        return self.other if export is self.base else self.base

    def reasons(self) -> Counter[Reason]:
        """The causes of all different verdicts."""
        return Counter(map(self._difference, self.different))

    def absences(self) -> Counter[Reason]:
        """The causes of all decisions without a partner."""
        return Counter(self._absence(*found) for found in self.alone)

    def _difference(self, pair: Pair) -> Reason:
        kept_here = pair.base.verdict == "keep"
        export, kept = (self.base, pair.base) if kept_here else (self.other, pair.other)
        where = f"{export.key(kept)[1]} → {export.key(kept)[2]}, kept in {export.name}"
        shown = dict.fromkeys(
            f"{f.reason}: {_plain(f.observed, export, kept)}" for f in kept.blockers
        )
        return Reason(kept.rule, where, "; ".join(shown))

    def _absence(self, export: Export, decision: Decision) -> Reason:
        facing = self.facing(export)
        _, producer, consumer = export.key(decision)
        where = f"{producer} → {consumer}, {decision.verdict} in {export.name}"
        cause = (
            self._native(decision, export, facing)
            or self._follows(decision, export)
            or self._lacks(decision, export, facing)
            or UNEXPLAINED
        )
        return Reason(decision.rule, where, cause)

    @staticmethod
    def _native(decision: Decision, export: Export, facing: Export) -> str:
        """The nodes are, or are part of, what the other export writes as one operator."""
        mine = {place(n) for n in (decision.edge.producer, decision.edge.consumer)}
        for other in (decision, *export.fused.values()):
            made = other.fused_node
            if made is None or len(other.nodes) < 3 or not mine & set(map(place, other.nodes)):
                continue
            if facing.operators[made.op_type] > export.operators[made.op_type]:
                return f"{facing.name} writes {made.op_type} as one operator"
        return ""

    def _follows(self, decision: Decision, export: Export) -> str:
        """A pair with different verdicts holds one of the nodes."""
        mine = set(map(place, decision.nodes))
        for pair in self.different:
            near = pair.base if export is self.base else pair.other
            if mine & set(map(place, near.nodes)):
                return f"follows from the different verdict on {near.rule}"
        return ""

    @staticmethod
    def _lacks(decision: Decision, export: Export, facing: Export) -> str:
        """The other export has fewer operators of a kind that takes part."""
        nodes = (*decision.nodes, *decision.between)
        for op in dict.fromkeys(n.op for n in nodes):
            mine, theirs = export.operators[op], facing.operators[op]
            if theirs < mine:
                return f"{op}: {mine} in {export.name}, {theirs} in {facing.name}"
        return ""


def _plain(text: str, export: Export, decision: Decision) -> str:
    """A finding without names and sizes, so that equal causes count together."""
    del export, decision
    return re.sub(r"\[[^\]]*\]", "[…]", text)


def match(base: Export, other: Export) -> tuple[Pair, ...]:
    """Pair the decisions of two exports."""
    pairs: list[Pair] = []
    left, right = list(base.report.decisions), list(other.report.decisions)
    for by in ("id", "structure"):
        there = {getattr(d, by): d for d in right}
        found = [Pair(d, there[getattr(d, by)], by) for d in left if getattr(d, by) in there]
        pairs += found
        left = _without(left, (p.base for p in found))
        right = _without(right, (p.other for p in found))
    pairs += _aligned(base, other, pairs)
    return tuple(pairs)


def _without(decisions: list[Decision], gone: Iterable[Decision]) -> list[Decision]:
    known = set(map(id, gone))
    return [d for d in decisions if id(d) not in known]


def _aligned(base: Export, other: Export, pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Align what is left in graph order; pairs that are known already hold the place."""
    known = {id(d): n for n, pair in enumerate(pairs) for d in (pair.base, pair.other)}

    def line(export: Export) -> list[tuple[object, Decision]]:
        return [(known.get(id(d), export.key(d)), d) for d in export.report.decisions]

    ours, theirs = line(base), line(other)
    # What only one side has would break up the runs that the aligner looks for.
    common = {key for key, _ in ours} & {key for key, _ in theirs}
    ours = [entry for entry in ours if entry[0] in common]
    theirs = [entry for entry in theirs if entry[0] in common]
    matcher = SequenceMatcher(None, [k for k, _ in ours], [k for k, _ in theirs], autojunk=False)
    for start, there, size in matcher.get_matching_blocks():
        for (key, one), (_, two) in zip(
            ours[start : start + size], theirs[there : there + size], strict=True
        ):
            if not isinstance(key, int):
                yield Pair(one, two, "sequence")
