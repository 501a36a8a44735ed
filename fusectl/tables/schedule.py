"""Schedule files: which group a node belongs to, and how a product is split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fusectl.errors import Problem, Span, TableError, did_you_mean
from fusectl.tables.resolve import read, shown
from fusectl.tables.schema import Value
from fusectl.yamlsrc import Mapping as YamlMapping
from fusectl.yamlsrc import Reader, Scalar, compose

Axis = Literal["m", "n", "k"]
AXES: tuple[Axis, ...] = ("m", "n", "k")
"""Rows and columns of the product, and the axis that it sums over."""
NONE = "none"


@dataclass(frozen=True, slots=True)
class ScheduledNode:
    """What a schedule says of one node.

    ``splits`` is ``none``, an axis or a list of axes (not stated: the target's tiler decides);
    ``tile`` the size of a tile along an axis, in rows, columns or summands.
    """

    span: Span
    group: str = ""
    splits: Value | None = None
    tile: dict[str, int] = field(default_factory=dict)

    @property
    def axes(self) -> tuple[str, ...] | None:
        """The axes that are split, in the order m, n, k, or None: not stated."""
        if self.splits is None and not self.tile:
            return None
        words = (self.splits,) if isinstance(self.splits, str) else self.splits or ()
        named = {*words, *self.tile} - {NONE}
        return tuple(a for a in AXES if a in named)


Schedule = Mapping[str, ScheduledNode]
"""By node: its name, or its first output."""


def read_schedule(path: Path) -> Schedule:
    """Read a schedule file. Raises TableError with every problem in it, and UsageError."""
    reader = Reader()
    tree = compose(read(path), shown(path))
    if isinstance(tree, Scalar) and not tree.text:
        raise TableError([Problem(tree.span, "the schedule is empty", "write node: {splits: m}")])
    found = reader.read(tree, dict[str, ScheduledNode], "the schedule")
    for name, node in (found or {}).items():
        _check(name, node, reader)
    if isinstance(tree, YamlMapping) and not tree.items:
        reader.fail(tree.span, "the schedule is empty", "write node: {splits: m}")
    if reader.problems or found is None:
        raise TableError(reader.problems)
    return dict(found)


def _check(name: str, node: ScheduledNode, reader: Reader) -> None:
    words = (node.splits,) if isinstance(node.splits, str) else node.splits or ()
    for word in words:
        if word not in (*AXES, NONE):
            message = f"{name}: splits: {word} is no axis of a product"
            reader.fail(node.span, message, "one of none, m, n, k, or a list of them")
    if NONE in words and len(words) + len(node.tile) > 1:
        reader.fail(node.span, f"{name}: splits: none and an axis exclude each other")
    for axis, length in node.tile.items():
        if axis not in AXES:
            reader.fail(node.span, f"{name}: tile: {axis} is no axis of a product", "m, n or k")
        elif length < 1:
            reader.fail(node.span, f"{name}: tile: {axis} must be at least 1, not {length}")


def check_nodes(schedule: Schedule, names: Iterable[str]) -> None:
    """Refuse a schedule for nodes that the model does not have. Raises TableError."""
    known = set(names)
    problems = [
        Problem(node.span, f"the model has no node {name}", did_you_mean(name, known))
        for name, node in schedule.items()
        if name not in known
    ]
    if problems:
        raise TableError(problems)
