"""A selection of decisions: a report with fewer of them and the same summary."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from fusectl.errors import UsageError, did_you_mean
from fusectl.reasons import REASONS
from fusectl.report.types import Decision, Edge, NodeRef, NoteRecord, Report


@dataclass(frozen=True, slots=True)
class Filter:
    """What a decision has to have; an empty field asks for nothing.

    ``node`` is a name or a first output; ``edge`` is a value, or ``value:consumer``; ``reason``
    is one of the blockers, not only the headline.
    """

    node: str = ""
    edge: str = ""
    rule: str = ""
    reason: str = ""
    verdict: str = ""

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return any((self.node, self.edge, self.rule, self.reason, self.verdict))

    def __str__(self) -> str:
        """Return the filter as options of the command line."""
        return " ".join(
            f"--{name} {value}"
            for name in ("node", "edge", "rule", "reason", "verdict")
            if (value := getattr(self, name))
        )


@dataclass(frozen=True, slots=True)
class Names:
    """Names of nodes and values that exist."""

    nodes: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()

    def __or__(self, other: Names) -> Names:
        """Return the names of both."""
        return Names(self.nodes | other.nodes, self.values | other.values)

    def cover(self, wanted: Filter) -> bool:
        """Tell whether the node and the edge of a filter exist."""
        if wanted.node and wanted.node not in self.nodes:
            return False
        return not wanted.edge or any(
            value in self.values and (not consumer or consumer in self.nodes)
            for value, consumer in _ends(wanted.edge)
        )


def names_of(report: Report) -> Names:
    """Return the names that a report speaks of."""
    nodes: set[str] = {n for e in report.eliminated for n in _names(e.node)}
    values: set[str] = {e.node.output for e in report.eliminated}
    for edge in _edges(report):
        nodes.update(_names(edge.producer), _names(edge.consumer))
        values.add(edge.value)
    for decision in report.decisions:
        for node in (*decision.nodes, *decision.between):
            nodes.update(_names(node))
            values.add(node.output)
        nodes.update(m.node for m in decision.missing)
        values.update(decision.swallows, decision.materialises)
    return Names(frozenset(nodes - {""}), frozenset(values - {""}))


def check_rules(wanted: Filter, rules: Collection[str]) -> None:
    """Raise UsageError for a rule or reason that does not exist."""
    if wanted.rule and wanted.rule not in rules:
        hint = did_you_mean(wanted.rule, rules) or "fusectl rules list shows them"
        raise UsageError(f"unknown rule {wanted.rule!r}; {hint}")
    if wanted.reason and wanted.reason not in REASONS:
        hint = did_you_mean(wanted.reason, REASONS) or "fusectl reasons lists them"
        raise UsageError(f"unknown reason {wanted.reason!r}; {hint}")


def check_names(wanted: Filter, names: Names, model: str) -> None:
    """Raise UsageError for a node or an edge that the model does not have."""
    if wanted.node and wanted.node not in names.nodes:
        raise UsageError(_unknown("node", wanted.node, names.nodes, model))
    if not wanted.edge or names.cover(Filter(edge=wanted.edge)):
        return
    for value, consumer in _ends(wanted.edge):
        if value in names.values:
            raise UsageError(_unknown("consumer", consumer, names.nodes, model))
    value = wanted.edge.partition(":")[0]
    raise UsageError(_unknown("value", value, names.values, model))


def _unknown(what: str, name: str, known: Iterable[str], model: str) -> str:
    hint = did_you_mean(name, known)
    return f"{model} has no {what} {name!r}" + (f"; {hint}" if hint else "")


def select(report: Report, wanted: Filter) -> Report:
    """Return the report with only the decisions that match; everything else stays.

    Where none matches, a note says so.
    """
    if not wanted:
        return report
    tests = tuple(_tests(report, wanted))
    found = tuple(d for d in report.decisions if all(test(d) for test in tests))
    notes = report.notes
    if not found:
        notes = (*notes, NoteRecord("info", _nothing(report, wanted), ""))
    return msgspec.structs.replace(report, decisions=found, notes=notes)


def _tests(report: Report, wanted: Filter) -> Iterator[Callable[[Decision], bool]]:
    if wanted.node:
        yield lambda d: wanted.node in set(_concerned(d))
    if wanted.edge:
        ids = _on_edge(report, wanted.edge)
        yield lambda d: d.id in ids
    if wanted.rule:
        yield lambda d: d.rule == wanted.rule
    if wanted.reason:
        yield lambda d: any(f.reason == wanted.reason for f in d.blockers)
    if wanted.verdict:
        yield lambda d: d.verdict == wanted.verdict


def _nothing(report: Report, wanted: Filter) -> str:
    """Say that nothing matches, and where an edge that was asked for is listed instead."""
    text = f"no decision matches {wanted}"
    if wanted.reason == "no-rule":
        return f"{text}: edges without a rule are no decisions, and listed apart"
    if not any((wanted.rule, wanted.reason, wanted.verdict)) and _open(report, wanted):
        return f"{text}: no rule covers it (no-rule; --uncovered lists such edges)"
    return text


def _open(report: Report, wanted: Filter) -> bool:
    edges = [e for u in report.uncovered for e in u.edges]
    if wanted.node:
        edges = [e for e in edges if wanted.node in (*_names(e.producer), *_names(e.consumer))]
    if wanted.edge:
        edges = [e for e in edges if any(_is(e, *ends) for ends in _ends(wanted.edge))]
    return bool(edges)


def _on_edge(report: Report, text: str) -> frozenset[str]:
    """Return the decisions on an edge, or else those that would swallow the value within."""
    ends = list(_ends(text))
    exact = {d.id for d in report.decisions if any(_is(d.edge, *e) for e in ends)}
    if exact:
        return frozenset(exact)
    return frozenset(
        d.id
        for d in report.decisions
        for value, consumer in ends
        if value in d.swallows and (not consumer or consumer in set(_concerned(d)))
    )


def _is(edge: Edge, value: str, consumer: str) -> bool:
    return edge.value == value and (not consumer or consumer in _names(edge.consumer))


def _ends(text: str) -> Iterator[tuple[str, str]]:
    """Yield every reading of ``value:consumer``; names may contain colons themselves."""
    yield text, ""
    places = [i for i, c in enumerate(text) if c == ":"]
    yield from ((text[:i], text[i + 1 :]) for i in reversed(places) if text[i + 1 :])


def _concerned(decision: Decision) -> Iterator[str]:
    """Yield the names of the nodes that a decision is about."""
    ends = decision.edge
    for node in (ends.producer, ends.consumer, *decision.nodes, *decision.between):
        yield from _names(node)
    yield from (m.node for m in decision.missing)


def _names(node: NodeRef) -> tuple[str, ...]:
    return (node.name, node.output) if node.name else (node.output,)


def _edges(report: Report) -> Iterator[Edge]:
    yield from (d.edge for d in report.decisions)
    yield from (e for u in report.uncovered for e in u.edges)
