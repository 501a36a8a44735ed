"""A pattern of the rules' own tables to a draft of a model that it describes.

What a pattern leaves open (types, shapes, attributes of movement) stands in a recipe of its rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx

from fusectl.tables import Rule
from fusectl.tables.patterns import Pattern, PatternNode
from fusectl.tables.schema import Where
from tests.spellings.draft import Array, Attr, Dims, Draft, Op


@dataclass(frozen=True, slots=True)
class Free:
    """A value that nothing in the pattern makes: its type and shape, its numbers if constant."""

    dims: tuple[int, ...] = (2, 8)
    dtype: str = "float32"
    data: tuple[float, ...] | float | None = None

    def array(self) -> Array:
        numbers = np.asarray(0.125 if self.data is None else self.data)
        return np.broadcast_to(numbers.astype(self.dtype), self.dims).copy()


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make a model of a rule's patterns.

    ``attrs`` and ``extra`` (further constant inputs) go by operator or by the value that a node
    makes; ``ops`` chooses an operator of a class; ``batched`` values have a batch in front.
    """

    free: Mapping[str, Free] = field(default_factory=dict)
    attrs: Mapping[str, Mapping[str, Attr]] = field(default_factory=dict)
    extra: Mapping[str, Mapping[int, Free]] = field(default_factory=dict)
    ops: Mapping[str, str] = field(default_factory=dict)
    batched: tuple[str, ...] = ()
    opset: int = 17
    other_opsets: tuple[int, ...] = (13, 18, 21)


def _axes_of(pattern: Pattern, output: str, op_type: str) -> dict[str, Attr]:
    """The last axis, for what a fact says it of: a reduction has a list, others have one."""
    fact = pattern.where.get(output)
    if fact is None or not fact.axes:
        return {}
    return {"axes": (-1,)} if op_type.startswith("Reduce") else {"axis": -1}


def _stated(pattern: Pattern, node: PatternNode, op_type: str, opset: int) -> dict[str, Attr]:
    """Attributes that the pattern or its facts ask for, where the operator has them."""
    schema = onnx.defs.get_schema(op_type, opset)
    found: dict[str, Attr] = {}
    for name, value in node.attrs.items():
        assert isinstance(value, int | float | str)
        found[name] = value
    fact = pattern.where.get(node.outputs[0])
    for name, wanted in (fact.attrs if fact else {}).items():
        if name in schema.attributes and isinstance(wanted.value, str):
            kind = schema.attributes[name].type
            number = kind in (onnx.defs.OpSchema.AttrType.FLOAT, onnx.defs.OpSchema.AttrType.INT)
            found[name] = float(wanted.value) if number else wanted.value
            if kind == onnx.defs.OpSchema.AttrType.INT:
                found[name] = int(wanted.value)
    return found


def choose(node: PatternNode, recipe: Recipe) -> str:
    """The operator that plays a node."""
    return recipe.ops.get(node.role, node.role)


def _constant(fact: Where | None, free: Free | None) -> Array | None:
    """The numbers of a free value, or None where it arrives at run time."""
    if free is not None and free.data is not None:
        return free.array()
    if fact is None or fact.const is None:
        return None
    numbers = fact.numbers
    if numbers is None:
        return (free or Free(())).array()
    dtype = free.dtype if free else "float32"
    return np.asarray(numbers[0] if len(numbers) == 1 else numbers, dtype)


def build(rule: Rule, pattern: Pattern, recipe: Recipe) -> Draft:
    """A draft of a model that the pattern describes and nothing else."""
    draft = Draft(recipe.opset)
    made = {o for n in pattern.nodes for o in n.outputs}
    for node in pattern.nodes:
        for value in node.inputs:
            if value and value not in made:
                _declare(draft, value, pattern.where.get(value), recipe)
        draft.nodes.append(_node(draft, pattern, node, recipe))
    read = {v for op in draft.nodes for v in op.inputs}
    draft.outputs = [o for op in draft.nodes for o in op.outputs if o not in read]
    return draft


def _declare(draft: Draft, value: str, fact: Where | None, recipe: Recipe) -> None:
    if value in draft.constants or value in draft.inputs or (fact is not None and fact.absent):
        return
    free = recipe.free.get(value)
    numbers = _constant(fact, free)
    if numbers is not None:
        draft.constants[value] = numbers
    else:
        dims: Dims = (free or Free()).dims
        draft.inputs[value] = ((free or Free()).dtype, dims)


def _node(draft: Draft, pattern: Pattern, node: PatternNode, recipe: Recipe) -> Op:
    op_type = choose(node, recipe)
    output = node.outputs[0]
    absent = {n for n, f in pattern.where.items() if f.absent}
    inputs = ["" if v in absent else v for v in node.inputs]
    extra = recipe.extra.get(output) or recipe.extra.get(op_type) or {}
    for place, free in sorted(extra.items()):
        inputs += [""] * (place - len(inputs))
        name = f"{output}_{place}"
        draft.constants[name] = free.array()
        inputs.append(name)
    while inputs and not inputs[-1]:
        inputs.pop()
    outputs = list(node.outputs)
    if op_type == "LayerNormalization":
        outputs = outputs[:1]  # the pattern names the optional ones, so that they may be there
    attrs = {
        **_axes_of(pattern, output, op_type),
        **_stated(pattern, node, op_type, recipe.opset),
        **(recipe.attrs.get(op_type) or {}),
        **(recipe.attrs.get(output) or {}),
    }
    return Op(f"n_{output}", op_type, inputs, outputs, attrs)
