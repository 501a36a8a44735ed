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
    data = _table(text, file, table)
    if data is None:
        return None
    node = _Places(_trimmed(text, file, table, data), file).tree(data, table)
    if not isinstance(node, Mapping):
        raise TableError([Problem(node.span, f"{'.'.join(table)} must be a table")])
    return node


def has_table(text: str, file: str, table: tuple[str, ...]) -> bool:
    """Tell whether a TOML file has a table. Raises TableError."""
    return table[-1] in text and _table(text, file, table) is not None


def _table(text: str, file: str, table: tuple[str, ...]) -> object:
    try:
        return _at(tomllib.loads(text), table)
    except tomllib.TOMLDecodeError as error:
        raise TableError([_syntax(str(error), text, file)]) from None
    except RecursionError:
        raise TableError([Problem(Span(file), "nested too deeply to be read")]) from None


def _trimmed(text: str, file: str, table: tuple[str, ...], data: object) -> str:
    """Blank the lines before the table where that changes nothing in it: less to parse."""
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if table[-1] in line), 0)
    shorter = "\n" * first + "\n".join(lines[first:])
    try:
        return shorter if _table(shorter, file, table) == data else text
    except TableError:
        return text


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
        self._asked: set[str] = set()
        self._found: dict[tuple[Path, bool], Span] = {}

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
        if word not in self._asked:
            self._asked.add(word)
            self._ask(word)
        return self._found.get((path, bool(value)))

    def _ask(self, word: str) -> None:
        """Ask of each place at which a word occurs what it names there."""
        for found in re.finditer(rf"(?<![\w-]){re.escape(word)}(?![\w-])", self._text):
            start = found.start()
            changed = f"{self._text[:start]}{_PROBE}{self._text[start:]}"
            try:
                told = _probe(tomllib.loads(changed), word, ())
            except tomllib.TOMLDecodeError:
                continue
            if told is not None:
                self._found.setdefault(told, self._place(start))

    def _place(self, start: int) -> Span:
        line = self._text.count("\n", 0, start) + 1
        return Span(self._file, line, start - (self._text.rfind("\n", 0, start) + 1) + 1)


def _probe(data: object, word: str, path: Path) -> tuple[Path, bool] | None:
    """Return the path of the changed word, and whether it is the text there and no key."""
    if isinstance(data, dict):
        if _PROBE + word in data:
            return (*path, word), False
        items: Iterator[tuple[str | int, object]] = iter(data.items())
    elif isinstance(data, list):
        items = iter(enumerate(data))
    else:
        return (path, True) if data == _PROBE + word else None
    return next((t for k, v in items if (t := _probe(v, word, (*path, k))) is not None), None)


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
