"""Runs a command and writes the peak of its resident memory, in bytes, to a file.

    python measure_process.py USAGE_FILE COMMAND...

A small process has to stand between the tests and what they measure: the kernel counts what the
parent held at the moment of the fork as the child's own peak.
"""

import subprocess
import sys
from pathlib import Path


def main(usage: Path, command: list[str]) -> int:
    """The exit code of the command."""
    code = subprocess.call(command)
    if sys.platform != "win32":
        import resource

        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        usage.write_text(str(peak if sys.platform == "darwin" else peak * 1024))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
