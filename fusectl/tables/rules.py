"""Rules: what may be fused and what must hold for it to mean the same, on any machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fusectl.errors import Problem, Span, did_you_mean
from fusectl.graph.view import Node
from fusectl.reasons import REASONS
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import Pattern, compile_pattern, parse_nodes
from fusectl.tables.resolve import read, shown
from fusectl.tables.schema import (
    Example,
    PatternText,
    Range,
    Require,
    RuleDoc,
    RuleFile,
    Slots,
    Value,
    Where,
    Writes,
)
from fusectl.tables.writes import check_writes
from fusectl.yamlsrc import Reader, compose
from fusectl.yamlsrc.reader import Spanned

Checks = Mapping[str, tuple[str, ...]]
"""Checks by name, with the arguments that each takes.

One that may be left out ends in ``?``, one that is a whole number in ``#``.
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One check that a rule asks for, its arguments and the line that asks."""

    check: str
    args: dict[str, Value]
    span: Span


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, compiled."""

    id: str
    summary: str
    edge: str
    patterns: tuple[Pattern, ...]
    require: tuple[Requirement, ...]
    slots: Slots
    numerics: str
    elementwise: bool
    axis: str
    opt_in: bool
    becomes: str
    operands: tuple[str, ...]
    duplicable: tuple[str, ...]
    writes: tuple[Writes, ...]
    examples: tuple[Example, ...]
    span: Span

    @property
    def ops(self) -> frozenset[str]:
        """Every operator that can play a node of the rule."""
        return frozenset().union(*(n.ops for p in self.patterns for n in p.nodes))

    @property
    def two_node(self) -> bool:
        """Whether every spelling is one producer and one consumer."""
        return all(p.two_node for p in self.patterns)


def read_rule_file(path: Path) -> tuple[RuleFile | None, list[Problem]]:
    """Read a rule file's documents, with every problem in it."""
    reader = Reader()
    tree = compose(read(path), shown(path))
    return reader.read(tree, RuleFile, "the rule file"), reader.problems


def compile_rules(
    file: RuleFile, operators: Operators, checks: Checks, problems: list[Problem]
) -> Iterator[Rule]:
    """Compile the rules of one file; ``checks`` is what ``require`` may use."""
    classes = {k: tuple(t.value for t in v) for k, v in file.classes.items()}
    operators = operators.extended(classes, file.operators)
    for doc in file.rules:
        yield _compile(doc, operators, checks, problems)


def _compile(doc: RuleDoc, operators: Operators, checks: Checks, problems: list[Problem]) -> Rule:
    patterns: list[Pattern] = []
    for entry in doc.patterns:
        text = entry.nodes if isinstance(entry, PatternText) else entry
        extra = entry.where if isinstance(entry, PatternText) else {}
        name = entry.name if isinstance(entry, PatternText) else ""
        opset = entry.opset if isinstance(entry, PatternText) else Range()
        start = Span(text.span.file, text.text_line, text.span.column)
        nodes = parse_nodes(text.value, start, problems)
        if not nodes:
            continue
        here: list[Problem] = []
        where = {**_relevant(doc, nodes), **extra}
        patterns += compile_pattern(
            nodes, doc.edge.value, where, operators, start, here, name, opset
        )
        problems += (
            Problem(doc.edge.span, p.message, p.help) if "the edge" in p.message else p
            for p in here
        )
    _check_where(doc, problems)
    if patterns:
        check_writes(doc.id.value, doc.writes, patterns, problems)
    _check_examples(doc, problems)
    return Rule(
        doc.id.value,
        doc.summary,
        doc.edge.value,
        tuple(patterns),
        check_requirements(doc.require, checks, problems),
        doc.slots,
        doc.numerics,
        doc.elementwise,
        doc.axis,
        doc.opt_in,
        doc.becomes,
        doc.operands,
        doc.duplicable,
        doc.writes,
        doc.examples,
        doc.span,
    )


def _relevant(doc: RuleDoc, nodes: list[Node]) -> dict[str, Where]:
    """Facts of the rule that speak of this spelling's values."""
    values = {v for n in nodes for v in (*n.inputs, *n.outputs)}
    return {name: fact for name, fact in doc.where.items() if name in values}


def _check_where(doc: RuleDoc, problems: list[Problem]) -> None:
    text = " ".join(p.nodes.value if isinstance(p, PatternText) else p.value for p in doc.patterns)
    for name, fact in doc.where.items():
        if name not in text:
            problems.append(Problem(fact.span, f"{name} is no value of any pattern of the rule"))


def requirements(entries: Iterable[Spanned[Require]]) -> Iterator[Requirement]:
    """Yield the checks of a ``require``, in a rule or in a path of a target."""
    for entry in entries:
        for name, args in _calls(entry):
            yield Requirement(name, args, entry.span)


def check_requirements(
    entries: Iterable[Spanned[Require]], checks: Checks, problems: list[Problem]
) -> tuple[Requirement, ...]:
    """Return the checks of a ``require``; note unknown ones, and arguments that do not fit."""
    found = tuple(requirements(entries))
    for wanted in found:
        if wanted.check not in checks:
            hint = did_you_mean(wanted.check, checks)
            problems.append(Problem(wanted.span, f"unknown check {wanted.check}", hint))
        else:
            problems += _misfits(wanted, checks[wanted.check])
    return found


def _misfits(wanted: Requirement, takes: tuple[str, ...]) -> Iterator[Problem]:
    """Yield arguments that a check does not take, and those that it lacks."""
    known = [name.rstrip("?#") for name in takes]
    for name in wanted.args:
        if name not in known:
            text = f"the check {wanted.check} takes no {name}"
            yield Problem(wanted.span, text, did_you_mean(name, known) or _listed(known))
    for kind, name in zip(takes, known, strict=True):
        given = wanted.args.get(name)
        if given is None and "?" not in kind:
            yield Problem(wanted.span, f"the check {wanted.check} lacks {name}")
        elif given is not None and kind.endswith("#") and not str(given).isdecimal():
            yield Problem(wanted.span, f"{name} of the check {wanted.check} is a whole number")


def _listed(names: list[str]) -> str:
    return f"it takes {', '.join(names)}" if names else "it takes no arguments"


def _calls(entry: Spanned[Require]) -> Iterator[tuple[str, dict[str, Value]]]:
    if isinstance(entry.value, dict):
        yield from entry.value.items()
    elif isinstance(entry.value, Spanned):
        yield entry.value.value, {}


def _check_examples(doc: RuleDoc, problems: list[Problem]) -> None:
    accepts = rejects = 0
    for example in doc.examples:
        accepts += example.accept is not None
        rejects += example.reject is not None
        if (example.accept is None) == (example.reject is None):
            problems.append(Problem(example.span, "an example is either accept or reject"))
        elif example.reject is not None:
            slug = example.reject.value
            if slug not in REASONS:
                problems.append(
                    Problem(
                        example.reject.span, f"unknown reason {slug}", did_you_mean(slug, REASONS)
                    )
                )
            if example.model is None:
                problems.append(Problem(example.span, "a reject example lacks the key model"))
    if not accepts or not rejects:
        problems.append(
            Problem(
                doc.id.span,
                f"rule {doc.id.value}: examples are mandatory: at least one accept and one reject",
            )
        )
