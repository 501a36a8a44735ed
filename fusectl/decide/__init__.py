"""Every check on every candidate, through a target's passes in order; overlaps settled."""

from fusectl.decide.engine import Run, decide
from fusectl.decide.judge import Ruling

__all__ = ["Ruling", "Run", "decide"]
