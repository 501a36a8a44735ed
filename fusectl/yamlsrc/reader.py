"""A node tree to frozen dataclasses, by their type hints, collecting every problem with its span.

The schema is the dataclass: unknown keys, missing keys and wrong types are all reported in one
run. A field's YAML key is its name, or ``metadata={"key": ...}``. A field called ``span`` of type
Span is not read but filled with the place of the mapping.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from fusectl.errors import Problem, Span, did_you_mean
from fusectl.yamlsrc.compose import Mapping, Node, Scalar, Sequence

T = TypeVar("T")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|\.inf)\Z")
_WORDS = {"true": True, "false": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Spanned(Generic[T]):
    """A value with its place in the file. ``text_line`` is where the text of a block begins."""

    value: T
    span: Span
    text_line: int = 0


def spanned(value: T, span: Span) -> Spanned[T]:
    """Make a Spanned value by hand, for tables that are built from objects."""
    return Spanned(value, span, span.line)


@functools.cache
def _fields(kind: type) -> dict[str, tuple[dataclasses.Field[Any], Any]]:
    hints = typing.get_type_hints(kind)
    return {
        f.metadata.get("key", f.name): (f, hints[f.name])
        for f in dataclasses.fields(kind)
        if not (f.name == "span" and hints[f.name] is Span) and not f.metadata.get("internal")
    }


class Reader:
    """Reads values of a type out of a node tree; problems pile up in ``problems``."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def fail(self, span: Span, message: str, help: str = "") -> None:
        """Note a problem; the caller goes on with None or a default."""
        self.problems.append(Problem(span, message, help))

    def read(self, node: Node, kind: Any, what: str) -> Any:
        """Return ``node`` as a value of ``kind``, or None after noting what is wrong with it."""
        if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind is not Spanned:
            return self._struct(node, kind, what)
        origin = typing.get_origin(kind)
        if origin in (typing.Union, types.UnionType):
            return self._union(node, typing.get_args(kind), what)
        handler: Callable[[Node, Any, str], Any] | None = {
            Spanned: self._spanned,
            tuple: self._list,
            dict: self._dict,
            typing.Literal: self._literal,
        }.get(origin or kind)
        if handler:
            return handler(node, kind, what)
        return self._scalar(node, kind, what)

    def _spanned(self, node: Node, kind: Any, what: str) -> Any:
        value = self.read(node, typing.get_args(kind)[0], what)
        line = node.text_line if isinstance(node, Scalar) else node.span.line
        return None if value is None else Spanned(value, node.span, line)

    def _struct(self, node: Node, kind: type, what: str) -> Any:
        if not isinstance(node, Mapping):
            self.fail(node.span, f"{what} must be a mapping, not {_named(node)}")
            return None
        fields = _fields(kind)
        values: dict[str, Any] = {}
        whole = True
        for key, child in node.items:
            if key.text not in fields:
                self.fail(
                    key.span, f"unknown key {key.text} in {what}", did_you_mean(key.text, fields)
                )
                continue
            field, hint = fields[key.text]
            value = self.read(child, hint, f"{what}: {key.text}")
            whole = whole and value is not None
            values[field.name] = value
        for name, (field, _) in fields.items():
            needed = (
                field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING
            )
            if needed and field.name not in values:
                self.fail(node.span, f"{what} lacks the key {name}")
                whole = False
        if not whole:
            return None
        if any(f.name == "span" for f in dataclasses.fields(kind)):
            values["span"] = node.span
        return kind(**values)

    def _list(self, node: Node, kind: Any, what: str) -> Any:
        if not isinstance(node, Sequence):
            self.fail(node.span, f"{what} must be a list, not {_named(node)}")
            return None
        item = typing.get_args(kind)[0]
        values = [self.read(child, item, f"{what}[{i}]") for i, child in enumerate(node.items)]
        return None if any(v is None for v in values) else tuple(values)

    def _dict(self, node: Node, kind: Any, what: str) -> Any:
        if not isinstance(node, Mapping):
            self.fail(node.span, f"{what} must be a mapping, not {_named(node)}")
            return None
        item = typing.get_args(kind)[1]
        values = {
            key.text: self.read(child, item, f"{what}.{key.text}") for key, child in node.items
        }
        return None if any(v is None for v in values.values()) else values

    def _literal(self, node: Node, kind: Any, what: str) -> Any:
        allowed = typing.get_args(kind)
        if isinstance(node, Scalar) and node.text in allowed:
            return node.text
        shown = node.text if isinstance(node, Scalar) else _named(node)
        self.fail(
            node.span,
            f"{what} must be one of {', '.join(allowed)}, not {shown}",
            did_you_mean(shown, allowed),
        )
        return None

    def _union(self, node: Node, kinds: tuple[Any, ...], what: str) -> Any:
        """Take the member that fits the node's form: list, mapping, or the first scalar kind."""
        members = [k for k in kinds if k is not type(None)]
        if len(members) == 1:
            return self.read(node, members[0], what)
        for kind in members:
            if isinstance(node, _form(kind)):
                trial = Reader()
                value = trial.read(node, kind, what)
                if value is not None:
                    return value
        best = next((k for k in reversed(members) if isinstance(node, _form(k))), None)
        if best is None:
            self.fail(node.span, f"{what} cannot be {_named(node)}")
            return None
        return self.read(node, best, what)

    def _scalar(self, node: Node, kind: Any, what: str) -> Any:
        if not isinstance(node, Scalar):
            self.fail(node.span, f"{what} must be {_KINDS[kind]}, not {_named(node)}")
            return None
        text = node.text
        if kind is str:
            return text
        if kind is bool and text in _WORDS:
            return _WORDS[text]
        if kind is int and _INT.match(text):
            return int(text)
        if kind is float and _FLOAT.match(text):
            return float(text.replace(".inf", "inf"))
        self.fail(node.span, f"{what} must be {_KINDS[kind]}, not {text!r}")
        return None


_KINDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def _form(kind: Any) -> type:
    origin = typing.get_origin(kind) or kind
    if origin is tuple:
        return Sequence
    if origin is dict or (dataclasses.is_dataclass(origin) and origin is not Spanned):
        return Mapping
    if origin is Spanned:
        return _form(typing.get_args(kind)[0])
    return Scalar


def _named(node: Node) -> str:
    if isinstance(node, Scalar):
        return repr(node.text) if node.text else "nothing"
    return "a list" if isinstance(node, Sequence) else "a mapping"
