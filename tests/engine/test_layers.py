"""A graph of equal layers is decided in few of them, and told as if all had been."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from fusectl import api
from fusectl.decide import decide
from fusectl.errors import ModelError
from fusectl.graph import load_model, repeat
from fusectl.graph.view import ModelView
from fusectl.report.build import build
from fusectl.report.layers import UnequalError
from fusectl.report.types import Report
from tests.bench.models import build as build_encoder
from tests.engine.build import catalog

LAYERS = 30
TARGETS = ("ideal", "onnxruntime-cpu")


class Stack:
    """A model of equal layers; a test bends one of them."""

    def __init__(self, layers: int = LAYERS) -> None:
        self.layers = layers
        self.nodes: list[onnx.NodeProto] = []
        self.stored: list[TensorProto] = []
        self.outputs = ["y"]

    def add(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], f"n.{output}", **attributes))
        return output

    def constant(self, name: str, value: object) -> str:
        self.stored.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def layer(self, i: int, x: str) -> str:
        """MatMul, bias, GELU with constants of its own, a residual sum, and a mask for all."""
        weight = self.constant(f"w{i}", np.full((32, 32), i))
        m = self.add("MatMul", [x, weight], f"m{i}")
        b = self.add("Add", [m, self.constant(f"b{i}", np.arange(32) * i)], f"b{i}.out")
        d = self.add("Div", [b, self.constant(f"root{i}", 2**0.5)], f"d{i}")
        e = self.add("Erf", [d], f"e{i}")
        one = self.add("Add", [e, self.constant(f"one{i}", 1)], f"o{i}")
        half = self.add("Mul", [b, one], f"h{i}")
        g = self.add("Mul", [half, self.constant(f"half{i}", 0.5)], f"g{i}")
        k = self.add("Add", [g, "mask"], f"k{i}")
        r = self.add("Relu", [k], f"r{i}")
        return self.add("Add", [r, x], f"x{i}")

    def model(self) -> onnx.ModelProto:
        x = self.add("Tanh", ["x"], "start")
        for i in range(self.layers):
            x = self.layer(i, x)
        self.add("Sigmoid", [x], "y")
        infos = [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 32]) for n in ("x", "mask")
        ]
        made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 32]) for n in self.outputs]
        graph = helper.make_graph(self.nodes, "g", infos, made, self.stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs are worth it here."""
    monkeypatch.setattr(repeat, "_WORTH", 50)


def _load(model: onnx.ModelProto | Path) -> ModelView:
    operators = catalog().operators
    return load_model(model, operators.alike(), operators.like_first(), short=True)


def _report(view: ModelView, target: str) -> Report:
    chosen = catalog().target(target)
    return build(view, chosen, catalog().operators, decide(view, chosen, catalog()))


def _told(model: onnx.ModelProto | Path, target: str = "ideal") -> Report | None:
    """The report of the shortened graph, compared with that of the whole one; None: refused."""
    view = _load(model)
    assert view.repeat is not None
    try:
        report = _report(view, target)
    except UnequalError:
        return None
    assert report.json(2) == _report(view.whole(), target).json(2)
    return report


@pytest.mark.parametrize("target", TARGETS)
def test_equal_layers_are_told_as_if_all_were_decided(target: str) -> None:
    report = _told(Stack().model(), target)
    assert report is not None
    assert report.model.nodes == 10 * LAYERS + 2
    # Every layer is told, in its own names.
    assert {f"m{i}" for i in range(LAYERS)} <= {d.edge.value for d in report.decisions}


def test_the_whole_graph_is_loaded_where_there_are_few_layers() -> None:
    assert _load(Stack(8).model()).repeat is None


class OtherConstant(Stack):
    """One layer's GELU has another constant."""

    def constant(self, name: str, value: object) -> str:
        return super().constant(name, 1.5 if name == "root20" else value)


class OtherEdge(Stack):
    """One layer's product has a second reader."""

    def layer(self, i: int, x: str) -> str:
        out = super().layer(i, x)
        return self.add("Max", [out, "m20"], "extra") if i == 20 else out


