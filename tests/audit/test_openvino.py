"""The audit of small models against OpenVINO: what its kernels stand for, and its witness."""

from pathlib import Path

import pytest
from onnx import parser

import fusectl
from fusectl.audit.adapters import adapter
from fusectl.audit.witness import apart
from fusectl.audit.work import Task
from tests.audit import models

pytest.importorskip("openvino")


def test_a_fused_and_a_kept_edge() -> None:
    text = models.HEAD + (
        "g (float[1,3,8,8] x, float[1,4,6,6] r) => (float[1,4,6,6] y)"
        "<float[4,3,3,3] w = {" + ",".join(str(i % 7) for i in range(108)) + "}>"
        "{ u = Conv(x, w)  a = Relu(u)  e = Selu(a)  y = Mul(e, r) }"
    )
    found = fusectl.audit_model(parser.parse_model(text), "openvino")
    fates = {e.edge.value: e.fate for e in found.edges}
    assert fates["u"] == "fused"
    assert found.edges[0].kernel == "Convolution"
    assert found.target.id == "openvino-cpu"
    assert found.against.version
    assert "a" in fates


def test_both_runners_compute_the_same(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(parser.parse_model(models.PAIR).SerializeToString())
    found = apart(adapter("openvino"), Task("witness", "", str(path), str(tmp_path)))
    assert found.tried == 8
    assert not found.differs


def test_a_model_that_it_refuses() -> None:
    with pytest.raises(fusectl.FusectlError, match="OpenVINO does not take this model"):
        fusectl.audit_model(parser.parse_model(models.STRANGE), "openvino")
