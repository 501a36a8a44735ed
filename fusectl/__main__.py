"""``python -m fusectl``."""

from fusectl.cli import main

main()
