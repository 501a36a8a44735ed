"""From a file to scopes, constants and opsets."""

import io
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from fusectl.errors import ModelError
from tests.engine.build import HEADER, catalog, explain, load, model, notes, verdicts
from tests.run_cli import run_in_process, run_process

PAIR = """g (float[2,8] x, float[8,4] w) => (float[2,4] y) {
  [mm] u = MatMul(x, w)  [act] y = Sigmoid(u) }"""
GATE = "k = Mul(x, f)  s = Sigmoid(k)  [y] y = Mul(x, s)"


def test_without_an_opset_the_newest_is_assumed() -> None:
    found = model(PAIR)
    del found.opset_import[:]
    report = explain(found)
    assert verdicts(report) == {"u -> act": "fuse"}
    assert "no opset of ai.onnx is imported" in notes(report)


def test_of_two_opsets_the_higher_is_taken() -> None:
    found = model(PAIR)
    found.opset_import.add(domain="ai.onnx", version=13)
    report = explain(found)
    assert report.model.opset == {"": 17}
    assert "imported as 17 and as 13" in notes(report)


def test_the_same_opset_twice_is_no_news() -> None:
    found = model(PAIR)
    found.opset_import.add(domain="", version=17)
    assert not explain(found).notes


def test_opset_of_the_future() -> None:
    found = model(PAIR)
    found.opset_import[0].version = 999
    report = explain(found)
    assert verdicts(report) == {"u -> act": "fuse"}
    assert "opset 999 is newer" in notes(report)


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ("Frobnicate", "Frobnicate is no operator of ONNX at opset 17"),
        ("Gelu", "Gelu is no operator of ONNX at opset 17; it came with opset 20"),
    ],
)
def test_operator_that_onnx_does_not_have(op: str, said: str) -> None:
    found = model(PAIR.replace("Sigmoid", op))
    assert [n.text for n in explain(found).notes if n.subject == op] == [said]


def test_both_names_of_the_own_domain() -> None:
    found = model(PAIR)
    found.graph.node[0].domain = "ai.onnx"
    assert verdicts(explain(found)) == {"u -> act": "fuse"}


@pytest.mark.parametrize(("version", "verdict"), [(3, "fuse"), (4, "not-constant")])
def test_initializer_that_is_an_input(version: int, verdict: str) -> None:
    """Up to IR version 3 it had to be one; since then the caller may override it."""
    found = model(
        f'<ir_version: {version}, opset_import: ["" : 17]>\n'
        f"g (float[2,8] x, float f) => (float[2,8] y) <float f = {{1.702}}> {{ {GATE} }}"
    )
    assert verdicts(explain(found))["s -> y"] == verdict


def test_nodes_in_any_order() -> None:
    found = model(PAIR)
    found.graph.node.reverse()
    report = explain(found)
    assert verdicts(report) == {"u -> act": "fuse"}
    assert "not in topological order" in notes(report)


def test_nodes_of_a_body_in_any_order() -> None:
    report = explain("""g (float[2,8] x, float[8,4] w, bool c) => (float[2,4] z) {
      [if] z = If (c) <
        then_branch = yes () => (float[2,4] y) { [act] y = Sigmoid(u)  [mm] u = MatMul(x, w) },
        else_branch = no () => (float[2,4] k) { k = MatMul(x, w) }
      > }""")
    assert verdicts(report) == {"u -> act": "fuse"}
    assert "not in topological order" in notes(report)


def test_order_that_only_a_body_asks_for() -> None:
    """The If reads u inside a branch, and stands before the node that makes it."""
    report = explain("""g (float[2,8] x, float[8,4] w, bool c) => (float[2,4] y, float[2,4] z) {
      [if] z = If (c) <
        then_branch = yes () => (float[2,4] a) { a = Neg(u) },
        else_branch = no () => (float[2,4] b) { b = Neg(y) }
      >
      [mm] u = MatMul(x, w)  [act] y = Sigmoid(u) }""")
    assert verdicts(report) == {"u -> act": "subgraph-capture"}


def test_cycle_through_a_body() -> None:
    with pytest.raises(ModelError, match="form a cycle"):
        explain("""g (float[2] x, bool c) => (float[2] y) {
          [if] y = If (c) <
            then_branch = yes () => (float[2] a) { a = Neg(u) },
            else_branch = no () => (float[2] b) { b = Neg(x) }
          >
          [neg] u = Neg(y) }""")


def test_one_name_for_two_nodes() -> None:
    """Names are for people; values tell nodes apart."""
    report = explain("""g (float[2,8] x, float[8,4] w) => (float[2,4] y, float[2,4] z) {
      [a] u = MatMul(x, w)  [b] y = Sigmoid(u)  [a] v = MatMul(x, w)  [b] z = Neg(v) }""")
    assert [d.edge.consumer.output for d in report.decisions if d.edge.value == "u"] == ["y"]


