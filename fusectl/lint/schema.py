"""The published JSON Schema of the policy, made from its dataclasses; also their documentation."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Any

from fusectl.errors import Span
from fusectl.lint.codes import CODES
from fusectl.lint.policy import Policy
from fusectl.reasons import REASONS
from fusectl.yamlsrc.reader import Spanned

TITLE = "fusectl.policy/1"
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``fusectl.yaml``."""
    schema = _struct(Policy)
    severity = schema["properties"]["severity"]
    severity["propertyNames"] = {"enum": [*REASONS, *CODES]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": TITLE,
        **schema,
    }


def keys(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the keys of a mapping of the policy, and what each is for."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if hints[field.name] is not Span:
            yield field.name, field.metadata["doc"]


def _struct(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = [f for f in dataclasses.fields(kind) if hints[f.name] is not Span]
    needed = [
        f.name
        for f in fields
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    return {
        "type": "object",
        "description": (kind.__doc__ or "").splitlines()[0],
        "properties": {
            f.name: {"description": f.metadata["doc"], **_type(hints[f.name])} for f in fields
        },
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
    }


def _type(hint: Any) -> dict[str, Any]:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _struct(hint)
    if origin is Spanned:
        return _type(args[0])
    if origin in (typing.Union, types.UnionType):
        members = [_type(a) for a in args if a is not type(None)]
        return members[0] if len(members) == 1 else {"anyOf": members}
    if origin is tuple:
        return {"type": "array", "items": _type(args[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(args[1])}
    if origin is typing.Literal:
        return {"enum": list(args)}
    return {"type": _SCALARS[hint]}
