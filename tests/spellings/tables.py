"""The patterns of several nodes that `ideal` has."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

from fusectl import api
from fusectl.tables import Catalog, Rule
from fusectl.tables.patterns import Pattern

SMALL = ("silu", "hard-swish")
"""Rules of two nodes that are one function as well."""


@cache
def catalog() -> Catalog:
    return api.load_rules()


@cache
def on_ideal() -> frozenset[str]:
    """The rules that some pass of `ideal` runs."""
    return frozenset(t.value for p in catalog().target("ideal").passes for t in p.fuse or ())


def patterns() -> Iterator[tuple[str, Rule, Pattern]]:
    """Every pattern of several nodes with a name of its own."""
    for rule in catalog().rules.values():
        if rule.id not in on_ideal() or (rule.two_node and rule.id not in SMALL):
            continue
        seen: Counter[str] = Counter()
        for pattern in rule.patterns:
            name = f"{rule.id}-{pattern.name}".removesuffix("-")
            seen[name] += 1
            yield (name if seen[name] == 1 else f"{name}-{seen[name]}"), rule, pattern
