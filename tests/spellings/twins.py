"""Models that break one fact of a pattern, made from it: each must be kept, and say why."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from fusectl.tables import Rule
from fusectl.tables.patterns import Pattern, PatternNode
from fusectl.tables.schema import Where
from tests.spellings.draft import Array, Attr, Dims, Draft, Op, read_by

SUMS_FIRST = ("bias-add-layernorm", "embed-layernorm")
"""Kernels that may write the sum in front of a normalisation as well."""
BROADCAST = ("Add", "Sub", "Mul", "Div", "Pow")


@dataclass(frozen=True, slots=True)
class Twin:
    """A draft with one fact broken, and what must be said.

    A fusion may happen only without ``carrier``, a node or value that the broken fact concerns.
    ``slugs`` are the reasons that name the fact (empty: kept is all there is to say); one of the
    findings with such a reason must mention every word of ``says``, and ``missing`` the node.
    """

    name: str
    draft: Draft
    carrier: str
    slugs: frozenset[str] = frozenset()
    says: tuple[str, ...] = ()
    missing: tuple[str, str] | None = None


def twins(rule: Rule, pattern: Pattern, draft: Draft) -> Iterator[Twin]:
    """Every fact of a pattern, broken alone."""
    for name, fact in pattern.where.items():
        if name in draft.constants:
            yield from _constant(draft, name, fact)
        yield from _node_facts(pattern, draft, name, fact)
    for node in pattern.nodes:
        yield from _operator(pattern, draft, node)
    for value in sorted(pattern.inner):
        if value in rule.duplicable or _copies(rule, draft.maker(value)):
            continue
        if rule.id not in SUMS_FIRST or value != pattern.edge:
            yield from _private(draft, value)
    yield from _identities(pattern, draft)
    yield from _required(rule, draft)


def _copies(rule: Rule, op: Op) -> bool:
    """Whether a node is removed beforehand, so that its result is the value in front of it."""
    return rule.id == "layernorm" and op.op_type == "Cast" and op.attrs["to"] == 1


def _number(value: float) -> str:
    return f"{value:.7g}"


def _as_constant(draft: Draft, name: str, array: Array) -> Draft:
    found = draft.copy()
    found.constants[name] = array
    return found


def _as_input(draft: Draft, name: str, dtype: str, dims: Dims) -> Draft:
    found = draft.copy()
    found.constants.pop(name, None)
    found.inputs[name] = (dtype, dims)
    return found


def _constant(draft: Draft, name: str, fact: Where) -> Iterator[Twin]:
    array = draft.constants[name]
    readers = [op for op, _ in read_by(draft, name)]
    carrier = readers[0].name
    if fact.numbers is not None:
        other = np.asarray(array * 1.5 + 1).astype(array.dtype)
        says = (name, _number(float(other)), _number(fact.numbers[0]))
        changed = _as_constant(draft, name, other)
        yield Twin(f"value-of-{name}", changed, carrier, frozenset({"constant-value"}), says)
    if fact.const is not None:
        late = _as_input(draft, name, str(array.dtype), array.shape)
        yield Twin(f"run-time-{name}", late, carrier, frozenset({"not-constant"}), (name,))
    broadcast = all(op.op_type in BROADCAST for op in readers)
    if broadcast and array.shape == ():
        larger = np.broadcast_to(array, (3, 1, 1, 1)).copy()
        spread = _as_constant(draft, name, larger)
        yield Twin(f"expanding-{name}", spread, carrier, frozenset({"shape"}), (name,))
        deeper = _as_constant(draft, name, array.reshape(1, 1, 1, 1))
        yield Twin(f"deeper-{name}", deeper, carrier, frozenset({"shape"}), (name,))
    if fact.elements == 1:
        many = _as_constant(draft, name, np.broadcast_to(array, (8,)).copy())
        if readers[0].op_type != "Pow":
            yield Twin(f"elements-of-{name}", many, carrier, frozenset({"shape"}), (name,))
    if fact.rank:
        deeper = _as_constant(draft, name, array.reshape(1, *array.shape))
        yield Twin(f"rank-of-{name}", deeper, carrier, frozenset({"shape"}), (name,))


_CLIP = {"min": 1, "max": 2}


def _node_facts(pattern: Pattern, draft: Draft, name: str, fact: Where) -> Iterator[Twin]:
    if not (fact.attrs or fact.axes):
        return
    op = draft.maker(name)
    said = frozenset({"attribute"})
    for attribute in fact.attrs:
        found = draft.copy()
        changed = found.maker(name)
        if attribute in op.attrs:
            changed.attrs[attribute] = _other(op.attrs[attribute])
        else:
            bound = changed.inputs[_CLIP[attribute]]
            found.constants[bound] = found.constants[bound] - 1
        yield Twin(f"{attribute}-of-{name}", found, op.name, said, (op.name, attribute))
    if fact.axes and "axis" in op.attrs:
        found = draft.copy()
        found.maker(name).attrs["axis"] = 0
        yield Twin(f"axis-of-{name}", found, op.name, said, (op.name, "axis"))
    elif fact.axes:
        yield from _reduction(draft, name)


def _reduction(draft: Draft, name: str) -> Iterator[Twin]:
    op = draft.maker(name)
    for key, value in (("axes", (0,)), ("keepdims", 0)):
        found = draft.copy()
        found.maker(name).attrs[key] = value
        yield Twin(f"{key}-of-{name}", found, op.name, frozenset({"attribute"}), (op.name, key))
    late = draft.copy()
    reduction = late.maker(name)
    reduction.attrs.pop("axes")
    reduction.inputs.append(f"{name}_axes")
    late.inputs[f"{name}_axes"] = ("int64", (1,))
    late.opset = 18
    yield Twin(f"run-time-axes-of-{name}", late, op.name, frozenset({"not-constant"}), (op.name,))


def _other(value: Attr) -> Attr:
    assert isinstance(value, int | float)
    return value + 1


_UNARY = (
    "Erf", "Tanh", "Sigmoid", "Exp", "Log", "Softplus", "Sqrt", "Reciprocal", "HardSigmoid",
    "Softmax", "Clip", "Transpose", "Resize", "LayerNormalization", "Neg",
)  # fmt: skip
SUBSTITUTES: Mapping[str, tuple[str, dict[str, Attr], int]] = {
    **{op: ("Sin", {}, 1) for op in _UNARY},
    **{op: ("Min", {}, 2) for op in BROADCAST},
    "ReduceMean": ("ReduceL1", {}, 1),
    "ReduceSum": ("ReduceL1", {}, 1),
    "ReduceMax": ("ReduceL1", {}, 1),
    "DequantizeLinear": ("Cast", {"to": 1}, 1),
    "QuantizeLinear": ("Cast", {"to": 2}, 1),
    "MaxPool": ("AveragePool", {}, 1),
    "Conv": ("ConvTranspose", {}, 3),
}
"""Operators with the same arity, and the inputs that they take over."""
MATRIX = {2: "ij,jk->ik", 3: "bij,bjk->bik"}


def _substitute(op: Op, rank: int) -> Op | None:
    if op.op_type in ("MatMul", "Gemm"):
        return Op(op.name, "Einsum", op.inputs[:2], op.outputs, {"equation": MATRIX[rank]})
    if op.op_type not in SUBSTITUTES:
        return None  # nothing else makes such a result of such operands
    other, attrs, kept = SUBSTITUTES[op.op_type]
    same = op.attrs if other in ("ReduceL1", "AveragePool") else {}
    return Op(op.name, other, op.inputs[:kept], op.outputs, {**same, **attrs})


def _operator(pattern: Pattern, draft: Draft, node: PatternNode) -> Iterator[Twin]:
    op = draft.maker(node.outputs[0])
    ranks = [len(dims) for _, dims in draft.inputs.values()]
    other = _substitute(op, max(ranks))
    if other is None:
        return
    found = draft.copy()
    place = draft.nodes.index(op)
    found.nodes[place] = other
    told = _still_a_candidate(pattern, node)
    yield Twin(
        f"operator-of-{node.outputs[0]}",
        found,
        op.name,
        frozenset({"op-mismatch"}) if told else frozenset(),
        (),
        (op.name, other.op_type) if told else None,
    )


def _still_a_candidate(pattern: Pattern, without: PatternNode) -> bool:
    """Whether a miss of one node is near enough.

    Half of the pattern and three nodes must hang together around its rarest operator; with a
    dequantiser two nodes tell what is meant.
    """
    rest = [n for n in pattern.nodes if n is not without]
    count = Counter(n.role for n in rest)
    rarest = min(rest, key=lambda n: count[n.role])
    found, values = [rarest], {*rarest.inputs, *rarest.outputs}
    while True:
        near = [n for n in rest if n not in found and values & {*n.inputs, *n.outputs}]
        if not near:
            break
        found += near
        values.update(v for n in near for v in (*n.inputs, *n.outputs))
    least = 2 if any(n.role == "DequantizeLinear" for n in found) else 3
    return len(found) >= least and 2 * len(found) >= len(pattern.nodes)


def _private(draft: Draft, value: str) -> Iterator[Twin]:
    """Another node reads the value; the graph returns it; a body reads it."""
    read = draft.copy()
    read.nodes.append(Op("another", "Cast", [value], [f"{value}_read"], {"to": 5}))
    read.outputs.append(f"{value}_read")
    yield Twin(f"reader-of-{value}", read, value, frozenset({"multi-user"}), (value, "another"))
    returned = draft.copy()
    returned.outputs.append(value)
    yield Twin(f"returned-{value}", returned, value, frozenset({"graph-output"}), (value,))


def _identities(pattern: Pattern, draft: Draft) -> Iterator[Twin]:
    """A value that the pattern reads in several places is another one in one of them."""
    for name, (dtype, dims) in draft.inputs.items():
        places = list(read_by(draft, name))
        if len(places) < 2:
            continue
        for op, slot in places:
            found = draft.copy()
            found.inputs[f"{name}_other"] = (dtype, dims)
            found.nodes[draft.nodes.index(op)].inputs[slot] = f"{name}_other"
            yield Twin(f"other-{name}-in-{op.outputs[0]}-{slot}", found, op.name)
    made = chain.from_iterable(op.outputs for op in draft.nodes)
    for value in made:
        places = list(read_by(draft, value))
        if len(places) < 2 or draft.maker(value).op_type == "DequantizeLinear":
            continue
        for op, slot in places:
            found = draft.copy()
            source = next(v for v in draft.maker(value).inputs if v)
            found.nodes[draft.nodes.index(op)].inputs[slot] = source
            yield Twin(f"other-{value}-in-{op.outputs[0]}-{slot}", found, op.name)


def _required(rule: Rule, draft: Draft) -> Iterator[Twin]:
    """What the rule's own checks ask for."""
    for wanted in rule.require:
        if wanted.check in ("fits", "same-shape"):
            key = "operand" if wanted.check == "fits" else "b"
            operand = str(wanted.args[key])
            if operand in draft.inputs or operand in draft.constants:
                yield from _shape(draft, operand)
        elif wanted.check == "same-encoding":
            yield from _encoding(draft)
        elif wanted.check == "positive-scale":
            negative = draft.copy()
            for name in ("xs", "qs"):
                negative.constants[name] = -negative.constants[name]
            said = frozenset({"constant-value"})
            yield Twin("negative-scale", negative, "n_q", said, ("xs", "positive"))


