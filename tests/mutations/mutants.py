"""Small changes of a model, each with a name; most break a pattern, some do not."""

from collections.abc import Iterable, Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.mutations.values import Array

Mutant = tuple[str, onnx.ModelProto]
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)


def copy(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of its own."""
    fresh = onnx.ModelProto()
    fresh.CopyFrom(model)
    return fresh


def valid(mutant: onnx.ModelProto) -> onnx.ModelProto | None:
    """The mutant with the types of what it returns now, or None where it is no model."""
    fresh = copy(mutant)
    for output in fresh.graph.output:
        output.ClearField("type")
    del fresh.graph.value_info[:]
    try:
        inferred = onnx.shape_inference.infer_shapes(fresh, strict_mode=True, data_prop=True)
        for output, found in zip(fresh.graph.output, inferred.graph.output, strict=True):
            output.CopyFrom(found)
        onnx.checker.check_model(fresh, full_check=True)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        return None
    return fresh


def mutants(model: onnx.ModelProto) -> Iterator[Mutant]:
    """Every mutant, in an order that is always the same."""
    yield from _dropped(model)
    yield from _swapped(model)
    yield from _read_twice(model)
    yield from _retyped(model)
    yield from _reused(model)
    yield from _returned(model)
    yield from _captured(model)
    yield from _constants(model)
    yield from _attributes(model)
    yield from _at_opsets(model)
    yield from _at_run_time(model)


def _read(node: onnx.NodeProto, old: str, new: str) -> None:
    for slot, value in enumerate(node.input):
        if value == old:
            node.input[slot] = new


def label(node: onnx.NodeProto) -> str:
    """What a node is called here: its first output."""
    return str(node.output[0])


def _dropped(model: onnx.ModelProto) -> Iterator[Mutant]:
    """A node is gone: its readers read what it read."""
    for place, node in enumerate(model.graph.node):
        for slot, source in enumerate(node.input[:2]):
            mutant = copy(model)
            gone = mutant.graph.node.pop(place)
            for reader in mutant.graph.node:
                _read(reader, gone.output[0], source)
            if any(o.name == gone.output[0] for o in mutant.graph.output):
                mutant.graph.node.add(op_type="Identity", input=[source], output=[gone.output[0]])
            yield f"drop-{label(node)}-{slot}", mutant


def _swapped(model: onnx.ModelProto) -> Iterator[Mutant]:
    """The first two operands change places."""
    for place, node in enumerate(model.graph.node):
        if len(node.input) > 1 and node.input[0] != node.input[1]:
            mutant = copy(model)
            changed = mutant.graph.node[place]
            changed.input[0], changed.input[1] = node.input[1], node.input[0]
            yield f"swap-{label(node)}", mutant


def _inner(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.ValueInfoProto]]:
    """Values that some node makes and that are not returned, with their types."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    types = {info.name: info for info in inferred.graph.value_info}
    returned = {o.name for o in model.graph.output}
    for node in model.graph.node:
        for value in node.output:
            if value and value not in returned and value in types:
                yield value, types[value]


def _result(mutant: onnx.ModelProto, like: onnx.ValueInfoProto, name: str, dtype: int = 0) -> None:
    info = mutant.graph.output.add()
    info.CopyFrom(like)
    info.name = name
    if dtype:
        info.type.tensor_type.elem_type = dtype


def _read_twice(model: onnx.ModelProto) -> Iterator[Mutant]:
    """One more node reads an inner value, and the graph returns what it makes."""
    for value, info in _inner(model):
        mutant = copy(model)
        mutant.graph.node.add(op_type="Cast", name="another", input=[value], output=["again"])
        mutant.graph.node[-1].attribute.append(helper.make_attribute("to", TensorProto.INT16))
        _result(mutant, info, "again", TensorProto.INT16)
        yield f"read-{value}", mutant


def _returned(model: onnx.ModelProto) -> Iterator[Mutant]:
    """The graph returns an inner value as well."""
    for value, info in _inner(model):
        mutant = copy(model)
        _result(mutant, info, value)
        yield f"return-{value}", mutant


def _captured(model: onnx.ModelProto) -> Iterator[Mutant]:
    """A branch of an If reads an inner value."""
    for value, info in _inner(model):
        mutant = copy(model)
        branches = {}
        for name in ("then_branch", "else_branch"):
            out = onnx.ValueInfoProto()
            out.CopyFrom(info)
            out.name = f"{name}_out"
            node = helper.make_node("Identity", [value], [out.name])
            branches[name] = helper.make_graph([node], name, [], [out])
        mutant.graph.input.append(helper.make_tensor_value_info("on", TensorProto.BOOL, []))
        mutant.graph.node.append(helper.make_node("If", ["on"], ["chosen"], "choose", **branches))
        _result(mutant, info, "chosen")
        yield f"capture-{value}", mutant


def _retyped(model: onnx.ModelProto) -> Iterator[Mutant]:
    """All floats of another type, or whole numbers."""
    for name, other in (("half", TensorProto.FLOAT16), ("int", TensorProto.INT32)):
        mutant = copy(model)
        for info in (*mutant.graph.input, *mutant.graph.output, *mutant.graph.value_info):
            if info.type.tensor_type.elem_type in FLOATS:
                info.type.tensor_type.elem_type = other
        for tensor in mutant.graph.initializer:
            if tensor.data_type in FLOATS:
                dtype = helper.tensor_dtype_to_np_dtype(other)
                array = numpy_helper.to_array(tensor).astype(dtype)
                tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        for node in mutant.graph.node:
            for attribute in node.attribute:
                if attribute.name == "to" and attribute.i in FLOATS:
                    attribute.i = other
        yield f"retype-{name}", mutant


def _reused(model: onnx.ModelProto) -> Iterator[Mutant]:
    """A node reads another value that is there already."""
    known = [i.name for i in model.graph.input] + [t.name for t in model.graph.initializer]
    for place, node in enumerate(model.graph.node):
        for slot, value in enumerate(node.input):
            for other in known:
                if value and other != value:
                    mutant = copy(model)
                    mutant.graph.node[place].input[slot] = other
                    yield f"reuse-{other}-in-{label(node)}-{slot}", mutant
        known += [o for o in node.output if o]


def _changed(array: Array) -> Iterable[tuple[str, Array]]:
    yield "more", (array + np.ones((), array.dtype)).astype(array.dtype)
    if array.dtype.kind == "f":
        yield "twice", array * np.asarray(2, array.dtype)
        yield "negative", -array
        yield "nearly", array * np.asarray(1.05, array.dtype)
    if array.dtype.kind == "i":
        yield "less", array - np.ones((), array.dtype)
    if array.ndim <= 1:
        yield "list", array.reshape(-1)
        yield "deeper", array.reshape((1,) * 4 if array.size == 1 else (1, -1))
        yield "spread", np.broadcast_to(array, (3, 1, *array.shape)).copy()


def _constants(model: onnx.ModelProto) -> Iterator[Mutant]:
    """A constant has other numbers, or another shape."""
    bounds = {v for n in model.graph.node if n.op_type == "Clip" for v in n.input[1:]}
    for place, tensor in enumerate(model.graph.initializer):
        for name, array in _changed(numpy_helper.to_array(tensor)):
            if tensor.name in bounds and array.ndim:
                continue  # ONNX wants a scalar there, and its checker does not look
            mutant = copy(model)
            changed = numpy_helper.from_array(np.asarray(array), tensor.name)
            mutant.graph.initializer[place].CopyFrom(changed)
            yield f"constant-{tensor.name}-{name}", mutant


def _attributes(model: onnx.ModelProto) -> Iterator[Mutant]:
    """An attribute has another value, is gone, or is there."""
    for place, node in enumerate(model.graph.node):
        for number, attribute in enumerate(node.attribute):
            mutant = copy(model)
            del mutant.graph.node[place].attribute[number]
            yield f"attribute-{attribute.name}-of-{label(node)}-gone", mutant
            for name, value in _values(attribute):
                mutant = copy(model)
                changed = helper.make_attribute(attribute.name, value)
                mutant.graph.node[place].attribute[number].CopyFrom(changed)
                yield f"attribute-{attribute.name}-of-{label(node)}-{name}", mutant
        for name, value in _ADDED.get(node.op_type, ()):
            if all(a.name != name for a in node.attribute):
                mutant = copy(model)
                mutant.graph.node[place].attribute.append(helper.make_attribute(name, value))
                yield f"attribute-{name}-of-{label(node)}-{value}", mutant


_ADDED: dict[str, tuple[tuple[str, object], ...]] = {
    "ReduceMean": (("keepdims", 0), ("noop_with_empty_axes", 1)),
    "ReduceSum": (("keepdims", 0), ("noop_with_empty_axes", 1)),
    "ReduceMax": (("keepdims", 0),),
    "Softmax": (("axis", 0), ("axis", 1)),
    "Conv": (("pads", [1, 1, 1, 1]), ("strides", [2, 2])),
    "Gemm": (("alpha", 2.0), ("transA", 1), ("transB", 1)),
    "MaxPool": (("pads", [1, 1, 1, 1]), ("ceil_mode", 1)),
    "AveragePool": (("pads", [1, 1, 1, 1]), ("ceil_mode", 1)),
    "DequantizeLinear": (("axis", 0),),
    "QuantizeLinear": (("axis", 0),),
    "Pad": (("mode", "edge"), ("mode", "reflect")),
    "HardSigmoid": (("alpha", 0.3),),
}


def _values(attribute: onnx.AttributeProto) -> Iterable[tuple[str, object]]:
    if attribute.type == onnx.AttributeProto.INT:
        yield "more", attribute.i + 1
        if attribute.name != "num_outputs":  # fewer than there are ends in onnx's own C++
            yield "less", attribute.i - 1
    if attribute.type == onnx.AttributeProto.FLOAT:
        yield "twice", attribute.f * 2
    if attribute.type == onnx.AttributeProto.INTS:
        yield "reversed", list(reversed(attribute.ints))
        yield "zero", [0] * len(attribute.ints)
        yield "longer", [*attribute.ints, -2]


def _at_opsets(model: onnx.ModelProto) -> Iterator[Mutant]:
    """The same text in another version of the operators."""
    for opset in (6, 11, 12, 13, 18, 21):
        mutant = copy(model)
        for entry in mutant.opset_import:
            if entry.domain == "":
                entry.version = opset
        yield f"opset-{opset}", mutant


def _at_run_time(model: onnx.ModelProto) -> Iterator[Mutant]:
    """A constant arrives at run time."""
    for place, tensor in enumerate(model.graph.initializer):
        mutant = copy(model)
        gone = mutant.graph.initializer.pop(place)
        info = helper.make_tensor_value_info(gone.name, gone.data_type, list(gone.dims))
        mutant.graph.input.append(info)
        yield f"run-time-{tensor.name}", mutant
