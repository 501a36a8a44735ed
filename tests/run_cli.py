"""Runs the command line: inside this process (fast) or as a process of its own (with limits)."""

import io
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import fusectl

PACKAGE_ROOT = Path(fusectl.__file__).resolve().parents[1]
LAUNCHER = Path(__file__).with_name("measure_process.py")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the command line left behind."""

    code: int
    stdout: bytes
    stderr: bytes
    peak_bytes: int | None = None

    @property
    def out(self) -> str:
        """Standard output; raises UnicodeDecodeError when it is not UTF-8."""
        return self.stdout.decode("utf-8")

    @property
    def err(self) -> str:
        """Standard error; raises UnicodeDecodeError when it is not UTF-8."""
        return self.stderr.decode("utf-8")


def run_in_process(*args: str | Path) -> Outcome:
    """`python -m fusectl ARGS` without a new process. A bug escapes as the exception that it is."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    code: object = 0
    with (
        _argv(args),
        io.TextIOWrapper(stdout, encoding="utf-8") as out,
        io.TextIOWrapper(stderr, encoding="utf-8") as err,
    ):
        try:
            with redirect_stdout(out), redirect_stderr(err):
                runpy.run_module("fusectl", run_name="__main__")
        except SystemExit as stop:
            code = stop.code
            if isinstance(code, str):
                err.write(f"{code}\n")
        out.flush()
        err.flush()
        return Outcome(_exit_code(code), stdout.getvalue(), stderr.getvalue())


def run_process(*args: str | Path, cwd: Path | None = None, seconds: float = 60.0) -> Outcome:
    """`python -m fusectl ARGS` in a process of its own; TimeoutError when it takes too long.

    Both streams go to files, so the process sees no terminal and no pipe can fill up.
    """
    command = [sys.executable, "-m", "fusectl", *map(str, args)]
    with tempfile.TemporaryDirectory() as folder:
        streams = Path(folder)
        usage = streams / "usage"
        with (streams / "out").open("wb") as out, (streams / "err").open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(LAUNCHER), str(usage), *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env=_environment(),
                start_new_session=True,
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                _kill_group(process)
                raise TimeoutError(f"{command}: still running after {seconds} s") from None
        return Outcome(
            code,
            (streams / "out").read_bytes(),
            (streams / "err").read_bytes(),
            int(usage.read_text()) if usage.exists() else None,
        )


def _environment() -> dict[str, str]:
    """This environment without what forces colours, and with the package on the path."""
    env = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
    known = env.get("PYTHONPATH")
    env["PYTHONPATH"] = os.pathsep.join([str(PACKAGE_ROOT), *([known] if known else [])])
    return env


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def _argv(args: Sequence[str | Path]) -> Iterator[None]:
    before = sys.argv
    sys.argv = ["fusectl", *map(str, args)]
    try:
        yield
    finally:
        sys.argv = before


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    return code if isinstance(code, int) else 1
