"""Operators that count as a product and compute more than one."""

from pathlib import Path

import pytest

from tests.lower.build import decided, lowered, machine


@pytest.mark.parametrize(
    ("node", "plain"),
    [
        ("com.microsoft.FusedMatMul(x, w)", True),
        ("com.microsoft.FusedMatMul<alpha = 0.5>(x, w)", False),
        ("com.microsoft.FusedGemm(x, w, b)", True),
        ('com.microsoft.FusedGemm<activation = "Relu">(x, w, b)', False),
    ],
)
def test_an_operator_that_does_more_is_no_product_of_the_machine(
    node: str, plain: bool, tmp_path: Path
) -> None:
    """The matrix unit would leave out the factor or the function."""
    text = (
        '<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]>'
        "g (float16[4,8] x, float16[8,6] w, float16[6] b) => (float16[4,6] y) "
        f"{{ [mm] u = {node}  [act] y = Sigmoid(u) }}"
    )
    path = tmp_path / "m.onnxtxt"
    path.write_text(text, encoding="utf-8")
    run = decided(path, machine())
    assert [r.accepted for r in run.rulings] == [plain]
    kinds = [d.kind for d in lowered(run, machine()).descriptors]
    assert kinds == (["product"] if plain else ["host", "function"])
