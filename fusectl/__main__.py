"""``fusectl``, and ``python -m fusectl``."""

import sys
from typing import NoReturn

from fusectl.cli import INTERRUPTED


def main() -> NoReturn:
    """Run the command line and leave with its exit code.

    The commands are imported here: an interrupt while they are is as quiet as a later one.
    """
    try:
        from fusectl.cli.main import run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
