"""Finds and reads the policy. Every mistake in it is told at once, with its place."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fusectl.errors import Span, TableError, UsageError, did_you_mean
from fusectl.lint.codes import CODES
from fusectl.lint.policy import Budget, EdgePattern, Policy, SuppressionDoc, Text
from fusectl.reasons import REASONS
from fusectl.tables.resolve import read
from fusectl.yamlsrc import (
    Mapping,
    Node,
    Reader,
    Scalar,
    Sequence,
    compose,
    compose_toml,
    has_table,
)

NAMES = ("fusectl.yaml", "fusectl.yml")
PYPROJECT = "pyproject.toml"
_TABLE = ("tool", "fusectl")
_SHARE = re.compile(r"(100|[0-9]{1,2})(\.[0-9]+)?%\Z|[0-9]+\Z")


def find_policy(start: Path) -> Path | None:
    """Return the nearest policy in a folder or above it: ``fusectl.yaml``, else pyproject's."""
    for folder in (start, *start.parents):
        for name in NAMES:
            if (folder / name).is_file():
                return folder / name
        path = folder / PYPROJECT
        if path.is_file() and has_table(read(path), str(path), _TABLE):
            return path
    return None


def read_policy(path: Path, shown: str, known: Callable[[Policy], Iterable[str]]) -> Policy:
    """Read a policy; ``known`` returns the ids of the rules that it may speak of.

    Raises TableError with every problem in it, UsageError where it cannot be read.
    """
    if path.suffix == ".toml":
        tree: Node | None = compose_toml(read(path), shown, _TABLE)
        if tree is None:
            raise UsageError(f"{shown}: there is no table [tool.fusectl] in it")
    else:
        tree = compose(read(path), shown)
    reader = Reader()
    policy = reader.read(tree, Policy, "the policy")
    # What is sound is checked also where something else is not, so that all is told at once.
    sound = policy if isinstance(policy, Policy) else Reader().read(_sound(tree), Policy, "")
    if isinstance(sound, Policy):
        lacking = list(_lacking(sound, path.parent))
        for text in lacking:
            reader.fail(text.span, f"{text.value}: no such file or folder")
        # Without all rules at hand nothing can be said of their names.
        _check(sound, reader, None if lacking else frozenset(known(sound)))
    if reader.problems or not isinstance(policy, Policy):
        raise TableError(reader.problems)
    return policy


def _lacking(policy: Policy, folder: Path) -> Iterator[Text]:
    """Yield paths of rules and target files that lead nowhere."""
    for text in policy.rules:
        if not (folder / text.value).exists():
            yield text
    for text in policy.targets:
        if text.value.endswith((".yaml", ".yml")) and not (folder / text.value).is_file():
            yield text


def _sound(tree: Node) -> Node:
    """Return the policy without the entries that cannot be read."""
    if not isinstance(tree, Mapping):
        return tree
    kept: list[tuple[Scalar, Node]] = []
    for key, value in tree.items:
        parts: list[Node] = [value]
        if isinstance(value, Sequence):
            parts = [Sequence(value.span, (item,)) for item in value.items]
        elif isinstance(value, Mapping):
            parts = [Mapping(value.span, (pair,)) for pair in value.items]
        good = [p for p in parts if _readable(Mapping(tree.span, ((key, p),)))]
        if isinstance(value, Sequence):
            items = tuple(i for p in good if isinstance(p, Sequence) for i in p.items)
            kept.append((key, Sequence(value.span, items)))
        elif isinstance(value, Mapping):
            pairs = tuple(i for p in good if isinstance(p, Mapping) for i in p.items)
            kept.append((key, Mapping(value.span, pairs)))
        elif good:
            kept.append((key, value))
    return Mapping(tree.span, tuple(kept))


def _readable(tree: Node) -> bool:
    trial = Reader()
    trial.read(tree, Policy, "")
    return not trial.problems


def patterns(entries: Iterable[Text | EdgePattern]) -> Iterator[EdgePattern]:
    """Yield edge patterns, also those that are written as one line."""
    for entry in entries:
        yield entry if isinstance(entry, EdgePattern) else EdgePattern(entry.span, entry)


def _check(policy: Policy, reader: Reader, rules: frozenset[str] | None) -> None:
    for name, level in policy.severity.items():
        if name not in REASONS and name not in CODES:
            hint = did_you_mean(name, (*REASONS, *CODES)) or "fusectl reasons lists the reasons"
            reader.fail(level.span, f"severity: {name} is neither a reason nor a code", hint)
    for pattern in patterns((*policy.must_fuse, *policy.must_not_fuse)):
        if len([s for s in pattern.edge.value.split(" -> ") if s.strip()]) != 2:
            help = "an edge is like MatMul -> Add"
            reader.fail(pattern.edge.span, f"{pattern.edge.value!r} is no edge", help)
        _rule(pattern.rule, reader, rules)
    for budget in policy.budgets:
        _check_budget(budget, reader)
    if policy.timeout is not None and policy.timeout.value <= 0:
        reader.fail(policy.timeout.span, "timeout must be more than 0 seconds")
    for suppression in policy.suppressions:
        _check_suppression(suppression, reader, rules)


def _check_budget(budget: Budget, reader: Reader) -> None:
    if budget.max_unfused is None and budget.min_fused is None:
        reader.fail(budget.span, "a budget states max_unfused, min_fused or both")
    if budget.min_fused is not None and not _SHARE.match(budget.min_fused.value):
        message = f"min_fused {budget.min_fused.value} is neither a number nor a share"
        reader.fail(budget.min_fused.span, message, "a share is like 80%")
    if budget.max_unfused is not None and budget.max_unfused.value < 0:
        reader.fail(budget.max_unfused.span, "max_unfused must not be negative")


def _check_suppression(doc: SuppressionDoc, reader: Reader, rules: frozenset[str] | None) -> None:
    if not doc.reason.value.strip():
        reader.fail(doc.reason.span, "a suppression says why: its reason is empty")
    if doc.fingerprint is None and doc.rule is None:
        reader.fail(
            doc.span,
            "this suppression names neither a fingerprint nor a rule: it would suppress everything",
            "each finding shows its fingerprint",
        )
    if doc.fingerprint is not None and not re.fullmatch(r"[0-9a-f]{12}", doc.fingerprint.value):
        reader.fail(
            doc.fingerprint.span,
            f"{doc.fingerprint.value!r} is no fingerprint",
            "a fingerprint has 12 digits of 0-9 and a-f",
        )
    _rule(doc.rule, reader, rules)
    if doc.code is not None and doc.code.value not in CODES:
        hint = did_you_mean(doc.code.value, CODES)
        reader.fail(doc.code.span, f"unknown code {doc.code.value}", hint)
    if doc.expires is not None and _date(doc.expires.value) is None:
        message = f"expires {doc.expires.value} is no date"
        reader.fail(doc.expires.span, message, "a date is like 2027-03-31")


def _rule(rule: Text | None, reader: Reader, rules: frozenset[str] | None) -> None:
    if rule is not None and rules is not None and rule.value not in rules:
        wild = "no wildcards here: name one rule" if "*" in rule.value else ""
        hint = wild or did_you_mean(rule.value, rules) or "fusectl rules list shows them"
        reader.fail(rule.span, f"unknown rule {rule.value}", hint)


def _date(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def empty_policy() -> Policy:
    """Return the policy that asks for nothing."""
    return Policy(Span(""))
