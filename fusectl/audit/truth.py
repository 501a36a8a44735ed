"""Measured edges from a file: one model a line, for compilers that nobody else can run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from fusectl.audit.work import End, Measured
from fusectl.errors import Problem, Span, TableError, UsageError

_SHAPE = "[value, consumer, index, F or K, producer operator, consumer operator, ...]"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: a model and what a compiler did with its edges."""

    model: str
    compiler: str
    level: str
    edges: tuple[Measured, ...]


def read(path: str | Path) -> list[Line]:
    """Read a file of measured edges. Raises TableError with every broken line, UsageError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise UsageError(f"{path}: cannot be read: {why}") from None
    lines: list[Line] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            lines.append(_line(line))
        except _Broken as error:
            problems.append(Problem(Span(str(path), number, error.column), error.text))
    if problems:
        raise TableError(problems)
    return lines


def line_for(lines: list[Line], model: str, path: str) -> Line:
    """Return the line about a model, by the end of its path. Raises UsageError."""
    parts = PurePath(model).parts
    found = [line for line in lines if _ends(parts, PurePath(line.model).parts)]
    if not found:
        found = [line for line in lines if PurePath(line.model).name == PurePath(model).name]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"{path}: no line is about {model}; a line's `model` is the end of a path")
    names = ", ".join(line.model for line in found[:3])
    raise UsageError(f"{path}: {len(found)} lines could be about {model}: {names}")


def _ends(path: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return path[-len(end) :] == end if end else False


class _Broken(Exception):
    def __init__(self, text: str, column: int = 1) -> None:
        super().__init__(text)
        self.text, self.column = text, column


def _line(text: str) -> Line:
    try:
        entry = json.loads(text)
    except json.JSONDecodeError as error:
        raise _Broken(f"no JSON: {error.msg}", error.colno) from None
    if not isinstance(entry, dict):
        raise _Broken("a line is an object with the keys model and edges")
    model, edges = entry.get("model"), entry.get("edges")
    if not isinstance(model, str) or not model:
        raise _Broken("the key model, a path, is missing")
    if not isinstance(edges, list):
        raise _Broken("the key edges, a list, is missing")
    compiler, level = str(entry.get("compiler", "")), str(entry.get("level", ""))
    return Line(model, compiler, level, tuple(_edges(edges)))


def _edges(edges: list[object]) -> Iterator[Measured]:
    for number, edge in enumerate(edges):
        if not isinstance(edge, list) or len(edge) < 6:
            raise _Broken(f"edges[{number}]: an edge is {_SHAPE}")
        value, consumer, _, verdict, producer, user = edge[:6]
        texts = (value, consumer, verdict, producer, user)
        if not all(isinstance(t, str) and t for t in texts) or verdict not in ("F", "K"):
            raise _Broken(f"edges[{number}]: an edge is {_SHAPE}")
        kernel, _, between, moves = (edge[6:10] + ["", "", "", 0][len(edge) - 6 :])[:4]
        yield Measured(
            str(value),
            End("", str(producer), str(value)),
            End("", str(user), str(consumer)),
            "fused" if verdict == "F" else "kept",
            str(kernel),
            between=tuple(filter(None, str(between).split("|"))),
            moves=bool(moves),
        )
