"""TOML to the tree that ``compose`` makes of YAML, each key with its place.

Python's own parser gives values and no places. A key's place is found by asking it: where a change
of a word in the text renames the key at the path, that word is the key.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterator

from fusectl.errors import Problem, Span, TableError
from fusectl.yamlsrc.compose import Mapping, Node, Scalar, Sequence

Path = tuple[str | int, ...]
_PLACE = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)")
_PROBE = "fusectl-probe-"


def compose_toml(text: str, file: str, table: tuple[str, ...]) -> Mapping | None:
    """Return one table of a TOML file, or None where it is not there. Raises TableError."""
    try:
        data: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableError([_syntax(str(error), text, file)]) from None
    except RecursionError:
        raise TableError([Problem(Span(file), "nested too deeply to be read")]) from None
    for key in table:
        data = data.get(key) if isinstance(data, dict) else None
    if data is None:
        return None
    node = _Places(text, file).tree(data, table)
    if not isinstance(node, Mapping):
        raise TableError([Problem(node.span, f"{'.'.join(table)} must be a table")])
    return node


def _syntax(message: str, text: str, file: str) -> Problem:
    found = _PLACE.search(message)
    said = _PLACE.sub("", message).strip()
    if found and found[1]:
        return Problem(Span(file, int(found[1]), int(found[2])), f"TOML syntax: {said}")
    return Problem(Span(file, text.count("\n") + 1, 1), f"TOML syntax: {said}")


class _Places:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file

    def tree(self, data: object, path: Path) -> Node:
        """Return a value with its place: that of its key, or for an item of a list its first."""
        return self._node(data, path, self._span(path) or Span(self._file, 1, 1))

    def _node(self, data: object, path: Path, span: Span) -> Node:
        if isinstance(data, dict):
            return Mapping(span, tuple(self._pairs(data, path, span)))
        if isinstance(data, list):
            return Sequence(span, tuple(self._items(data, path, span)))
        return Scalar(span, _written(data), span.line)

    def _pairs(
        self, data: dict[str, object], path: Path, outer: Span
    ) -> Iterator[tuple[Scalar, Node]]:
        for key, value in data.items():
            span = self._span((*path, key)) or outer
            yield Scalar(span, key, span.line), self._node(value, (*path, key), span)

    def _items(self, data: list[object], path: Path, outer: Span) -> Iterator[Node]:
        for index, value in enumerate(data):
            here = (*path, index)
            span = self._item(value, here) or outer
            yield self._node(value, here, span)

    def _item(self, value: object, path: Path) -> Span | None:
        if isinstance(value, dict):
            spans = [s for key in value if (s := self._span((*path, key)))]
            return min(spans, default=None)
        return self._span(path, value) if isinstance(value, str) else None

    def _span(self, path: Path, value: str = "") -> Span | None:
        """Find the word that names the path, or that is the text at it."""
        word = value or str(path[-1])
        for found in re.finditer(rf"(?<![\w-]){re.escape(word)}(?![\w-])", self._text):
            start = found.start()
            changed = f"{self._text[:start]}{_PROBE}{self._text[start:]}"
            try:
                data: object = tomllib.loads(changed)
            except tomllib.TOMLDecodeError:
                continue
            if value and _at(data, path) == _PROBE + value:
                return self._place(start)
            if not value and _at(data, (*path[:-1], _PROBE + word)) is not None:
                return self._place(start)
        return None

    def _place(self, start: int) -> Span:
        line = self._text.count("\n", 0, start) + 1
        return Span(self._file, line, start - (self._text.rfind("\n", 0, start) + 1) + 1)


def _at(data: object, path: Path) -> object:
    for key in path:
        if isinstance(data, dict) and isinstance(key, str):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return str(value)
