"""Targets: what a machine or compiler can do, in ordered passes and per-path capabilities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fusectl.errors import Problem, Span, TableError, UsageError, did_you_mean
from fusectl.tables.lowering import check_templates
from fusectl.tables.operators import Operators
from fusectl.tables.resolve import read, shown
from fusectl.tables.rules import Checks, Rule, check_requirements
from fusectl.tables.schedule import Schedule
from fusectl.tables.target_schema import (
    AuditDoc,
    Equivalence,
    Lowering,
    Memory,
    PassDoc,
    PathDoc,
    TargetDoc,
)
from fusectl.tables.words import Words
from fusectl.tables.writes import check_writes
from fusectl.yamlsrc import Mapping as YamlMapping
from fusectl.yamlsrc import Node, Reader, Scalar, compose

DEFAULT = "default"
"""The path that holds for every rule without one of its own."""
OTHERS = "others"
"""In a ``fuse`` list: every rule that no pass names and that is not opt-in."""

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(B|KiB|MiB|GiB)\Z")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True, slots=True)
class Target:
    """A target, resolved: what it extends is merged in."""

    id: str
    version: str
    summary: str
    equivalence: Equivalence
    memory: Memory
    passes: tuple[PassDoc, ...]
    paths: Mapping[str, PathDoc]
    span: Span
    extends: tuple[str, ...] = ()
    covered: frozenset[str] = frozenset()
    audit: AuditDoc | None = None
    inline: bool = False
    follow_sizes: str = "all"
    schedule: Schedule = field(default_factory=dict)
    lowering: Lowering | None = None

    @property
    def files(self) -> frozenset[str]:
        """The files that say what the target can do, as findings name them."""
        return frozenset({self.span.file, *(p.span.file for p in self.paths.values())})

    @property
    def on_chip(self) -> int | None:
        """The on-chip memory in bytes, or None where the target states none."""
        return size(self.memory.on_chip.value) if self.memory.on_chip else None

    @property
    def grouping(self) -> int | None:
        """The place of the pass that groups, or None: the target does not group."""
        return next((i for i, p in enumerate(self.passes) if p.group), None)

    def fuses_at(self, rule: str) -> int | None:
        """Return the place of the first pass that runs a rule."""
        found = (i for i, p in enumerate(self.passes) if any(t.value == rule for t in p.fuse or ()))
        return next(found, None)

    def scheduled(self, schedule: Schedule) -> Target:
        """Return the target with a schedule that overrides its tiler. Raises UsageError."""
        if self.grouping is None:
            raise UsageError(
                f"target {self.id} has no group pass, so a schedule would change nothing; "
                "use a target with group: auto"
            )
        return replace(self, schedule=schedule)

    def path(self, rule: str) -> PathDoc | None:
        """Return the target's capability for a rule, or None: no pass of it runs the rule."""
        if rule not in self.covered:
            return None
        return self.paths.get(rule) or self.paths.get(DEFAULT)


def size(text: str) -> int | None:
    """Return the bytes of ``512KiB``, or None where it is no size."""
    found = _SIZE.match(text)
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def read_target_file(path: Path) -> TargetDoc:
    """Read one target file. Raises TableError with every problem in it."""
    reader = Reader()
    tree = compose(read(path), shown(path))
    name = tree.get("target") if isinstance(tree, YamlMapping) else None
    what = f"target {name.text}" if isinstance(name, Scalar) else "the target file"
    doc = reader.read(tree, TargetDoc, what)
    _check_memory(tree, reader)
    if isinstance(doc, TargetDoc):
        _check(doc, reader)
    if reader.problems or not isinstance(doc, TargetDoc):
        raise TableError(reader.problems)
    return doc


