"""The machine, small, slow and exact: executes a program from its records alone."""

from fusectl.simulate.machine import Machine, simulate
from fusectl.simulate.memory import Trap

__all__ = ["Machine", "Trap", "simulate"]
