"""One pattern as different exporters write it: the same function, so the same verdict."""

from collections.abc import Callable, Iterator
from functools import partial

import onnx

from fusectl.tables.patterns import Pattern
from tests.spellings.build import Recipe
from tests.spellings.draft import Draft, Op, in_body, in_function, plain, read_by

Variant = tuple[str, Callable[[], onnx.ModelProto]]


def variants(draft: Draft, pattern: Pattern, recipe: Recipe) -> Iterator[Variant]:
    """Each spelling with its name; the first is the plain one."""
    yield "plain", lambda: plain(draft)
    yield "constant-nodes", lambda: plain(draft, constants_as_nodes=True)
    yield "in-an-if", lambda: in_body(draft)
    yield "in-a-function", lambda: in_function(draft)
    if any(node.commutative for node in pattern.nodes):
        yield "swapped", lambda: plain(_swapped(draft, pattern))
    if any(_is_scalar_operand(draft, name) for name in draft.constants):
        yield "one-element", lambda: plain(_one_element(draft))
    if recipe.batched:
        yield "symbolic-batch", lambda: plain(_batched(draft, recipe))
    yield "no-ops-between", lambda: plain(_with_no_ops(draft, "Identity"))
    if _floats(draft):
        yield "casts-between", lambda: plain(_with_no_ops(draft, "Cast"))
    for opset in recipe.other_opsets:
        if opset != draft.opset:
            yield f"opset-{opset}", partial(_at_opset, draft, opset)


def _swapped(draft: Draft, pattern: Pattern) -> Draft:
    """The operands of every commutative node exchanged."""
    found = draft.copy()
    for op, node in zip(found.nodes, pattern.nodes, strict=True):
        if node.commutative:
            op.inputs.reverse()
    return found


_BROADCAST = ("Add", "Sub", "Mul", "Div", "Pow")


def _is_scalar_operand(draft: Draft, name: str) -> bool:
    readers = [op.op_type in _BROADCAST for op, _ in read_by(draft, name)]
    return draft.constants[name].shape == () and bool(readers) and all(readers)


def _one_element(draft: Draft) -> Draft:
    """Scalar constants as lists of one number."""
    found = draft.copy()
    for name, array in draft.constants.items():
        if _is_scalar_operand(draft, name):
            found.constants[name] = array.reshape(1)
    return found


def _batched(draft: Draft, recipe: Recipe) -> Draft:
    """A batch of which only the name is known."""
    found = draft.copy()
    for name in recipe.batched:
        if name in found.inputs:
            dtype, dims = found.inputs[name]
            found.inputs[name] = (dtype, ("N", *dims[1:]))
    return found


def _floats(draft: Draft) -> bool:
    """Whether all that flows between the nodes is single precision, as far as the draft tells."""
    stated = {dtype for dtype, _ in draft.inputs.values()}
    return stated == {"float32"} and all(op.op_type != "Cast" for op in draft.nodes)


def _with_no_ops(draft: Draft, op_type: str) -> Draft:
    """A node that changes nothing behind every value that a node makes and another reads."""
    found = draft.copy()
    for op in list(found.nodes):
        for value in op.outputs:
            readers = read_by(found, value)
            if not readers:
                continue
            attrs = {"to": 1} if op_type == "Cast" else {}
            made = f"{value}_same"
            for reader, slot in readers:
                reader.inputs[slot] = made
            place = found.nodes.index(op) + 1
            found.nodes.insert(place, Op(f"same_{value}", op_type, [value], [made], {**attrs}))
    return found


def _at_opset(draft: Draft, opset: int) -> onnx.ModelProto:
    found = draft.copy()
    found.opset = opset
    for op in found.nodes:
        if op.op_type == "Split" and opset >= 18:
            op.attrs["num_outputs"] = 2
    return plain(found)
