"""Pure checks on candidates, one registry. Importing this package registers all of them."""

from fusectl.checks import (
    adjacency,
    encoding,
    form,
    functions,
    grouping,
    legality,
    machine,
    movement,
    neighbours,
    pattern,
    policy,
    shapes,
    state,
    tables,
    users,
)
from fusectl.checks.registry import ALWAYS, CHECKS, GROUPS, TARGET, Check, Outcome, known_names

__all__ = ["ALWAYS", "CHECKS", "GROUPS", "TARGET", "Check", "Outcome", "known_names"]

MODULES = (
    adjacency, encoding, form, functions, grouping, legality, machine, movement, neighbours,
    pattern, policy, shapes, state, tables, users,
)  # fmt: skip
"""The modules whose import registers the checks that ship."""
