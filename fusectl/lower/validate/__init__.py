"""Checks on a finished program, each of its own, each with a name."""

from fusectl.lower.validate import buffers, grouping, posts, registers
from fusectl.lower.validate.registry import VALIDATORS, Violation, validate

__all__ = ["MODULES", "VALIDATORS", "Violation", "validate"]

MODULES = (buffers, grouping, posts, registers)
"""The modules whose import registers the validators."""
