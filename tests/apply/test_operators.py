"""Every operator that a fusion becomes on the default target, run against the original."""

from pathlib import Path

import onnx
import pytest

import fusectl
from tests.apply.build import model, ops, same_results, save
from tests.apply.operators import CASES

pytest.importorskip("onnxruntime", minversion="1.20")
CATALOG = fusectl.load_rules()


@pytest.mark.parametrize("name", CASES)
def test_becomes_one_operator(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    before = save(model(case.text, case.weights.split(), case.opset), tmp_path)
    after = tmp_path / "fused.onnx"
    plan = fusectl.apply_fusions(before, case.target, output=after, rules=CATALOG)
    assert ops(after) == case.ops.split(), [e.why for e in plan.edits]
    assert all(e.native for e in plan.edits)
    onnx.checker.check_model(onnx.load(after), full_check=True)
    same_results(before, after, rel=1e-2 if "QLinear" in case.ops else 1e-5)
    again = tmp_path / "again.onnx"
    assert fusectl.apply_fusions(after, case.target, output=again, rules=CATALOG).rounds == 0
    assert again.read_bytes() == after.read_bytes()
