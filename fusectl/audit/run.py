"""A runtime in a process of its own: started early, waited for, killed when its time is up."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from fusectl.audit.adapters import Adapter, adapter, installed, names
from fusectl.audit.work import Answer, Task
from fusectl.errors import UsageError, did_you_mean

_WORKER = "fusectl.audit.worker"


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime to hold decisions against, at one of its levels; ``title`` is for people."""

    name: str
    title: str
    level: str


def runtime(name: str, level: str = "") -> Runtime:
    """Return a runtime that is there. Raises UsageError that says what to install."""
    if name not in names():
        hint = did_you_mean(name, names())
        raise UsageError(f"unknown runtime {name!r}; {hint or 'known: ' + ', '.join(names())}")
    found = adapter(name)
    if not installed(found):
        raise UsageError(
            f"{found.title} is not installed: pip install 'fusectl[{found.extra}]' "
            f"(or pip install {found.module})"
        )
    return Runtime(name, found.title, _level(name, found, level))


def _level(name: str, found: Adapter, level: str) -> str:
    if level and level not in found.levels:
        known = ", ".join(v for v in found.levels if v) or "none"
        raise UsageError(f"{name} has no optimisation level {level!r}; its levels: {known}")
    return level or found.levels[0]


class Job:
    """A process of its own for one task. Use as a context: leaving it kills what still runs.

    It starts at once and loads the runtime, while the caller finds out what to ask.
    """

    def __init__(self, name: str, seconds: float, model: str) -> None:
        self._title = adapter(name).title
        self._model, self._seconds = model, seconds
        self._until = time.monotonic() + seconds
        self._folder = TemporaryDirectory(prefix="fusectl-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        package = str(Path(__file__).parents[2])
        paths = [package, os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _WORKER, name, str(self._answer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )

    @property
    def _answer(self) -> Path:
        return self.folder / "answer.json"

    def ask(self, task: Task) -> None:
        """Hand over the task."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died: wait() tells
            self._process.stdin.write(msgspec.json.encode(task))
            self._process.stdin.close()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._folder.cleanup()

    def kill(self) -> None:
        """End the process and all that it started."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def wait(self) -> Answer:
        """Return the answer. Raises UsageError in one line where there is none."""
        title = self._title
        try:
            code = self._process.wait(max(self._until - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            self.kill()
            raise UsageError(
                f"{self._model}: {title} did not finish within {self._seconds:g} s "
                "and was stopped; --timeout gives it longer"
            ) from None
        if code or not self._answer.is_file():
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            raise UsageError(f"{self._model}: {title} crashed: its process {how}")
        answer = msgspec.json.decode(self._answer.read_bytes(), type=Answer)
        if answer.error:
            raise UsageError(f"{self._model}: {title} does not take this model: {answer.error}")
        return answer
