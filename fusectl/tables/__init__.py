"""Rules, targets and operators: YAML to typed tables.

The names below are loaded when asked for: where the tables lie can be known without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fusectl.tables.catalog import Catalog, load_catalog
    from fusectl.tables.rules import Rule
    from fusectl.tables.targets import Target

__all__ = ["Catalog", "Rule", "Target", "load_catalog"]

_HOMES = {"Catalog": "catalog", "load_catalog": "catalog", "Rule": "rules", "Target": "targets"}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"fusectl.tables.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
