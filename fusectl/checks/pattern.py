"""Whether the nodes are what the pattern says: operators, attributes, constants, outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod

import numpy as np

from fusectl.checks.describe import constant, number
from fusectl.checks.parameters import matches, parameter
from fusectl.checks.reduction import axes_outcomes
from fusectl.checks.registry import Args, Outcome, Outcomes, check, fail, runtime, unknown
from fusectl.graph.constants import Unreadable
from fusectl.graph.view import schema
from fusectl.match.candidate import Candidate, Miss
from fusectl.tables.patterns import Pattern
from fusectl.tables.schema import Where


def _any(pattern: Pattern, wanted: Callable[[Where], bool]) -> bool:
    return any(wanted(fact) for fact in pattern.where.values())


@check("nodes-match", "op-mismatch", needs="missing")
def nodes_match(candidate: Candidate, args: Args) -> Outcomes:
    """Every node of the pattern is there, with the operator, domain and arity it asks for."""
    found = []
    for miss in candidate.missing:
        place = miss.group.label if miss.group is not None else candidate.consumer.node.label
        if miss.group is None:
            seen = f"{miss.observed} stands where the pattern has {miss.expected}"
        else:
            seen = f"{place} is {miss.observed}, the pattern has {miss.expected} there"
        found.append(fail(place, f"{_matching(candidate)}{seen}", _placement(candidate, miss)))
    return found or None


def _matching(candidate: Candidate) -> str:
    """Say how many nodes of a pattern of several are as it has them: operator, constants, all."""
    nodes = candidate.pattern.nodes
    if len(nodes) == 2:
        return ""
    facts = candidate.pattern.where
    needed = [n for n, f in facts.items() if f.const is not None]
    wrong = {name for name, _ in _run_time(candidate, needed)}
    wrong |= {name for name, _ in _other_values(candidate, facts)}
    labels = {o.subject for o in attribute_outcomes(candidate, facts)}
    good = sum(
        role is not None and wrong.isdisjoint(node.inputs) and role.node.label not in labels
        for node, role in zip(nodes, candidate.roles, strict=True)
    )
    return f"{good} of {len(nodes)} nodes match; "


def _counted(candidate: Candidate, outcomes: Iterable[Outcome]) -> Outcomes:
    """Say of each outcome how many nodes match."""
    found = list(outcomes)
    if not found:
        return None
    lead = _matching(candidate)
    if not lead:
        return found
    return [replace(o, observed=f"{lead}{_of_whom(o)}") for o in found]


def _of_whom(outcome: Outcome) -> str:
    named = any(piece in outcome.observed for piece in outcome.subject.split(", "))
    return outcome.observed if named else f"{outcome.subject}: {outcome.observed}"


def _placement(candidate: Candidate, miss: Miss) -> str:
    """Say where a missing quantiser or dequantiser should stand, or what to export."""
    pattern = candidate.pattern
    node = next(n for n in pattern.nodes if miss.role in n.outputs)
    if miss.expected == "QuantizeLinear":
        role = candidate.role_of(node.inputs[0])
        if role is not None:
            behind = f"put a QuantizeLinear right behind {role.node.label}"
            if miss.group is not None:
                return f"{behind}, in front of {miss.group.label}"
            return behind
    if miss.expected == "DequantizeLinear":
        value = candidate.bound.get(miss.role, "")
        reader = next((n for n in pattern.nodes if miss.role in n.inputs), None)
        role = candidate.role_of(reader.outputs[0]) if reader is not None else None
        if value and role is not None:
            return (
                f"quantise {value}: put a QuantizeLinear and a DequantizeLinear in front of "
                f"{role.node.label}"
            )
    if miss.beside and miss.group is not None:
        return (
            f"take {miss.group.label} out of the pattern: convert before it or after it, or keep it"
        )
    return f"export this part as the pattern {pattern.name or candidate.rule.id}, or keep it"


@check(
    "attributes",
    "attribute",
    lambda pattern, path: (
        _any(pattern, lambda f: bool(f.attrs or f.axes)) or any(n.attrs for n in pattern.nodes)
    ),
)
def attributes(candidate: Candidate, args: Args) -> Outcomes:
    """Attributes and attribute-like constants have the values that the rule allows."""
    return _counted(candidate, attribute_outcomes(candidate, candidate.pattern.where))


def attribute_outcomes(candidate: Candidate, facts: Mapping[str, Where]) -> Iterator[Outcome]:
    """Hold the parameters of nodes against a rule's or a path's facts."""
    for index, node in enumerate(candidate.pattern.nodes):
        role = candidate.roles[index]
        if role is None:
            continue
        for name, stated in node.attrs.items():
            actual = candidate.overlay.view.attr(role.node, name)
            if actual != stated and not matches(actual, _text(stated)):
                yield fail(
                    role.node.label,
                    f"{name} is {_text(actual)}, the pattern needs {_text(stated)}",
                    f"set {name} to {_text(stated)} on {role.node.label}",
                )
    for value, fact in facts.items():
        role = candidate.role_of(value)
        if role is None:
            continue
        if fact.axes:
            for outcome in axes_outcomes(candidate, role, fact.axes == "last"):
                yield replace(outcome, where=fact.span)
        for name, wanted in fact.attrs.items():
            yield from _parameter(candidate, value, name, wanted.value, fact)


def _parameter(
    candidate: Candidate, value: str, name: str, wanted: str | tuple[str, ...], fact: Where
) -> Iterator[Outcome]:
    role = candidate.role_of(value)
    assert role is not None
    found = parameter(candidate.overlay, role, name)
    label, shown = role.node.label, _text(wanted)
    where = fact.attrs[name].span
    if found.runtime:
        yield runtime(label, name, found.runtime, where)
    elif found.trouble:
        yield unknown(label, f"{name}: {found.trouble}", "make the data readable", where)
    elif found.exists and not matches(found.value, wanted, fact.rel, fact.abs):
        yield fail(
            label,
            f"{name} is {_text(found.value)}, allowed is {shown}",
            f"set {name} to {shown} on {label}, if that is what the model means",
            where,
        )


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_text(v) for v in value) + "]"
    return number(value) if isinstance(value, float) else str(value)


@check(
    "constants", "not-constant", lambda pattern, path: _any(pattern, lambda f: f.const is not None)
)
def constants(candidate: Candidate, args: Args) -> Outcomes:
    """The operands that the rule needs at compile time are constants."""
    needed = [n for n, f in candidate.pattern.where.items() if f.const is not None]
    return _counted(candidate, (o for _, o in _run_time(candidate, needed)))


def constant_outcomes(candidate: Candidate, names: Iterable[str]) -> Outcomes:
    """Say which of the named values of the pattern are bound to run-time values."""
    return [o for _, o in _run_time(candidate, names)] or None


def _run_time(candidate: Candidate, names: Iterable[str]) -> Iterator[tuple[str, Outcome]]:
    for name in names:
        value = candidate.bound.get(name, "")
        if value and not candidate.overlay.is_constant(value):
            maker = candidate.overlay.view.producers.get(value)
            origin = f"computed by {maker.label} ({maker.op})" if maker else "an input of the graph"
            help = f"make {value} an initializer, or fold what computes it before exporting"
            yield name, fail(value, f"{value} is {origin}", help)
        elif value and candidate.overlay.trouble(value):
            help = "put the file where the model expects it"
            yield name, unknown(value, candidate.overlay.trouble(value), help)


@check(
    "constant-values",
    "constant-value",
    lambda pattern, path: _any(pattern, lambda f: f.numbers is not None),
)
def constant_values(candidate: Candidate, args: Args) -> Outcomes:
    """Constants have the values that the pattern needs."""
    outcomes = (o for _, o in _other_values(candidate, candidate.pattern.where))
    return _counted(candidate, outcomes)


def value_outcomes(candidate: Candidate, facts: Mapping[str, Where]) -> Outcomes:
    """Hold constants against the values that a rule's or a path's facts give."""
    return [o for _, o in _other_values(candidate, facts)] or None


def _other_values(
    candidate: Candidate, facts: Mapping[str, Where]
) -> Iterator[tuple[str, Outcome]]:
    for name, fact in facts.items():
        value = candidate.bound.get(name, "")
        if fact.const is None or not value or not candidate.overlay.is_constant(value):
            continue
        wanted = fact.numbers
        if wanted is None:
            continue
        for outcome in _value(candidate, name, value, wanted, fact):
            yield name, outcome


def _value(
    candidate: Candidate, name: str, value: str, wanted: tuple[float, ...], fact: Where
) -> Iterator[Outcome]:
    try:
        array = candidate.overlay.array(value)
    except (Unreadable, KeyError) as error:
        yield unknown(value, str(error), "make the data readable", fact.span)
        return
    actual = array.astype(np.float64).reshape(-1)
    if actual.size != 1 and actual.size != len(wanted):
        spread = actual.size > 0 and len(wanted) == 1 and bool(np.all(actual == actual[0]))
        actual = actual[:1] if spread else actual
    target = np.asarray(wanted)
    close = actual.size == target.size and bool(
        np.all(np.abs(actual - target) <= fact.abs + fact.rel * np.abs(target))
    )
    if not close:
        shown = ", ".join(number(w) for w in wanted)
        label, word = _operand(candidate, name, value)
        yield fail(
            f"{label}, {value}",
            f"{label} has {word} {constant(candidate.overlay, value)}, the pattern needs {shown}",
            "another constant is another function: keep it, or correct the constant if it is a "
            "mistake of the exporter",
            fact.span,
        )


_WORDS: Mapping[str, tuple[str, str]] = {
    "Add": ("addend", "addend"),
    "Sub": ("minuend", "subtrahend"),
    "Mul": ("factor", "factor"),
    "Div": ("dividend", "divisor"),
    "Pow": ("base", "exponent"),
    "Max": ("lower limit", "lower limit"),
    "Min": ("upper limit", "upper limit"),
}
"""What people call the operands of arithmetic; ONNX calls them A and B."""


def _operand(candidate: Candidate, name: str, value: str) -> tuple[str, str]:
    """Return who reads a constant of the pattern, and what it is to that operator."""
    for node, role in zip(candidate.pattern.nodes, candidate.roles, strict=True):
        if role is None or name not in node.inputs or value not in role.inputs:
            continue
        slot = role.inputs.index(value)
        words = _WORDS.get(role.node.op, ())
        if slot < len(words):
            return role.node.label, words[slot]
        known = schema(role.node.op_type, role.node.domain, candidate.overlay.view.opset(""))
        formal = [i.name for i in known.inputs] if known is not None else []
        return role.node.label, formal[slot] if slot < len(formal) else "operand"
    return value, "the value"


@check(
    "operands",
    "shape",
    lambda pattern, path: _any(pattern, lambda f: f.elements is not None or bool(f.rank)),
)
def operands(candidate: Candidate, args: Args) -> Outcomes:
    """Operands have the rank and number of elements that the rule allows."""
    return operand_outcomes(candidate, candidate.pattern.where)


def operand_outcomes(candidate: Candidate, facts: Mapping[str, Where]) -> Outcomes:
    """Hold operands against the ranks and sizes that a rule's or a path's facts give."""
    found: list[Outcome] = []
    for name, fact in facts.items():
        value = candidate.bound.get(name, "")
        if not value:
            continue
        dims = candidate.overlay.type_of(value).dims
        if fact.elements is not None:
            found += _elements(candidate, value, dims, fact)
        if fact.rank and dims is None:
            found.append(unknown(value, "its rank is not known", "add shapes", fact.span))
        elif fact.rank and dims is not None and len(dims) not in fact.rank:
            ranks = " or ".join(map(str, fact.rank))
            found.append(
                fail(value, f"its rank is {len(dims)}, allowed is {ranks}", where=fact.span)
            )
    return found or None


def _elements(
    candidate: Candidate, value: str, dims: tuple[object, ...] | None, fact: Where
) -> Iterator[Outcome]:
    if dims is None:
        yield unknown(value, "its shape is not known", "add its shape to the model", fact.span)
        return
    assert fact.elements is not None
    known = [d for d in dims if isinstance(d, int)]
    size = prod(known)
    if len(known) < len(dims) and size and fact.elements % size == 0:
        seen = f"its shape is {candidate.overlay.type_of(value)}"
        yield unknown(value, seen, "make it static", fact.span)
    elif size != fact.elements and len(known) < len(dims):
        seen = f"its shape is {candidate.overlay.type_of(value)}, needed is {fact.elements} element"
        yield fail(value, seen, where=fact.span)
    elif size != fact.elements:
        yield fail(
            value,
            f"{value} has {size} elements ({candidate.overlay.type_of(value)}), needed "
            f"is {fact.elements}",
            where=fact.span,
        )


@check("outputs-unused", "extra-outputs")
def outputs_unused(candidate: Candidate, args: Args) -> Outcomes:
    """Optional outputs that the pattern does not name are not in use."""
    found = []
    for node, role in zip(candidate.pattern.nodes, candidate.roles, strict=True):
        if role is None or role.held:
            continue
        # A fused group may write values of its nodes beside; those are no optional outputs.
        optional = {o for m in role.group.members for o in m.outputs[1:] if o}
        for extra in role.outputs[len(node.outputs) :]:
            if extra not in optional:
                continue
            readers = [g.label for g, _ in candidate.overlay.users(extra)]
            readers += [n.label for n in candidate.overlay.captured.get(extra, ())]
            if extra in candidate.overlay.returned:
                readers.append("the graph's outputs")
            if readers:
                found.append(
                    fail(
                        role.node.label,
                        f"its output {extra} is read by {', '.join(readers)}",
                        f"drop {extra} if nobody needs it, or keep {role.node.label}",
                    )
                )
    return found or None
