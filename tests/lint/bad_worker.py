"""A worker that some models are the end of: their names say how."""

import os
import signal
import time

from fusectl.compare import Account
from fusectl.lint import work, worker
from fusectl.lint.task import Task


def trouble(task: Task) -> Account:
    if "crash" in task.model:
        os.kill(os.getpid(), signal.SIGKILL)
    if "hang" in task.model:
        time.sleep(600)
    if "bug" in task.model:
        raise RuntimeError("out of\nthe \x1b[31mblue")
    if "memory" in task.model:
        raise MemoryError
    if "noise" in task.model:
        os.write(1, b"a library prints this")
    return work.explained(task)


if __name__ == "__main__":
    vars(worker)["explained"] = trouble
    worker.main()