def test_value_that_is_made_twice() -> None:
    with pytest.raises(ModelError, match="produced twice, by one and two"):
        explain("g (float[2] x) => (float[2] y) { [one] y = Neg(x)  [two] y = Sin(x) }")


@pytest.mark.parametrize(
    "stored",
    ["(float[2] x, float[2] u) => (float[2] y)", "(float[2] x) => (float[2] y) <float u = {1}>"],
)
def test_value_that_is_made_and_given(stored: str) -> None:
    with pytest.raises(ModelError, match="twice"):
        explain(f"g {stored} {{ [mm] u = Neg(x)  [act] y = Sigmoid(u) }}")


def _outside(location: str) -> onnx.ModelProto:
    """A GELU whose root of 2 lies in another file."""
    found = model("""g (float[2,8] x) => (float[2,8] y) <float one = {1.0}, float half = {0.5}> {
      d = Div(x, r)  e = Erf(d)  a = Add(e, one)  m = Mul(x, a)  y = Mul(m, half) }""")
    tensor = found.graph.initializer.add(name="r", data_type=TensorProto.FLOAT)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return found


ROOT = np.float32(1.4142135).tobytes()


def _saved(folder: Path, location: str) -> Path:
    path = folder / "inner" / "m.onnx"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(_outside(location).SerializeToString())
    return path


def test_external_data_beside_the_model(tmp_path: Path) -> None:
    path = _saved(tmp_path, "r.bin")
    (path.parent / "r.bin").write_bytes(ROOT)
    assert verdicts(explain(path))["e -> a"] == "fuse"


def test_external_data_that_is_missing(tmp_path: Path) -> None:
    assert "constant-value?" in verdicts(explain(_saved(tmp_path, "r.bin")))["e -> a"]


def test_external_data_with_offset_and_length(tmp_path: Path) -> None:
    found = _outside("r.bin")
    found.graph.initializer[-1].external_data.add(key="offset", value="8")
    found.graph.initializer[-1].external_data.add(key="length", value="4")
    (tmp_path / "m.onnx").write_bytes(found.SerializeToString())
    (tmp_path / "r.bin").write_bytes(b"\0" * 8 + ROOT + b"\xff" * 8)
    assert verdicts(explain(tmp_path / "m.onnx"))["e -> a"] == "fuse"