def _check_memory(tree: Node, reader: Reader) -> None:
    """Check sizes on the text, so that they are told also where other keys are wrong."""
    memory = tree.get("memory") if isinstance(tree, YamlMapping) else None
    stated = memory.get("on_chip") if isinstance(memory, YamlMapping) else None
    if isinstance(stated, Scalar) and size(stated.text) is None:
        message = f"memory: on_chip {stated.text} is no size"
        reader.fail(stated.span, message, "a size is like 512KiB")


def _check(doc: TargetDoc, reader: Reader) -> None:
    for rule, path in doc.paths.items():
        if not path.source:
            reader.fail(
                path.span,
                f"target {doc.target.value}: the path {rule} lacks the key source",
                "every capability says where the fact comes from",
            )
        if path.row_bytes and size(path.row_bytes) is None:
            reader.fail(path.span, f"{rule}: row_bytes {path.row_bytes} is no size")
    for step in doc.passes:
        kinds = {
            "eliminate": step.eliminate,
            "bind": step.bind or None,
            "fold": step.fold,
            "share": step.share,
            "cse": step.cse or None,
            "retype": step.retype,
            "layout": step.layout,
            "transposes": step.transposes,
            "fuse": step.fuse,
            "group": step.group or None,
        }
        if sum(k is not None for k in kinds.values()) != 1:
            reader.fail(step.span, f"a pass is exactly one of {', '.join(kinds)}")
    groups = [p for p in doc.passes if p.group]
    if groups and doc.memory.on_chip is None and doc.extends is None:
        message = "group: auto needs memory: on_chip"
        reader.fail(groups[0].span, message, "say how much a tile may take")
    if doc.lowering is not None:
        check_templates(doc.lowering, reader)
    for step in groups[1:]:
        reader.fail(step.span, "a target groups once: there is a second group pass")


def resolve(
    doc: TargetDoc,
    docs: Mapping[str, TargetDoc],
    rules: Iterable[Rule],
    operators: Operators,
    checks: Checks,
) -> Target:
    """Merge a target with what it extends and hold it against the rules. Raises TableError."""
    problems: list[Problem] = []
    chain = _chain(doc, docs, problems)
    if problems:
        raise TableError(problems)
    ids = {r.id: r for r in rules}
    passes: tuple[PassDoc, ...] = ()
    paths: dict[str, PathDoc] = {}
    memory, equivalence, audit, lowering = Memory(), Equivalence(), None, None
    for step in reversed(chain):
        passes = step.passes or passes
        paths.update(step.paths)
        memory = step.memory if step.memory != Memory() else memory
        equivalence = _stated(step, equivalence)
        audit = step.audit or audit
        lowering = step.lowering or lowering
    _check_names(doc, passes, paths, ids, problems)
    words = Words(operators)
    for own in doc.passes:
        words.check_pass(own, problems)
    for name, path in doc.paths.items():
        words.check_path(name, path, problems)
        check_requirements(path.require, checks, problems)
    if doc.lowering is not None:
        words.check_lowering(doc.lowering, problems)
    if problems:
        raise TableError(problems)
    named = {t.value for p in passes for t in (p.fuse or ())}
    others = [i for i, r in ids.items() if i not in named and not r.opt_in]
    passes = tuple(_expand(p, others) for p in passes)
    return Target(
        doc.target.value,
        doc.version,
        doc.summary,
        equivalence,
        memory,
        passes,
        paths,
        doc.span,
        tuple(d.target.value for d in chain[1:]),
        frozenset(t.value for p in passes for t in p.fuse or ()),
        audit,
        any(d.inline for d in chain),
        next((d.follow_sizes for d in chain if d.follow_sizes != "all"), "all"),
        lowering=lowering,
    )


def _stated(doc: TargetDoc, inherited: Equivalence) -> Equivalence:
    """Return the equivalence of a target: a word alone keeps the numbers of what it extends."""
    if isinstance(doc.equivalence, str):
        return replace(inherited, ask=doc.equivalence)
    return doc.equivalence or inherited


