"""The registry of validators. They read a program and know nothing of how it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fusectl.program import Program


@dataclass(frozen=True, slots=True)
class Violation:
    """What a validator found: where (a descriptor, an instruction, a record), and what."""

    validator: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text} ({self.validator})"


Found = Iterator[tuple[str, str]]
Function = Callable[[Program], Found]
VALIDATORS: dict[str, tuple[str, Function]] = {}
"""By name: the first line of the docstring, and the function."""


def validator(name: str) -> Callable[[Function], Function]:
    """Register a function that yields pairs of place and text for what is wrong."""

    def register(function: Function) -> Function:
        told = (function.__doc__ or "").strip().splitlines()[0].rstrip(".")
        VALIDATORS[name] = (told, function)
        return function

    return register


def validate(program: Program, only: Iterable[str] | None = None) -> list[Violation]:
    """Run all validators, or those named."""
    names = list(VALIDATORS if only is None else only)
    return [
        Violation(name, where, text)
        for name in names
        for where, text in VALIDATORS[name][1](program)
    ]