@pytest.mark.parametrize("way", ["../r.bin", "absolute", "link", "linked/r.bin"])
def test_external_data_outside_is_never_opened(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a path that leads out, and not through a symbolic link."""
    secret = tmp_path / "r.bin"
    secret.write_bytes(ROOT)
    path = _saved(tmp_path, str(secret) if way == "absolute" else way)
    catalog()  # so that tables are not read below
    if way == "link":
        (path.parent / "link").symlink_to(secret)
    if way == "linked/r.bin":
        (path.parent / "linked").symlink_to(tmp_path, target_is_directory=True)
    opened: list[str] = []
    real = io.open

    def watched(file: object, *rest: object, **more: object) -> object:
        opened.append(str(file))
        return real(file, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(io, "open", watched)
    monkeypatch.setattr("builtins.open", watched)
    report = explain(path)
    assert "constant-value?" in verdicts(report)["e -> a"]
    blockers = [f.observed for d in report.decisions for f in d.blockers]
    assert any("outside the folder" in observed for observed in blockers)
    assert opened, "the model itself is read"
    assert not [name for name in opened if name.endswith(("r.bin", "link"))]


def test_external_data_without_a_folder() -> None:
    report = explain(_outside("r.bin"))
    assert "constant-value?" in verdicts(report)["e -> a"]


def test_padding_value_that_cannot_be_read() -> None:
    found = model("""g (float[1,1,3,3] x, float[1,1,3,3] w) => (float[1,1,3,3] y)
      <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> { p = Pad(x, pads, r)  [conv] y = Conv(p, w) }""")
    found.graph.initializer.append(_outside("r.bin").graph.initializer[-1])
    assert verdicts(explain(found))["p -> conv"] == "constant-value?"


def test_external_data_that_nothing_asks_for(tmp_path: Path) -> None:
    """Weights are not even looked for."""
    found = model(PAIR)
    weight = found.graph.input.pop()
    tensor = found.graph.initializer.add(name=weight.name, data_type=TensorProto.FLOAT, dims=[8, 4])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="missing.bin")
    path = tmp_path / "m.onnx"
    path.write_bytes(found.SerializeToString())
    assert verdicts(explain(path)) == {"u -> act": "fuse"}


def test_big_constant_is_read_again_where_a_check_needs_it() -> None:
    """Loading drops what is larger than a page; the caller's own model stays whole."""
    found = model("""g (float[2,4096] x) => (float[2,4096] y)
      <float r = {1.4142135}, float half = {0.5}> {
      d = Div(x, r)  e = Erf(d)  a = Add(e, one)  m = Mul(x, a)  y = Mul(m, half) }""")
    ones = numpy_helper.from_array(np.ones(4096, np.float32), "one")
    found.graph.initializer.append(ones)
    assert verdicts(explain(found))["e -> a"] == "fuse"
    assert found.graph.initializer[-1].raw_data == ones.raw_data
    found.graph.initializer[-1].CopyFrom(
        numpy_helper.from_array(np.full(4096, 2, np.float32), "one")
    )
    assert verdicts(explain(found))["e -> a"] == "constant-value"


def _sparse() -> onnx.SparseTensorProto:
    values = helper.make_tensor("f", TensorProto.FLOAT, [1], [1.702])
    return helper.make_sparse_tensor(
        values, helper.make_tensor("i", TensorProto.INT64, [1], [0]), [1]
    )


def test_sparse_initializer_is_a_constant() -> None:
    found = model(f"g (float[2,8] x) => (float[2,8] y) {{ {GATE} }}")
    found.graph.sparse_initializer.append(_sparse())
    onnx.checker.check_model(found)
    assert verdicts(explain(found))["s -> y"] == "fuse"


def test_sparse_constant_node_is_a_constant() -> None:
    found = model(f"g (float[2,8] x) => (float[2,8] y) {{ {GATE} }}")
    found.graph.node.insert(0, helper.make_node("Constant", [], ["f"], sparse_value=_sparse()))
    assert verdicts(explain(found))["s -> y"] == "fuse"


@pytest.mark.parametrize(
    "node",
    [
        "f = Constant<value = float {1.702}>()",
        "f = Constant<value_float = 1.702>()",
        "f = Constant<value_floats = [1.702]>()",
        "o = Constant<value_float = 1.702>()  f = Identity(o)",
        "o = Constant<value_float = 0.851>()  f = Add(o, o)",
    ],
)
def test_constant_nodes(node: str) -> None:
    report = explain(f"g (float[2,8] x) => (float[2,8] y) {{ {node}  {GATE} }}")
    assert verdicts(report)["s -> y"] == "fuse"


@pytest.mark.parametrize("form", ["text", "binary", "proto"])
def test_standard_input(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = model(PAIR)
    data = {"text": PAIR, "binary": "", "proto": str(found)}[form].encode()
    stream = io.TextIOWrapper(io.BytesIO(data or found.SerializeToString()))
    monkeypatch.setattr(sys, "stdin", stream)
    outcome = run_in_process("explain", "-", "--target", "ideal", "--format", "concise")
    assert outcome.code == 0, outcome.err
    assert outcome.out == "<stdin>: u -> act: fuse matmul-activation\n"


def test_standard_input_that_is_empty() -> None:
    outcome = run_process("explain", "-", "--target", "ideal")
    assert outcome.code == 2
    assert "empty" in outcome.err


def test_formats_agree(tmp_path: Path) -> None:
    found = model(PAIR)
    files = {"m.onnx": found.SerializeToString(), "m.onnxtxt": (HEADER + PAIR).encode()}
    files["m.textproto"] = str(found).encode()
    for name, data in files.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert verdicts(explain(path)) == {"u -> act": "fuse"}, name


def test_split_with_more_results_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text(
        '<ir_version: 8, opset_import: ["" : 18]>\n'
        "g (float[2,8] x) => (float[a,b] y) {\n"
        "  x1, x2 = Split<axis = -1, num_outputs = 1>(x)\n  y = Neg(x2)\n}\n"
    )
    assert run_process("explain", path, "--target", "ideal").code in (0, 2)


def test_scopes_in_reading_order() -> None:
    found = load(
        model("""g (float[2] x, bool c) => (float[2] z) {
      [if] z = If (c) <
        then_branch = yes () => (float[2] a) {
          [inner] a = If (c) <
            then_branch = deep () => (float[2] b) { b = Neg(x) },
            else_branch = low () => (float[2] d) { d = Sin(x) }
          > },
        else_branch = no () => (float[2] e) { e = Cos(x) }
      > }""")
    )
    scopes = [[(s.node, s.attr) for s in graph.scope] for graph in found]
    assert scopes == [
        [],
        [("if", "then_branch")],
        [("if", "then_branch"), ("inner", "then_branch")],
        [("if", "then_branch"), ("inner", "else_branch")],
        [("if", "else_branch")],
    ]
