"""Small models in ONNX text, and two answers about them laid side by side."""

from pathlib import Path

from onnx import parser

from fusectl import api
from fusectl.compare import Account, account, compare, wiring
from fusectl.pipeline import survey
from fusectl.report.comparison import Comparison
from fusectl.tables.digest import tables_digest

HEAD = '<ir_version: 8, opset_import: ["" : {opset}]>\n'
CATALOG = api.load_rules()


def model(text: str, opset: int = 17) -> str:
    return HEAD.format(opset=opset) + text


def answers(text: str, target: str = "lut-npu", opset: int = 17) -> Account:
    """What is decided about a model, with its nodes at hand."""
    found = survey(parser.parse_model(model(text, opset)), target, rules=CATALOG)
    digest = tables_digest(CATALOG, CATALOG.target(target))
    return account(found.report, digest, wiring(found.model()))


def compared(
    one: str, two: str, target: str = "lut-npu", opsets: tuple[int, int] = (17, 17)
) -> Comparison:
    return compare(answers(one, target, opsets[0]), answers(two, target, opsets[1]))


def write(path: Path, text: str, opset: int = 17) -> Path:
    path.write_text(model(text, opset), encoding="utf-8")
    return path


PAIR = """g (float[2,8] x, float[8,8] w) => (float[2,8] y) {
  [mm]  u = MatMul(x, w)
  [act] y = Sigmoid(u)
}
"""
RETURNED = PAIR.replace("(float[2,8] y)", "(float[2,8] y, float[2,8] u)")
SHARED = PAIR.replace("(float[2,8] y)", "(float[2,8] y, float[2,8] z)").replace(
    "y = Sigmoid(u)", "y = Sigmoid(u)\n  [neg] z = Neg(u)"
)
LIMITED = PAIR.replace("y = Sigmoid(u)", "y = Sigmoid(v)").replace(
    "u = MatMul(x, w)\n", "u = MatMul(x, w)\n  [lim] v = Relu(u)\n"
)
ANOTHER = PAIR.replace("Sigmoid", "Cos")
OTHER = "g (float[2,8] x) => (float[2,8] y) { y = Neg(x) }"
CUT = PAIR.replace("Sigmoid(u)", "Sigmoid(x)").replace("=> (", "=> (float[2,8] u, ")
RENAMED = PAIR.replace("mm", "first").replace("act", "second").replace("u =", "mid =").replace(
    "(u)", "(mid)").replace("y", "out")  # fmt: skip


def layers(count: int, first: str = "", prefix: str = "") -> str:
    """A chain of MatMul and Sigmoid; `first` is put in front of it, made of the value x."""
    lines = [f"  {first}"] if first else []
    value = "x0" if first else "x"
    for number in range(count):
        mid, out = f"{prefix}u{number}", f"{prefix}y{number}"
        lines += [f"  {mid} = MatMul({value}, w)", f"  {out} = Sigmoid({mid})"]
        value = out
    body = "\n".join(lines)
    return f"g (float[8,8] x, float[8,8] w) => (float[8,8] {value}) {{\n{body}\n}}\n"
