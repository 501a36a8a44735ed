"""Decisions to programs: what a target's machine runs, fused and unfused."""

from fusectl.lower.jobs import Unlowerable
from fusectl.lower.lower import lower_groups, lower_run, lower_work

__all__ = ["Unlowerable", "lower_groups", "lower_run", "lower_work"]
