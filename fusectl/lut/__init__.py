"""Look-up tables: what functions they hold, their entries and their headers."""

from fusectl.lut.build import Missing, Table, build, needed
from fusectl.lut.functions import DIRECT, FUNCTIONS

__all__ = ["DIRECT", "FUNCTIONS", "Missing", "Table", "build", "needed"]
