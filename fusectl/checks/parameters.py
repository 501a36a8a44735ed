"""Attributes and attribute-like inputs, read alike whatever the opset makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from fusectl.graph.constants import Unreadable
from fusectl.graph.overlay import Overlay
from fusectl.graph.view import Attribute, schema
from fusectl.match.candidate import Role
from fusectl.tables.schema import Value

Number = int | float


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a node says for a parameter. ``trouble`` tells why it is not known.

    ``exists`` is False where the operator has no such parameter at this opset.
    """

    value: Attribute
    runtime: str = ""
    trouble: str = ""
    exists: bool = True


def parameter(overlay: Overlay, role: Role, name: str) -> Parameter:
    """Return an attribute, or the constant input of that name at this opset."""
    node, view = role.lead, overlay.view
    if name in node.attrs:
        return Parameter(node.attrs[name])
    found = schema(node.op_type, node.domain, view.opset(node.domain))
    formal = [i.name for i in found.inputs] if found else []
    if name in formal:
        place = formal.index(name)
        actual = role.inputs[place] if place < len(role.inputs) else ""
        if actual:
            return _constant(overlay, actual)
        return Parameter(None)
    exists = found is None or name in found.attributes
    return Parameter(view.attr(node, name), exists=exists)


def _constant(overlay: Overlay, value: str) -> Parameter:
    if not overlay.is_constant(value):
        return Parameter(None, runtime=value)
    try:
        array = overlay.array(value)
    except (Unreadable, KeyError) as error:
        return Parameter(None, trouble=str(error))
    if array.ndim == 0:
        return Parameter(array.item() if array.dtype.kind != "S" else str(array))
    return Parameter(tuple(array.reshape(-1).tolist()))


def as_number(text: str) -> Number | None:
    """Return the number that a YAML value spells, or None for a word."""
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return None


def matches(actual: Attribute, wanted: Value, rel: float = 0.0, abs_: float = 0.0) -> bool:
    """Tell whether a parameter has a wanted value; lists are compared element by element."""
    if isinstance(wanted, tuple):
        if not isinstance(actual, tuple) or len(actual) != len(wanted):
            return False
        pairs: list[tuple[Attribute, Value]] = list(zip(actual, wanted, strict=True))
        return all(matches(a, w, rel, abs_) for a, w in pairs)
    if isinstance(actual, tuple):
        return len(actual) == 1 and matches(actual[0], wanted, rel, abs_)
    number = as_number(wanted)
    if number is None or isinstance(actual, str):
        return str(actual) == wanted or (actual is None and wanted == "none")
    if actual is None:
        return False
    slack = abs_ + max(rel, 1e-6) * abs(number)
    return abs(float(actual) - number) <= slack
