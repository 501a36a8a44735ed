"""The process in which a runtime runs: it may crash or never end, and takes nobody with it.

Its arguments are a runtime and a file. It loads the runtime, reads a task as JSON from standard
input and writes the answer to the file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from fusectl.audit.adapters import Refused, adapter
from fusectl.audit.feeds import NoFeeds
from fusectl.audit.work import Answer, Task


def answer(name: str) -> Answer:
    """Do one task; what the runtime or the model lacks is said in the answer."""
    runtime = adapter(name)
    try:
        version = runtime.version()
    except ImportError as error:
        return Answer(error=f"it cannot be imported: {error}")
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    try:
        if task.what == "witness":
            from fusectl.audit.witness import apart

            return Answer(version, apart=apart(runtime, task))
        edges, notes = runtime.edges(task)
        return Answer(version, tuple(edges), tuple(notes))
    except (Refused, NoFeeds) as error:
        return Answer(error=" ".join(str(error).split()))


def main() -> None:
    """Answer one task."""
    name, file = sys.argv[1:]
    Path(file).write_bytes(msgspec.json.encode(answer(name)))


if __name__ == "__main__":
    main()