def _shape(draft: Draft, operand: str) -> Iterator[Twin]:
    carrier = read_by(draft, operand)
    reader = next(iter(carrier))[0].name
    if operand in draft.constants:
        array = draft.constants[operand]
        larger = np.broadcast_to(array, (3, 1, 1, *array.shape)).copy()
        yield Twin(
            f"fits-{operand}", _as_constant(draft, operand, larger), reader,
            frozenset({"shape"}), (operand,),
        )  # fmt: skip
        return
    dtype, dims = draft.inputs[operand]
    found = _as_input(draft, operand, dtype, (3, 1, *dims))
    yield Twin(f"fits-{operand}", found, reader, frozenset({"shape"}), (operand,))
    # Beside a number above 1 a symbol is that number or 1; beside another symbol nobody knows.
    found = _as_input(draft, operand, dtype, (*dims[:-1], "K"))
    for name, (other, sizes) in draft.inputs.items():
        if name != operand and sizes[-1:] == dims[-1:]:
            found.inputs[name] = (other, (*sizes[:-1], "H"))
    yield Twin(f"size-{operand}", found, reader, frozenset({"shape"}), (operand,))


def _encoding(draft: Draft) -> Iterator[Twin]:
    for name, word in (("qs", "scale"), ("qz", "zero point")):
        found = draft.copy()
        found.constants[name] = np.asarray(found.constants[name] * 2 + 1).astype(
            found.constants[name].dtype
        )
        yield Twin(f"encoding-{name}", found, "n_q", frozenset({"requantize"}), (word,))
