"""A digest of what tables say, whatever the file looks like: no comments, places or examples."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping

from fusectl.errors import Span
from fusectl.tables.catalog import Catalog
from fusectl.tables.targets import Target

_WORDS = frozenset({"summary", "source", "sources", "examples", "why", "text_line"})
"""Fields that explain and decide nothing."""


def tables_digest(catalog: Catalog, target: Target) -> str:
    """Return twelve hexadecimal digits for all that decides on a target."""
    parts = (
        dataclasses.replace(target, version=""),
        dict(sorted(catalog.rules.items())),
        catalog.operators.classes,
        catalog.operators.facts,
        catalog.operators.functions,
    )
    hashed = hashlib.blake2b(digest_size=6)
    for part in parts:
        for piece in _pieces(part):
            hashed.update(piece.encode("utf-8", "surrogateescape"))
            hashed.update(b"\0")
    return hashed.hexdigest()


def _pieces(value: object) -> Iterator[str]:
    if isinstance(value, Span):
        return
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        for field in dataclasses.fields(value):
            if field.name not in _WORDS:
                yield field.name
                yield from _pieces(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield "{"
        for key, inner in value.items():
            yield str(key)
            yield from _pieces(inner)
        yield "}"
    elif isinstance(value, frozenset | set):
        yield from _listed(sorted(map(str, value)))
    elif isinstance(value, tuple | list):
        yield from _listed(value)
    else:
        yield repr(value)


def _listed(values: Iterable[object]) -> Iterator[str]:
    yield "["
    for value in values:
        yield from _pieces(value)
    yield "]"
