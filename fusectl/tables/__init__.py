"""Rules, targets, operators and functions: YAML to typed tables."""

from fusectl.tables.catalog import Catalog, load_catalog
from fusectl.tables.rules import Rule
from fusectl.tables.targets import Target

__all__ = ["Catalog", "Rule", "Target", "load_catalog"]
