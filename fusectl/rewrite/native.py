"""Writes a fused form as one operator, as its rule or target says under ``writes``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import onnx
from onnx import helper

from fusectl.checks.form import form_of
from fusectl.decide import Ruling
from fusectl.decide.written import chosen, entries
from fusectl.graph.constants import Array
from fusectl.graph.view import Attribute
from fusectl.rewrite.forms import Form, Forms, NotNative
from fusectl.rewrite.match import Match
from fusectl.rewrite.transforms import TRANSFORMS
from fusectl.tables.schema import Taken, Unsigned, Writes

_LIMITS = {"min": float(np.finfo(np.float32).min), "max": float(np.finfo(np.float32).max)}
"""What a bound that is left out means."""


def write(forms: Forms, ruling: Ruling) -> Form:
    """Return the fused form of a decision as one operator. Raises NotNative."""
    match = Match(forms, ruling)
    how = _chosen(match)
    if match.found.between:
        raise NotNative("nodes between the two are part of it")
    node = _start(match, how)
    assert ruling.group is not None
    node.name = ruling.group.last.name
    if how.op:
        _set_op(node, how.op.replace("*", match.role(how.keep).op if how.keep else ""))
    if how.inputs:
        _set_inputs(node, list(_inputs(match, how)))
    for name, taken in how.attributes.items():
        _set(node, name, _value(match, taken))
    for change in how.transforms:
        TRANSFORMS[change](match, node)
    del node.output[:]
    node.output.extend(_outputs(match, how))
    return match.finished(node)


def _chosen(match: Match) -> Writes:
    found = match.found
    how = chosen(found)
    if how is not None:
        return how
    form = form_of(found)
    if form.sealed:
        raise NotNative(f"it is {form.sealed} on this target")
    stated = entries(found)
    raise NotNative("no stated form fits it" if stated else "no operator is stated for it")


def _start(match: Match, how: Writes) -> onnx.NodeProto:
    if how.keep:
        return match.form(how.keep).copy().node
    if not how.op:
        raise NotNative("no operator is stated for it")
    return onnx.NodeProto()


def _set_op(node: onnx.NodeProto, op: str) -> None:
    domain, _, op_type = op.rpartition(".")
    node.domain, node.op_type = domain, op_type


def _set_inputs(node: onnx.NodeProto, names: list[str]) -> None:
    while names and not names[-1]:
        names.pop()
    del node.input[:]
    node.input.extend(names)


def _inputs(match: Match, how: Writes) -> Iterator[str]:
    for text in how.inputs:
        maker, dot, slot = text.partition(".")
        if dot and slot.endswith("+"):
            yield from match.form(maker).node.input[int(slot[:-1]) :]
        elif dot:
            inputs = match.form(maker).node.input
            yield inputs[int(slot)] if int(slot) < len(inputs) else ""
        else:
            name = _operand(match, how, text)
            wanted = how.casts.get(text, "")
            yield match.cast(text, name, wanted) if name and wanted else name


def _operand(match: Match, how: Writes, value: str) -> str:
    if not value:
        return ""
    moved = how.unsigned
    if moved is not None and _is_moved(match, moved):
        if value == moved.codes:
            return _unsigned(match, match.array(match.operand(value)), match.operand(value))
        if value == moved.zero:
            return _unsigned(match, _zero(match, value, moved.codes), _stem(match, moved.codes))
    name = match.operand(value)
    if not name and value in how.zeros and match.bound(how.zeros[value]):
        codes = how.zeros[value]
        return match.add(_stem(match, codes), _zero(match, value, codes))
    return name


def _is_moved(match: Match, moved: Unsigned) -> bool:
    types = (match.type_of(moved.codes).dtype, match.type_of(moved.beside).dtype)
    return types == ("int8", "uint8")


def _stem(match: Match, codes: str) -> str:
    return f"{match.scope.name(match.bound(codes))}_zero_point"


def _zero(match: Match, value: str, codes: str) -> Array:
    """Return a zero point in the shape of its scale, also where the model leaves it out."""
    name = match.operand(value)
    coder = match.coder(codes)
    try:
        shape = match.array(coder.input[1]).shape
    except NotNative:
        shape = ()
    if name:
        array = match.array(name)
        return np.broadcast_to(array.reshape(shape if array.size > 1 else ()), shape)
    dtype = match.type_of(codes).dtype
    if not dtype:
        raise NotNative(f"the type of {match.bound(codes)} is not known")
    return np.zeros(shape, dtype)


def _unsigned(match: Match, array: Array, stem: str) -> str:
    """Return codes as unsigned ones. Adding the same to codes and zero points changes nothing."""
    return match.add(f"{stem}_uint8", (array.astype(np.int16) + 128).astype(np.uint8))


def _outputs(match: Match, how: Writes) -> Iterable[str]:
    if how.outputs:
        return [match.scope.name(match.bound(v)) if v else "" for v in how.outputs]
    found = match.found
    group = match.ruling.group
    assert group is not None
    outputs = found.consumer.outputs if found.rule.two_node else group.outputs
    return [match.scope.name(o) if o else "" for o in outputs]


def _value(match: Match, taken: Taken) -> Attribute:
    if taken.op:
        return match.role(taken.op).op
    if taken.constant:
        return match.scalar(taken.constant)
    if taken.parameter:
        known = match.has(taken.parameter, taken.of)
        value = match.parameter(taken.parameter, taken.of) if known else None
        return value if value is not None else _literal(taken)
    if taken.parameters:
        names = taken.parameters.get(match.role(taken.of).op, ())
        return tuple(_number(match, n, taken.of) for n in names) or None
    if taken.tail:
        return _tail(match, taken.tail)
    return _literal(taken)


def _literal(taken: Taken) -> Attribute:
    literals = (taken.int_, taken.float_, taken.text or None)
    return next((v for v in literals if v is not None), None)


def _number(match: Match, name: str, of: str) -> float:
    value = match.parameter(name, of)
    if value is None:
        value = _LIMITS.get(name)
    if not isinstance(value, int | float):
        raise NotNative(f"{name} of {of} is no number")
    return float(value)


def _tail(match: Match, of: str) -> int:
    """Return the first of a reduction's axes, counted from the end; they are the last ones."""
    axes = match.parameter("axes", of)
    if isinstance(axes, tuple):
        return -len(axes)
    if isinstance(axes, int):
        return -1
    raise NotNative(f"the axes of {of} are not known")


def _set(node: onnx.NodeProto, name: str, value: Attribute) -> None:
    for attribute in list(node.attribute):
        if attribute.name == name:
            node.attribute.remove(attribute)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))
