"""The command line: the only place with input, output and exit codes."""

from fusectl.cli.main import main

__all__ = ["main"]
