"""What the audit asks of a runtime's process, and what it gets back."""

from __future__ import annotations

from typing import Literal

import msgspec

Fate = Literal["fused", "kept", "folded", "eliminated", "unresolved"]


class Task(msgspec.Struct, frozen=True):
    """``edges``: see what the compiler did. ``witness``: find inputs that tell the outputs apart.

    ``model`` is the path of a binary model, ``moves`` the operators that only move data, ``folder``
    one to write into, ``keep`` a file for the inputs of a witness, or nothing.
    """

    what: Literal["edges", "witness"]
    level: str
    model: str
    folder: str
    moves: tuple[str, ...] = ()
    keep: str = ""


class End(msgspec.Struct, frozen=True):
    """A node at one end of an edge."""

    name: str
    op_type: str
    output: str


class Measured(msgspec.Struct, frozen=True):
    """One edge as the compiler left it. ``kernel`` and ``node`` run it where it is fused.

    ``scope`` is empty for the main graph; else pairs of node and attribute lead into a body.
    ``moves``: one of the two only moves data.
    """

    value: str
    producer: End
    consumer: End
    fate: Fate
    kernel: str = ""
    node: str = ""
    between: tuple[str, ...] = ()
    moves: bool = False
    scope: tuple[tuple[str, str], ...] = ()


class Apart(msgspec.Struct, frozen=True):
    """Where the outputs of the model, optimised and not, lie furthest apart, of ``tried`` inputs.

    ``inputs`` says how they were made; ``differs``: by more than rounding makes. None is no finite
    number.
    """

    tried: int
    differs: bool
    inputs: str = ""
    output: str = ""
    index: tuple[int, ...] = ()
    plain: float | None = None
    optimised: float | None = None


class Answer(msgspec.Struct, frozen=True):
    """What came of a task; ``error`` is one line, and empty where all went well."""

    version: str = ""
    edges: tuple[Measured, ...] = ()
    notes: tuple[str, ...] = ()
    apart: Apart | None = None
    error: str = ""
