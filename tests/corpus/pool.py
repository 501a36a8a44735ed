"""Runs jobs in a few processes, each job with a time limit; a job may hang, crash or be killed.

`concurrent.futures` will not do: one dead worker breaks its pool, and a stuck one
cannot be stopped.
"""

import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

READY = "ready"
START_SECONDS = 60.0
_spawn = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Done(Generic[Job, Result]):
    """A job with its result, or with why there is none."""

    job: Job
    seconds: float
    result: Result | None
    failure: str | None = None


class _Worker(Generic[Job, Result]):
    """One process; it takes one job after the other."""

    def __init__(self, work: Callable[[Job], Result]) -> None:
        self.pipe, far_end = _spawn.Pipe()
        self.process = _spawn.Process(target=_serve, args=(work, far_end), daemon=True)
        self.process.start()
        far_end.close()
        self.job: Job | None = None
        self.began = time.monotonic()
        if not self._has_started():
            self.stop()
            raise RuntimeError("a worker process does not start")

    def _has_started(self) -> bool:
        try:
            return self.pipe.poll(START_SECONDS) and self.pipe.recv() == READY
        except EOFError:
            return False

    def give(self, job: Job) -> None:
        self.job, self.began = job, time.monotonic()
        self.pipe.send(job)

    def take(self) -> Done[Job, Result]:
        """The result that waits in the pipe; the failure if the process is gone."""
        assert self.job is not None
        job, seconds = self.job, time.monotonic() - self.began
        try:
            return Done(job, seconds, self.pipe.recv())
        except EOFError:
            self.process.join()
            return Done(job, seconds, None, f"the process died, exit code {self.process.exitcode}")

    def give_up(self) -> Done[Job, Result]:
        """Stops the process in the middle of its job."""
        assert self.job is not None
        job, seconds = self.job, time.monotonic() - self.began
        self.stop()
        return Done(job, seconds, None, f"stopped after {seconds:.0f} s")

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run(
    work: Callable[[Job], Result], jobs: Iterable[Job], processes: int, limit: float
) -> Iterator[Done[Job, Result]]:
    """The jobs as they get done. `work` has to be a function at the top of a module."""
    waiting = deque(jobs)
    workers: list[_Worker[Job, Result]] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < processes:
                worker = _Worker[Job, Result](work)
                workers.append(worker)
                worker.give(waiting.popleft())
            ready = set(wait([w.pipe for w in workers], timeout=_patience(workers, limit)))
            for worker in list(workers):
                if worker.pipe in ready:
                    done = worker.take()
                elif time.monotonic() - worker.began > limit:
                    done = worker.give_up()
                else:
                    continue
                yield done
                if done.failure is None and waiting:
                    worker.give(waiting.popleft())
                else:
                    workers.remove(worker)
                    worker.stop()
    finally:
        for worker in workers:
            worker.stop()


def _patience(workers: list[_Worker[Job, Result]], limit: float) -> float:
    """How long until the first of the running jobs is late."""
    now = time.monotonic()
    return max(0.0, min(worker.began + limit - now for worker in workers)) + 0.01


def _serve(work: Callable[[Job], Result], pipe: Connection) -> None:
    """The loop of a worker; an exception of `work` ends it."""
    pipe.send(READY)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(work(job))
