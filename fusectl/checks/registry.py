"""The registry of checks.

A check is a small pure function on a candidate. It declares the reason it gives; the first line
of its docstring is the requirement, printed in findings, in the documentation and by
``fusectl reasons``. It returns nothing where the requirement holds, else what it observed.
Third parties add checks through the entry point group ``fusectl.checks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from fusectl.errors import Span, UsageError
from fusectl.match.candidate import Candidate
from fusectl.reasons import REASONS
from fusectl.tables.patterns import Pattern
from fusectl.tables.schema import Value
from fusectl.tables.target_schema import PathDoc

Args = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check observed where its requirement does not plainly hold.

    ``where`` overrides the line of the requirement, ``reason`` the check's own: a parameter
    that arrives at run time is ``not-constant``, whatever its value would be.
    """

    status: Literal["pass", "fail", "unknown"]
    subject: str
    observed: str
    help: str = ""
    where: Span | None = None
    reason: str = ""


Outcomes = Iterable[Outcome] | None
Function = Callable[[Candidate, Args], Outcomes]
Needs = Literal["", "barriers", "missing", "asked", "stand-ins"]
Concern = Callable[[Pattern, PathDoc], bool]


@dataclass(frozen=True, slots=True)
class Check:
    """A registered check.

    ``concerns`` tells from a pattern and a path alone whether there is anything to check, once for
    all candidates of them; ``needs`` names what a candidate must have for that: barriers, nodes of
    the pattern that are missing, something that the caller asked for, or operators that count as
    another one. ``takes`` names the
    arguments that ``require`` may give; one that may be left out ends in ``?``.
    """

    name: str
    reason: str
    requirement: str
    run: Function
    concerns: Concern | None = None
    needs: Needs = ""
    takes: tuple[str, ...] = ()


CHECKS: dict[str, Check] = {}
GROUPS: dict[str, tuple[str, ...]] = {
    "adjacent": ("no-requantize", "no-limit", "no-cast", "no-reorder", "no-other-op"),
    "single-user": ("one-reader", "not-returned", "not-captured"),
}
"""Names that stand for several checks in a rule's ``require``."""

ALWAYS: tuple[str, ...] = (
    "nodes-match", "attributes", "constants", "constant-values", "operands", "outputs-unused",
    "bounds-known", "casts-stay-floating", "nothing-beside",
    "unclaimed", "equivalence", "enabled",
)  # fmt: skip
"""Checks that run on every candidate."""

TARGET: tuple[str, ...] = (
    "function-enabled", "function-encoding", "dtypes-implemented", "shapes-in-table",
    "opset-in-table", "grouping-has-code", "one-group", "split-has-code", "tile-fits",
    "result-may-be-returned", "table-complete", "table-fits", "row-fits",
    "path-attributes", "path-constants", "path-values", "path-operands", "profitable",
    "path-enabled", "no-way-around",
)  # fmt: skip
"""Checks that run where the target has a path for the rule and the producer."""


def names(value: Value) -> tuple[str, ...]:
    """Return an argument that is one name or several as a tuple."""
    return (value,) if isinstance(value, str) else value


def check(
    name: str,
    reason: str,
    concerns: Concern | None = None,
    needs: Needs = "",
    takes: tuple[str, ...] = (),
) -> Callable[[Function], Function]:
    """Register a function as the check ``name``, which gives ``reason`` where it does not hold."""
    if reason not in REASONS:
        raise ValueError(f"check {name}: unknown reason {reason}")

    def register(function: Function) -> Function:
        requirement = (function.__doc__ or "").strip().splitlines()[0].rstrip(".")
        CHECKS[name] = Check(name, reason, requirement, function, concerns, needs, takes)
        return function

    return register


def known_names() -> dict[str, tuple[str, ...]]:
    """Return all that ``require`` may use, with arguments, third-party checks included."""
    for entry in metadata.entry_points(group="fusectl.checks"):
        if entry.name not in CHECKS:
            try:
                entry.load()
            except Exception as error:  # a plug-in may fail in any way; its author has to know
                raise UsageError(f"the check {entry.name} of {entry.value}: {error}") from error
    return {**dict.fromkeys(GROUPS, ()), **{name: c.takes for name, c in CHECKS.items()}}


def fail(subject: str, observed: str, help: str = "", where: Span | None = None) -> Outcome:
    """Say that a requirement is violated."""
    return Outcome("fail", subject, observed, help, where)


def unknown(subject: str, observed: str, help: str = "", where: Span | None = None) -> Outcome:
    """Say that it cannot be told whether a requirement holds, and what would tell."""
    return Outcome("unknown", subject, observed, help, where)


def runtime(subject: str, what: str, value: str, where: Span | None = None) -> Outcome:
    """Say that a parameter is not known at compile time."""
    return Outcome(
        "fail",
        subject,
        f"{what} arrives at run time as {value}",
        f"make {value} a constant",
        where,
        "not-constant",
    )


def passed(subject: str, observed: str) -> Outcome:
    """Say that a requirement holds, where how it holds is worth reading."""
    return Outcome("pass", subject, observed)