class Returned(Stack):
    """Each layer returns its product, as exports with key and value caches do."""

    def layer(self, i: int, x: str) -> str:
        self.outputs.append(f"m{i}")
        return super().layer(i, x)


class ReturnedOnce(Stack):
    """One layer in the middle returns its product."""

    def layer(self, i: int, x: str) -> str:
        self.outputs += [f"m{i}"] if i == 20 else []
        return super().layer(i, x)


class Pairs(Stack):
    """A chain of sums and functions that fuse in pairs: layers are decided by turns."""

    def layer(self, i: int, x: str) -> str:
        m = self.add("Mul", [x, self.constant(f"c{i}", np.arange(32) + 2)], f"m{i}")
        return self.add("Relu", [m], f"x{i}")


class Shared(Stack):
    """All layers read one constant that a fusion would have to rewrite."""

    def layer(self, i: int, x: str) -> str:
        if not i:
            self.constant("scale", np.arange(32) + 1)
            self.constant("w", np.ones((32, 32)))
        m = self.add("MatMul", [x, "w"], f"m{i}")
        s = self.add("Mul", [m, "scale"], f"s{i}")
        t = self.add("Transpose", [s], f"t{i}", perm=[0, 1])
        return self.add("Sigmoid", [t], f"x{i}")


class Hub(Stack):
    """One node feeds all layers."""

    def layer(self, i: int, x: str) -> str:
        out = super().layer(i, x)
        return self.add("Mul", [out, "start"], f"hub{i}")


class Everything(Stack):
    """All layers feed one node."""

    def layer(self, i: int, x: str) -> str:
        out = super().layer(i, x)
        if i == self.layers - 1:
            self.add("Sum", [f"m{j}" for j in range(self.layers)], "sum")
            return self.add("Add", ["sum", out], "last")
        return out


class Unnamed(Stack):
    """Nodes have no names, or all the same one."""

    def layer(self, i: int, x: str) -> str:
        out = super().layer(i, x)
        for node in self.nodes:
            node.name = "same" if node.op_type == "Erf" else ""
        return out


KINDS = (OtherConstant, OtherEdge, Returned, ReturnedOnce, Pairs, Shared, Hub, Everything, Unnamed)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: str(k.__name__))
@pytest.mark.parametrize("target", TARGETS)
def test_the_answer_is_that_of_the_whole_graph(kind: type[Stack], target: str) -> None:
    """Shortened where the layers are equal, whole where they are not, and never another answer."""
    model = kind(LAYERS).model()
    view = _load(model)
    if view.repeat is not None:
        _told(model, target)
    report = api.explain(model, target, rules=catalog())
    assert report.json() == _report(view.whole(), target).json()
    assert "\ue000" not in report.json().decode()


@pytest.mark.parametrize("kind", [Stack, Returned, Unnamed], ids=lambda k: str(k.__name__))
def test_what_is_equal_is_shortened(kind: type[Stack]) -> None:
    assert _told(kind(LAYERS).model()) is not None


@pytest.mark.parametrize("kind", [Hub, Everything], ids=lambda k: str(k.__name__))
def test_what_bears_on_far_layers_is_decided_whole(kind: type[Stack]) -> None:
    view = _load(kind(LAYERS).model())
    if view.repeat is not None:
        with pytest.raises(UnequalError):
            _report(view, "ideal")


def test_what_is_wrong_with_a_model_is_told_in_its_own_names() -> None:
    model = Stack().model()
    model.graph.node[45].input[0] = "nowhere"
    with pytest.raises(ModelError, match="nowhere") as told:
        api.explain(model, "ideal", rules=catalog())
    assert "\ue000" not in str(told.value)


@pytest.mark.parametrize("target", TARGETS)
def test_layers_of_an_encoder_are_decided_once(target: str) -> None:
    """Attention, norms and a mask for all layers: the model on which speed is measured."""
    report = _told(build_encoder(58 * 12)[0], target)
    assert report is not None
