"""The entry point: commands, exit codes, and what a person is told when something is wrong.

Only click is imported here and in the modules of the commands; everything else is imported by
the command that runs, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import warnings
from dataclasses import replace

import click

from fusectl import __version__
from fusectl.cli import INTERRUPTED
from fusectl.cli.apply import apply
from fusectl.cli.audit import audit
from fusectl.cli.compare import compare
from fusectl.cli.explain import explain
from fusectl.cli.lint import lint
from fusectl.cli.lower import lower
from fusectl.cli.output import tell
from fusectl.cli.reasons import reasons
from fusectl.cli.rules import rules
from fusectl.cli.targets import targets
from fusectl.cli.verify import verify
from fusectl.errors import FusectlError, Problem, Span, TableError, did_you_mean

DONE, FOUND, UNUSABLE, BUG, PIPE = 0, 1, 2, 3, 141
"""Exit codes; the last one is what a shell gives for SIGPIPE."""

COMPLETE = "_FUSECTL_COMPLETE"
"""The variable by which a shell asks for completions, as click names it."""

_PLACE = re.compile(r"[^\n]+?:\d+:\d+: ")


class Commands(click.Group):
    """A group that knows which command was meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called. Raises UsageError with a hint."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.commands)
            ctx.fail(f"no such command {args[0]!r}" + (f"; {hint}" if hint else ""))
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fusectl", message="%(prog)s %(version)s")
def fusectl() -> None:
    """Explain which operators of an ONNX model fuse on a machine, which do not, and why."""


for command in (explain, lint, compare, audit, apply, verify, lower, rules, targets, reasons):
    fusectl.add_command(command)


def run(args: list[str]) -> int:
    """Run the command line and return its exit code."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for the whole run
    if sys.stdout is None:
        tell("fusectl: standard output is closed")
        return UNUSABLE
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:
                warnings.simplefilter("ignore")
            return _guarded(args)
    except BrokenPipeError:
        _silence()
        return PIPE
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED


def _guarded(args: list[str]) -> int:
    try:
        return _called(args)
    except TableError as error:
        tell(*map(_placed, error.problems))
    except FusectlError as error:
        tell(_named(str(error)))
    except click.UsageError as error:
        tell(*_usage(error))
    except click.ClickException as error:
        tell(f"fusectl: {error.format_message()}")
    except MemoryError:
        tell("fusectl: out of memory: the model is too large for this machine")
    except BrokenPipeError:
        raise
    except Exception as error:
        if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EIO):
            _report_bug(error)
            return BUG
        tell(f"fusectl: standard output cannot be written: {error.strerror}")
    return UNUSABLE


def _called(args: list[str]) -> int:
    """Call the command. Not by click's own ``main``, which has exit codes of its own."""
    asked = os.environ.get(COMPLETE)
    if asked:
        from click.shell_completion import shell_complete

        return shell_complete(fusectl, {}, "fusectl", COMPLETE, asked)
    _refuse_empty(args)
    try:
        with fusectl.make_context("fusectl", list(args)) as context:
            code = fusectl.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return code if isinstance(code, int) else DONE


def _refuse_empty(args: list[str]) -> None:
    """Raise UsageError for an empty argument: it is a shell variable that was not set."""
    for before, value in zip(["", *args], args, strict=False):
        if value == "" or (value.startswith("--") and value.endswith("=")):
            option = value[:-1] or (before if before.startswith("-") else "an argument")
            raise click.UsageError(f"{option} is empty; leave it out, or say what it is")


def _placed(problem: Problem) -> str:
    """Return a problem of a file as ``file:line:column: message``, also of a file as a whole."""
    if problem.span.line:
        return str(problem)
    return str(replace(problem, span=Span(problem.span.file, 1, 1)))


def _named(message: str) -> str:
    """Return a message after the program's name, or after the place in a file that it names."""
    return message if _PLACE.match(message) else f"fusectl: {message}"


def _usage(error: click.UsageError) -> list[str]:
    """Return the line that says what is wrong, or the help for a command without arguments."""
    path = error.ctx.command_path if error.ctx else "fusectl"
    message = error.format_message()
    if error.ctx and message.startswith("Usage:"):
        return message.splitlines()
    message = " ".join(message.split()).removesuffix(".")
    return [f"fusectl: {message} ({path} --help shows the usage)"]


def _report_bug(error: Exception) -> None:
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    if os.environ.get("FUSECTL_DEBUG") == "1":
        tell(*"".join(traceback.format_exception(error)).splitlines())
    tell(
        f"fusectl: this is a bug in fusectl {__version__}: {type(error).__name__} in {place}: "
        f"{error}",
        "Please report it with the command line and, if you can, the model; "
        "FUSECTL_DEBUG=1 shows the traceback.",
    )


def _silence() -> None:
    """Give standard output somewhere to flush to when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
