"""The patterns of several nodes that `ideal` has."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import onnx

from fusectl import api
from fusectl.tables import Catalog, Rule
from fusectl.tables.patterns import Pattern
from tests.spellings.build import build
from tests.spellings.draft import plain
from tests.spellings.recipes import recipe_of

SMALL = ("silu", "hard-swish")
"""Rules of two nodes that are one function as well."""


@cache
def catalog() -> Catalog:
    return api.load_rules()


@cache
def on_ideal() -> frozenset[str]:
    """The rules that some pass of `ideal` runs."""
    return frozenset(t.value for p in catalog().target("ideal").passes for t in p.fuse or ())


@cache
def _all() -> tuple[tuple[str, Rule, Pattern], ...]:
    found = []
    for rule in catalog().rules.values():
        if rule.id not in on_ideal() or (rule.two_node and rule.id not in SMALL):
            continue
        seen: Counter[str] = Counter()
        for pattern in rule.patterns:
            name = f"{rule.id}-{pattern.name}".removesuffix("-")
            seen[name] += 1
            found.append(((name if seen[name] == 1 else f"{name}-{seen[name]}"), rule, pattern))
    return tuple(found)


@cache
def _trouble(name: str) -> str:
    """Why no model can be made of a pattern."""
    rule, pattern = next((r, p) for n, r, p in _all() if n == name)
    try:
        onnx.checker.check_model(plain(build(rule, pattern, recipe_of(rule, pattern))), True)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as error:
        return str(error)
    except onnx.defs.SchemaError as error:
        return str(error)
    return ""


def patterns() -> Iterator[tuple[str, Rule, Pattern]]:
    """Every pattern of several nodes with a name of its own, and of which there is a model."""
    return (found for found in _all() if not _trouble(found[0]))


def without_recipe() -> dict[str, str]:
    """The patterns of which no model could be made, and why."""
    return {name: _trouble(name) for name, _, _ in _all() if _trouble(name)}
