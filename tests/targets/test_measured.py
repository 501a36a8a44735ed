"""What a target says about small networks, held against what its compiler did with them."""

from collections.abc import Iterator
from functools import cache

import onnx
import pytest

from fusectl import api
from fusectl.report.types import Report
from fusectl.tables import Catalog
from tests.targets.measured import Edge, load
from tests.targets.networks import Network, networks
from tests.targets.qdq import model

TARGET = "ethos-u55"
NETWORKS = {network.name: network for network in networks()}
RECORDS = {record.network: record for record in load(TARGET).records}
DISAGREE = {
    ("add_reshape_sigmoid", "u"): "behind an elementwise operator only its direct readers are "
    "candidates, so a function behind a Reshape is none; the compiler fuses it",
}
"""Edges that the target gets wrong: network and tensor, and why."""
BLOCKERS = {
    "concat_relu_attribute": "op-mismatch",
    "conv_clip_0_3": "unsupported-activation",
    "conv_relu6_rescaled": "requantize",
    "conv_relu_rescaled": "requantize",
    "conv_relu_shifted": "requantize",
    "conv_reshape_sigmoid": "layout",
    "conv_sigmoid_int16": "unsupported-dtype",
    "conv_softmax": "unsupported-activation",
    "grouped_relu_attribute": "unsupported-grouping",
    "grouped_sigmoid": "unsupported-grouping",
    "matmul_sigmoid": "not-constant",
    "relu_then_sigmoid": "already-fused",
    "returned": "multi-user",
    "stride4_sigmoid": "unsupported-grouping",
    "two_readers": "multi-user",
}
"""Networks whose function is kept, and the reason that a person would give."""


@cache
def catalog() -> Catalog:
    """The rules and targets that ship, read once."""
    return api.load_rules()


@cache
def report(name: str) -> Report:
    """The decisions about a network as quantisers export it."""
    return api.explain(model(NETWORKS[name]), TARGET, rules=catalog())


def gone(name: str) -> set[str]:
    """The values that exist no longer after what was accepted."""
    return {v for d in report(name).decisions if d.verdict == "fuse" for v in d.swallows}


def value_of(network: Network, edge: Edge) -> str:
    """The value that carries a tensor: numbers in front of an attribute, codes elsewhere."""
    held = {layer.inputs[0] for layer in network.layers if layer.float_input}
    return edge.value if edge.value in held else f"{edge.value}_q"


def edges() -> Iterator[object]:
    """Each recorded edge; one that the target gets wrong has to fail until it is right."""
    for name, record in RECORDS.items():
        for edge in record.edges:
            reason = DISAGREE.get((name, edge.value))
            marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
            yield pytest.param(name, edge, id=f"{name}-{edge.value}-{edge.reader}", marks=marks)


@pytest.mark.parametrize(("name", "edge"), list(edges()))
def test_agrees_with_the_compiler(name: str, edge: Edge) -> None:
    fused = value_of(NETWORKS[name], edge) in gone(name)
    assert fused == edge.fused, f"the compiler's operations: {RECORDS[name].evidence}"


@pytest.mark.parametrize(("name", "reason"), BLOCKERS.items())
def test_says_why(name: str, reason: str) -> None:
    assert not all(edge.fused for edge in RECORDS[name].edges)
    kept = [decision for decision in report(name).decisions if decision.verdict == "keep"]
    assert reason in {f.reason for d in kept for f in d.findings if f.status != "pass"}


def test_every_network_is_recorded() -> None:
    assert list(RECORDS) == list(NETWORKS)
    for name, network in NETWORKS.items():
        made = [(value, w.kind, r.kind) for value, w, r in network.edges]
        assert made == [(e.value, e.writer, e.reader) for e in RECORDS[name].edges], name


def test_disagreements_name_edges() -> None:
    known = {(name, edge.value) for name, record in RECORDS.items() for edge in record.edges}
    assert set(DISAGREE) <= known


def test_networks_of_numbers_are_not_for_this_machine() -> None:
    """The machine has quantised operators only: nothing of a float network fuses."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,5,5] x, float[3,2,3,3] w) => (float[1,3,3,3] y) { u = Conv(x, w)  y = Relu(u) }"""
    found = api.explain(onnx.parser.parse_model(text), TARGET, rules=catalog())
    assert [d.verdict for d in found.decisions] == ["keep"]