def _chain(
    doc: TargetDoc, docs: Mapping[str, TargetDoc], problems: list[Problem]
) -> list[TargetDoc]:
    chain = [doc]
    while chain[-1].extends is not None:
        name = chain[-1].extends
        if name.value in {d.target.value for d in chain}:
            problems.append(
                Problem(name.span, f"target {doc.target.value} extends itself through {name.value}")
            )
            break
        base = docs.get(name.value)
        if base is None:
            hint = did_you_mean(name.value, docs)
            problems.append(Problem(name.span, f"unknown target {name.value} in extends", hint))
            break
        chain.append(base)
    return chain


def _check_names(
    doc: TargetDoc,
    passes: tuple[PassDoc, ...],
    paths: Mapping[str, PathDoc],
    rules: Mapping[str, Rule],
    problems: list[Problem],
) -> None:
    for step in passes:
        for text in step.fuse or ():
            if text.value == OTHERS:
                continue
            if text.value not in rules:
                hint = did_you_mean(text.value, rules)
                problems.append(Problem(text.span, f"unknown rule {text.value}", hint))
            elif text.value not in paths and DEFAULT not in paths:
                problems.append(Problem(text.span, f"no path for the rule {text.value} is stated"))
    for name, path in paths.items():
        if name != DEFAULT and name not in rules:
            hint = did_you_mean(name, rules)
            problems.append(Problem(path.span, f"unknown rule {name} in paths", hint))
        elif name != DEFAULT:
            _check_path(name, path, rules[name], problems)
            entries = [how for form in path.becomes for how in form.writes]
            check_writes(name, entries, rules[name].patterns, problems)
    if not passes:
        problems.append(Problem(doc.span, f"target {doc.target.value} lacks the key passes"))


def _check_path(name: str, path: PathDoc, rule: Rule, problems: list[Problem]) -> None:
    spellings = {p.name for p in rule.patterns}
    for wanted in path.patterns:
        if wanted not in spellings:
            hint = did_you_mean(wanted, spellings)
            problems.append(Problem(path.span, f"{name} has no pattern named {wanted}", hint))
    for limit in path.shapes:
        if limit.same and len(limit.same) != 2:
            problems.append(Problem(limit.span, f"{name}: same takes two values"))
        for form in (f for forms in limit.forms.values() for f in forms):
            if form != "scalar" and not all(p in "mnc" or p.isdigit() for p in form.split("x")):
                message = f"{name}: {form} is no form; one is like n, 1xn, mx1, cx1x1 or scalar"
                problems.append(Problem(limit.span, message))
    values = {v for p in rule.patterns for n in p.nodes for v in (*n.inputs, *n.outputs)}
    _check_functions(name, path, values, problems)
    named = [
        *path.where,
        *path.only,
        *path.types,
        *path.same_types,
        *(c.rstrip("?") for c in path.const),
    ]
    for limit in path.shapes:
        named += [*limit.rank, *limit.static, *limit.elements, *limit.more_than, *limit.forms]
        named += [*limit.same, *limit.ops, *limit.layout, *limit.present]
    for value in named:
        if value not in values:
            hint = did_you_mean(value, values)
            problems.append(Problem(path.span, f"{name}: {value} is no value of the rule", hint))


def _check_functions(name: str, path: PathDoc, values: set[str], problems: list[Problem]) -> None:
    for function, use in (path.functions or {}).items():
        if any(len(pair) != 2 for pair in use.bounds):
            message = f"{name}: bounds of {function} are pairs, a lower and an upper one"
            problems.append(Problem(path.span, message))
        if use.encoding == "same" and not {"xs", "qs"} <= values:
            message = f"{name}: encoding is for rules on codes, with scales xs and qs"
            problems.append(Problem(path.span, message))


def _expand(step: PassDoc, others: list[str]) -> PassDoc:
    if step.fuse is None:
        return step
    expanded = []
    for text in step.fuse:
        names = others if text.value == OTHERS else [text.value]
        expanded += [replace(text, value=name) for name in names]
    return replace(step, fuse=tuple(expanded))
