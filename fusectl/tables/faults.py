"""What is wrong with tables that load: rules that can never fire, paths that never serve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations

from fusectl.errors import Problem, did_you_mean
from fusectl.tables.general import bare, covers
from fusectl.tables.operators import Operators
from fusectl.tables.patterns import Pattern
from fusectl.tables.resolve import SHIPPED
from fusectl.tables.rules import Requirement, Rule
from fusectl.tables.target_schema import PassDoc, PathDoc
from fusectl.tables.targets import DEFAULT, Target

_RESULT = frozenset({"source", "becomes"})
"""Keys of a path that say what comes of a match, and not whether there is one."""


def faults(rules: Mapping[str, Rule], targets: Iterable[Target], ops: Operators) -> list[Problem]:
    """Return every fault, in the order of files and lines.

    An opt-in rule of this package that no target names is none: it waits for a user's target.
    """
    known = list(targets)
    found = [*_unreachable(rules.values(), known), *_spellings(rules.values(), known)]
    for target in known:
        for step in target.passes:
            found += _shadowed(step, target, rules)
        found += _paths(target, rules, ops)
    return sorted(dict.fromkeys(found), key=lambda p: (p.span, p.message))


def _unreachable(rules: Iterable[Rule], targets: list[Target]) -> Iterator[Problem]:
    covered = frozenset[str]().union(*(t.covered for t in targets))
    for rule in rules:
        waits = rule.opt_in and rule.span.file.startswith(SHIPPED)
        if rule.id not in covered and not waits:
            why = "it is opt-in, and a target has to name it" if rule.opt_in else ""
            yield Problem(rule.span, f"{rule.id}: no pass of any target runs this rule", why)


def _spellings(rules: Iterable[Rule], targets: list[Target]) -> Iterator[Problem]:
    """Yield patterns that match only where an earlier one of the same rule does."""
    wanted = [path.patterns for t in targets for path in t.paths.values() if path.patterns]
    for rule in rules:
        for first, second in combinations(rule.patterns, 2):
            # A path may take the one spelling and not the other.
            apart = any(second.name in names and first.name not in names for names in wanted)
            if not apart and covers(first, second) is not None:
                message = f"{rule.id}: this pattern matches only where an earlier one does"
                yield Problem(second.span, message, f"the earlier one: {first.span}")


def _shadowed(step: PassDoc, target: Target, rules: Mapping[str, Rule]) -> Iterator[Problem]:
    """Yield rules that find nothing because an earlier one of the pass fuses all of it."""
    names = list(dict.fromkeys(t.value for t in step.fuse or ()))
    spans = {t.value: t.span for t in step.fuse or ()}
    for earlier, later in combinations(names, 2):
        if _shadows(rules[earlier], rules[later], target):
            message = f"{target.id}: {later} finds nothing here: {earlier} fuses all of it before"
            yield Problem(spans[later], message, f"put {later} in front of {earlier}")


def _shadows(earlier: Rule, later: Rule, target: Target) -> bool:
    paths = [target.path(rule.id) for rule in (earlier, later)]
    if paths[0] is None or paths[1] is None:
        return False
    if bare(paths[0], _RESULT) != bare(paths[1], _RESULT):
        return False
    return _no_stricter(earlier, later) and all(
        any(_takes(earlier, own, later, p) for own in earlier.patterns) for p in later.patterns
    )


def _no_stricter(earlier: Rule, later: Rule) -> bool:
    """Tell whether a rule asks for no more than another one beside its patterns and checks."""
    return (
        set(earlier.slots.free) <= set(later.slots.free)
        and earlier.numerics in ("exact", later.numerics)
        and earlier.elementwise == later.elementwise
        and earlier.axis == later.axis
        and set(earlier.duplicable) >= set(later.duplicable)
    )


def _takes(earlier: Rule, general: Pattern, later: Rule, special: Pattern) -> bool:
    names = covers(general, special)
    if names is None:
        return False
    asked = [_asked(r, names) for r in earlier.require]
    held = [_asked(r, {}) for r in later.require]
    return all(a in held for a in asked)


def _asked(requirement: Requirement, names: Mapping[str, str]) -> tuple[str, object]:
    """Return a requirement in the other rule's names of the values."""
    return requirement.check, _renamed(bare(requirement.args), names)


def _renamed(value: object, names: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, tuple):
        return tuple(_renamed(v, names) for v in value)
    if isinstance(value, dict):
        return {key: _renamed(v, names) for key, v in value.items()}
    return value


def _paths(target: Target, rules: Mapping[str, Rule], ops: Operators) -> Iterator[Problem]:
    """Yield what a target's own paths state in vain; what it inherits is its base's business."""
    for name, path in target.paths.items():
        if path.span.file != target.span.file:
            continue
        if name != DEFAULT and name not in target.covered:
            yield Problem(path.span, f"{target.id}: no pass runs {name}, so its path never serves")
        served = [rules[r] for r in sorted(target.covered) if _serves(name, r, target)]
        if served:
            yield from _operators(target, name, path, served, rules, ops)


def _serves(name: str, rule: str, target: Target) -> bool:
    return rule not in target.paths if name == DEFAULT else rule == name


def _operators(
    target: Target,
    name: str,
    path: PathDoc,
    served: list[Rule],
    rules: Mapping[str, Rule],
    ops: Operators,
) -> Iterator[Problem]:
    """Yield producers, consumers and functions that no pattern of the path's rules can have."""
    ends: tuple[tuple[str, Iterable[str], Callable[[Pattern], int]], ...] = (
        ("producer", path.producers, lambda p: p.producer),
        ("consumer", path.consumers, lambda p: p.consumer),
        ("function", path.functions or (), lambda p: p.consumer),
    )
    for what, stated, end in ends:
        possible = {o for r in served for p in r.patterns for o in p.nodes[end(p)].ops}
        possible |= {ops.acts_as(o) for o in possible}
        if what == "function":
            possible |= _functions_of(possible, rules, ops)
        for op in stated:
            if op not in possible:
                message = f"{target.id}: {name}: no pattern has {op} as its {what}"
                yield Problem(path.span, message, did_you_mean(op, possible))


def _functions_of(possible: set[str], rules: Mapping[str, Rule], ops: Operators) -> set[str]:
    """Return the functions that operators among these can have by an attribute, or by a group.

    What an operator and its quantisers became is told, and enabled, by that operator.
    """
    made = (r for r in rules.values() if r.becomes in possible)
    found = {o for r in made for p in r.patterns for o in p.nodes[p.producer].ops}
    for op in possible:
        facts = ops.facts.get(op)
        if facts is not None and facts.function_of is not None:
            found |= set(facts.function_of.names.values()) or set(ops.functions)
    return found
