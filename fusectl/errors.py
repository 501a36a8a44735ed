"""What a user can be told: one exception family, one place in a file, one problem."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 300
"""Characters that are told of a message that another program made."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a text file. ``line`` and ``column`` count from 1; 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a user's file: where it is, what is wrong, what to do."""

    span: Span
    message: str
    help: str = ""

    def __str__(self) -> str:
        tail = f" ({self.help})" if self.help else ""
        return f"{self.span}: {self.message}{tail}"


class FusectlError(Exception):
    """Base of everything that is the input's fault; the command line answers with exit code 2."""


class ModelError(FusectlError):
    """The model cannot be read or is no valid graph."""


class UsageError(FusectlError):
    """The command line or an argument of the Python interface is unusable."""


class TableError(FusectlError):
    """A rule, target or operator file has problems; all of them are in ``problems``."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(problems, key=lambda p: p.span))
        super().__init__("\n".join(map(str, self.problems)))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean X?`` for the closest known word, or an empty string."""
    close = difflib.get_close_matches(word, sorted(set(known)), n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else ""


def first_line(error: Exception) -> str:
    """Return what an error of a library says, in one line that is not too long."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:LONGEST]
