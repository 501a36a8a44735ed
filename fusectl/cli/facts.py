"""Facts of a table in words: what is stated there and differs from the default."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from fusectl.errors import Span
from fusectl.yamlsrc.reader import Spanned


def stated(record: object, without: tuple[str, ...] = ()) -> Iterator[tuple[str, object]]:
    """Yield the YAML keys of a record that are stated, with their values.

    It asks the record itself, so that a new key of the schema appears without a change here.
    """
    if not dataclasses.is_dataclass(record):
        return
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        key = field.metadata.get("key", field.name)
        if isinstance(value, Span) or key in without or value == _default(field):
            continue
        if not field.metadata.get("shown", True) or _silent(value):
            continue
        yield key, value


def _silent(value: object) -> bool:
    """Tell whether a list holds only records without a fact to show."""
    records = value if isinstance(value, tuple) else ()
    return bool(records) and all(dataclasses.is_dataclass(r) and not facts(r) for r in records)


def _default(field: dataclasses.Field[object]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def facts(record: object, without: tuple[str, ...] = ()) -> str:
    """Return the facts of a record on one line: ``rank x 2 or 3, static x``."""
    return ", ".join(fact(key, value) for key, value in stated(record, without))


def fact(key: str, value: object) -> str:
    """Return one fact; a switch that is on says its name only."""
    return key if value is True else f"{key} {words(value)}"


def words(value: object) -> str:
    """Return a value of a table: lists with commas, whatever is in them in brackets."""
    if isinstance(value, Spanned):
        return words(value.value)
    if isinstance(value, tuple):
        listed = (f"[{words(v)}]" if isinstance(v, tuple) else words(v) for v in value)
        return ", ".join(listed) if value else "none"
    if isinstance(value, dict):
        return ", ".join(_entry(name, entry) for name, entry in value.items()) or "none"
    if dataclasses.is_dataclass(value):
        return f"({facts(value) or 'as it is'})"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _entry(name: str, value: object) -> str:
    if dataclasses.is_dataclass(value) and not isinstance(value, Spanned):
        told = facts(value)
        return f"{name} ({told})" if told else name
    return f"{name} ({words(value)})"
