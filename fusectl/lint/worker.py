"""A process that explains one model after the other for ``fusectl.lint.pool``.

Run as ``python -m fusectl.lint.worker``. Frames come by standard input and go by standard output:
eight bytes of length, then a pickle; both ends are this program. Whatever a library prints goes to
standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fusectl.lint.cache import Cache
from fusectl.lint.task import Failed, Linted, Task
from fusectl.lint.work import explained, failure, judge

LENGTH = struct.Struct("<Q")
_TOO_BIG = 1 << 30
"""Bytes of memory after which a process is not used again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and whether the process has grown too large to be used again."""

    answer: Linted | Failed
    spent: bool


def send(stream: IO[bytes], value: object) -> None:
    """Write one frame. Raises OSError where nobody reads."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> object:
    """Read one frame. Raises EOFError where it does not arrive whole."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def answer(task: Task, cache: Cache) -> Linted | Failed:
    """Do one task. Nothing that a model brings up gets out of here."""
    try:
        found = explained(task)
        cache.put(task, found)
        return judge(task, found)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # one model must not stop the others
        return failure(error, task)


def peak_memory() -> int:
    """Return the most bytes that this process has had; 0 where that cannot be told."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    warnings.simplefilter("ignore")
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        folder = receive(source)
        assert folder is None or isinstance(folder, Path)
        cache = Cache(folder)
        send(sink, True)
        while True:
            task = receive(source)
            assert isinstance(task, Task)
            done = answer(task, cache)
            send(sink, Reply(done, peak_memory() > _TOO_BIG))
    except (EOFError, OSError):
        return


if __name__ == "__main__":
    # What is pickled has to be known by its own name, not as a part of __main__.
    from fusectl.lint import worker

    worker.main()
