"""The process in which a runtime runs: it may crash or never end, and takes nobody with it.

Reads a task as JSON from standard input and writes the answer to the file that is its argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from fusectl.audit.adapters import Refused, adapter
from fusectl.audit.feeds import NoFeeds
from fusectl.audit.work import Answer, Task


def answer(task: Task) -> Answer:
    """Do a task; what the runtime or the model lacks is said in the answer."""
    runtime = adapter(task.runtime)
    try:
        if task.what == "witness":
            from fusectl.audit.witness import apart

            return Answer(runtime.version(), apart=apart(runtime, task))
        edges, notes = runtime.edges(task)
        return Answer(runtime.version(), tuple(edges), tuple(notes))
    except (Refused, NoFeeds) as error:
        return Answer(error=" ".join(str(error).split()))
    except ImportError as error:
        return Answer(error=f"it cannot be imported: {error}")


def main() -> None:
    """Answer one task."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    Path(sys.argv[1]).write_bytes(msgspec.json.encode(answer(task)))


if __name__ == "__main__":
    main()
