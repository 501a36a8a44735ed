"""Processes that do the tasks. One that dies or hangs costs its own model and no other.

Each process is a program of its own and not a fork: a caller may have threads, and a script that
calls the Python interface needs no guard around its main part.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import fusectl
from fusectl.lint.task import Failed, Linted, Task
from fusectl.lint.worker import Reply, receive, send

WORKER = ("-P", "-m", "fusectl.lint.worker")
"""What Python runs as a worker. Without -P a file of the user's could take a module's place."""
_START = 60.0
"""Seconds that a process may take to start."""
Answer = tuple[int, Linted | Failed]


def run(
    tasks: Sequence[Task], processes: int, seconds: float, cache: Path | None
) -> Iterator[Answer]:
    """Yield the number of a task and what came of it, as they get done; large models first.

    ``seconds`` is how long one task may take, ``cache`` the folder of remembered answers.
    """
    waiting = deque(sorted(range(len(tasks)), key=lambda n: -_size(tasks[n].path)))
    done: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    members = [
        _Member(tasks, waiting, done, seconds, cache)
        for _ in range(min(max(processes, 1), len(tasks)))
    ]
    try:
        for member in members:
            member.start()
        for _ in tasks:
            yield done.get()
    finally:
        waiting.clear()
        for member in members:
            member.end()
        for member in members:
            member.join()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


class _Member(threading.Thread):
    """Gives tasks to one process after the other; a new one takes the place of a lost one."""

    def __init__(
        self,
        tasks: Sequence[Task],
        waiting: deque[int],
        done: queue.SimpleQueue[Answer],
        seconds: float,
        cache: Path | None,
    ) -> None:
        super().__init__(daemon=True)
        self._tasks, self._waiting, self._done = tasks, waiting, done
        self._seconds, self._cache = seconds, cache
        self._process: subprocess.Popen[bytes] | None = None
        self._late = False
        self._ended = False
        self._folder = tasks[0].tables.folder

    def run(self) -> None:
        """Work until nothing is left."""
        while True:
            try:
                number = self._waiting.popleft()
            except IndexError:
                break
            self._done.put((number, self._answer(self._tasks[number])))
        self._kill()

    def end(self) -> None:
        """End the process and start no other."""
        self._ended = True
        self._kill()

    def _kill(self) -> None:
        """End the process, in the middle of its task if need be."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def _answer(self, task: Task) -> Linted | Failed:
        """Return what came of a task, whatever happens: somebody waits for it."""
        try:
            return self._ask(task)
        except Exception as error:
            self._kill()
            return Failed("model-crashed", f"a bug in fusectl: {type(error).__name__}: {error}")

    def _ask(self, task: Task) -> Linted | Failed:
        try:
            process = self._process or self._start()
        except OSError as error:
            return Failed("model-crashed", f"no process can be started: {error.strerror or error}")
        self._late = False
        timer = self._watch(process, self._seconds)
        try:
            send(_stream(process.stdin), task)
            reply = receive(_stream(process.stdout))
        except (EOFError, OSError, ValueError):
            return self._lost(process)
        finally:
            timer.cancel()
        assert isinstance(reply, Reply)
        if reply.spent:
            self._kill()
        return reply.answer

    def _start(self) -> subprocess.Popen[bytes]:
        root = str(Path(fusectl.__file__).resolve().parents[1])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
        process = subprocess.Popen(
            [sys.executable, *WORKER],
            cwd=self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        self._process = process
        if self._ended:
            process.kill()
        timer = self._watch(process, max(self._seconds, _START))
        try:
            send(_stream(process.stdin), self._cache)
            receive(_stream(process.stdout))  # it is ready: only now a task's time begins
        except (EOFError, OSError) as error:
            self._kill()
            raise OSError("a process ended while it started") from error
        finally:
            timer.cancel()
        return process

    def _watch(self, process: subprocess.Popen[bytes], seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self._give_up, (process,))
        timer.daemon = True
        timer.start()
        return timer

    def _give_up(self, process: subprocess.Popen[bytes]) -> None:
        self._late = True
        process.kill()

    def _lost(self, process: subprocess.Popen[bytes]) -> Failed:
        late = self._late
        code = process.wait()
        self._kill()
        if late:
            return Failed("model-timeout", f"no answer after {self._seconds:g} seconds; stopped")
        return Failed("model-crashed", f"the process that explained it died: {_ended(code)}")


def _ended(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _stream(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
