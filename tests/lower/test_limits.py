"""Sizes that no program is made for: said at once, and not after minutes."""

import pytest
from onnx import parser

from fusectl import api
from fusectl.errors import UsageError

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def test_too_many_tiles_of_a_product_are_refused() -> None:
    text = "g (float[1099511627776,4] x, float[4,4] w) => (float[1099511627776,4] y)"
    model = parser.parse_model(HEAD + text + " { [mm] u = MatMul(x, w) [act] y = Sigmoid(u) }")
    with pytest.raises(UsageError, match=r"mm.* tiles, more than"):
        api.lower(model, "lut-npu")


def test_too_many_tiles_of_elementwise_work_are_refused() -> None:
    model = parser.parse_model(HEAD + "g (float[1099511627776] x) => (float[1099511627776] y)"
                               " { [act] y = Sigmoid(x) }")  # fmt: skip
    with pytest.raises(UsageError, match=r"act.* tiles, more than"):
        api.lower(model, "lut-npu")


def test_a_huge_batch_is_explained() -> None:
    shape = "float[1048576,1048576,2,2]"
    text = (
        f"g ({shape} x, {shape} w) => ({shape} y) {{ [mm] u = MatMul(x, w) [act] y = Sigmoid(u) }}"
    )
    report = api.explain(parser.parse_model(HEAD + text), "lut-npu")
    assert report.decisions[0].headline == "unsupported-grouping"
