"""Which of a rule's or a target's entries under ``writes`` is meant for a match."""

from __future__ import annotations

from fusectl.checks.form import form_of
from fusectl.match import Candidate
from fusectl.tables.schema import Writes


def entries(found: Candidate) -> tuple[Writes, ...]:
    """Return the entries that count: those of the target's form, else those of the rule.

    A form that names something of its own does not use the rule's.
    """
    form = form_of(found)
    own = form.op or form.function or form.sealed
    return form.writes or (() if own else found.rule.writes)


def chosen(found: Candidate) -> Writes | None:
    """Return the first entry that fits a match, None: none does."""
    return next((how for how in entries(found) if _fits(found, how)), None)


def _fits(found: Candidate, how: Writes) -> bool:
    if how.patterns and found.pattern.name not in how.patterns:
        return False
    for value, types in how.types.items():
        if found.overlay.type_of(found.bound.get(value, "")).dtype not in types:
            return False
    roles = ((found.role_of(value), ops) for value, ops in how.only.items())
    return all(role is not None and role.op in ops for role, ops in roles)
