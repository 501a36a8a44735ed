"""Files: nothing is lost, whatever goes wrong; external data stay external and are right."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.external_data_helper import set_external_data

import fusectl
from fusectl.errors import FusectlError
from tests.apply.build import model, ops, same_results, save
from tests.run_cli import Outcome

TARGET = "onnxruntime-cpu"
CATALOG = fusectl.load_rules()
Cli = Callable[..., Outcome]
SCALED = (
    "g (float[1,4,8,8] x, float[6,4,3,3] w, float[6,1,1] s) => (float[1,6,6,6] y) "
    "{ u = Conv(x, w)  v = Mul(u, s)  y = Relu(v) }"
)
UNTOUCHED = "g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }"


def _external(made: onnx.ModelProto, folder: Path, name: str = "m.data") -> Path:
    """Save a model with all its weights in one data file."""
    folder.mkdir(exist_ok=True)
    data = b""
    for tensor in made.graph.initializer:
        raw = tensor.raw_data
        set_external_data(tensor, name, len(data), len(raw))
        tensor.ClearField("raw_data")
        data += raw
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return save(made, folder)


def _apply(path: Path, out: Path, overwrite: bool = False) -> fusectl.Plan:
    return fusectl.apply_fusions(path, TARGET, output=out, rules=CATALOG, overwrite=overwrite)


def _left(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_the_input_is_not_overwritten_unless_told(tmp_path: Path) -> None:
    path = save(model(SCALED, ("w", "s")), tmp_path)
    before = path.read_bytes()
    (tmp_path / "link.onnx").symlink_to(path)
    for out in (path, tmp_path / "link.onnx", tmp_path / "." / "model.onnx"):
        with pytest.raises(FusectlError, match="is the model itself; --overwrite"):
            _apply(path, out)
    assert path.read_bytes() == before
    _apply(path, path, overwrite=True)
    assert ops(path) == ["FusedConv"]


def test_a_full_disk_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = save(model(SCALED, ("w", "s")), tmp_path), tmp_path / "out.onnx"
    out.write_bytes(b"what was there")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FusectlError, match=r"No space left on device; nothing was changed"):
        _apply(path, out)
    assert out.read_bytes() == b"what was there"
    assert _left(tmp_path) == {"model.onnx", "out.onnx"}


def test_a_file_that_cannot_grow(tmp_path: Path) -> None:
    """The real thing: the kernel refuses to write on, and Python gets an error and no signal."""
    resource = pytest.importorskip("resource")
    path, out = save(model(SCALED, ("w", "s")), tmp_path), tmp_path / "out.onnx"
    out.write_bytes(b"what was there")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        with pytest.raises(FusectlError, match="File too large; nothing was changed"):
            _apply(path, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert out.read_bytes() == b"what was there"
    assert _left(tmp_path) == {"model.onnx", "out.onnx"}


def test_a_move_that_fails_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = save(model(SCALED, ("w", "s")), tmp_path), tmp_path / "out.onnx"
    out.write_bytes(b"what was there")

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(FusectlError, match="cannot be written: Permission denied"):
        _apply(path, out)
    assert out.read_bytes() == b"what was there"
    assert _left(tmp_path) == {"model.onnx", "out.onnx"}


_KILLED = """
import os, sys, time
import fusectl
def slow(descriptor):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = slow
fusectl.apply_fusions(sys.argv[1], "onnxruntime-cpu", output=sys.argv[2])
"""


def test_killed_in_the_middle(tmp_path: Path) -> None:
    path, out = save(model(SCALED, ("w", "s")), tmp_path), tmp_path / "out.onnx"
    out.write_bytes(b"what was there")
    command = [sys.executable, "-c", _KILLED, str(path), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    assert out.read_bytes() == b"what was there"
    _apply(path, out)
    assert ops(out) == ["FusedConv"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = save(model(SCALED, ("w", "s")), tmp_path)
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(FusectlError, match="Permission denied; nothing was changed"):
        _apply(path, folder / "out.onnx")


def test_places_where_no_model_can_be(tmp_path: Path) -> None:
    path = save(model(SCALED, ("w", "s")), tmp_path)
    (tmp_path / "f.onnx").mkdir()
    with pytest.raises(FusectlError, match="is a folder"):
        _apply(path, tmp_path / "f.onnx")
    with pytest.raises(FusectlError, match="No such file or directory"):
        _apply(tmp_path / "missing.onnx", path)
    with pytest.raises(FusectlError, match="does not exist"):
        _apply(path, tmp_path / "nowhere" / "out.onnx")
    with pytest.raises(FusectlError, match=r"written as \.onnx or"):
        _apply(path, tmp_path / "out.txt")
    for device in ("/dev/full", "/dev/null"):
        with pytest.raises(FusectlError, match=r"written as \.onnx or"):
            _apply(path, Path(device))
    with pytest.raises(FusectlError, match="does not exist"):
        _apply(path, Path("/dev/full/out.onnx"))


PRODUCT = (
    "g (float[2,64] x, float[64,64] w, float[64] b) => (float[2,64] y) "
    "{ m = MatMul(x, w)  a = Add(m, b)  y = Relu(a) }"
)


@pytest.mark.parametrize("folder", ["a", "b"])
@pytest.mark.parametrize(
    ("left", "said"),
    [
        (None, "the data file .*m.data is not there"),
        (5000, "m.data has 5000 bytes, and the data of w end at byte 16384: it was cut off"),
    ],
)
def test_data_that_are_missing_or_cut_off(
    cli: Cli, tmp_path: Path, folder: str, left: int | None, said: str
) -> None:
    """Beside the model or copied to another folder; nothing is left behind."""
    path = _external(model(PRODUCT, ("w", "b")), tmp_path / "a")
    (tmp_path / "b").mkdir()
    data = (tmp_path / "a" / "m.data").read_bytes()
    (tmp_path / "a" / "m.data").unlink()
    if left is not None:
        (tmp_path / "a" / "m.data").write_bytes(data[:left])
    there = _left(tmp_path / folder)
    out = tmp_path / folder / "out.onnx"
    with pytest.raises(FusectlError, match=said):
        _apply(path, out)
    if folder == "a":
        done = cli("apply", path, "-o", out, "--verify")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert re.search(said, done.err)
    assert _left(tmp_path / folder) == there
    assert fusectl.apply_fusions(path, TARGET, rules=CATALOG).edits


def test_external_data_in_another_folder(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    made = model(SCALED, ("w", "s"))
    plain = save(made, tmp_path, "plain.onnx")
    path = _external(made, tmp_path / "a")
    (tmp_path / "b").mkdir()
    out = tmp_path / "b" / "out.onnx"
    plan = _apply(path, out)
    assert not plan.data_files  # all weights were folded, and the new ones are small
    same_results(plain, out)


def test_data_that_stay_external_are_copied_and_not_linked(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    made = model(
        "g (float[2,64] x, float[64,64] w, float[64] b) => (float[2,64] y) "
        "{ m = MatMul(x, w)  a = Add(m, b)  y = Relu(a) }",
        ("w", "b"),
    )
    plain = save(made, tmp_path, "plain.onnx")
    path = _external(made, tmp_path / "a", "deep/m.data")
    (tmp_path / "b").mkdir()
    out = tmp_path / "b" / "out.onnx"
    _apply(path, out)
    copied = tmp_path / "b" / "deep" / "m.data"
    assert copied.read_bytes() == (tmp_path / "a" / "deep" / "m.data").read_bytes()
    assert copied.stat().st_nlink == 1
    written = onnx.load(out, load_external_data=False)
    assert all(t.data_location == onnx.TensorProto.EXTERNAL for t in written.graph.initializer)
    same_results(plain, out)
    _apply(path, out)
    copied.unlink()
    copied.symlink_to(tmp_path / "a" / "deep" / "m.data")
    _apply(path, out)
    assert not copied.is_symlink()
    copied.write_bytes(b"of somebody else")
    with pytest.raises(FusectlError, match="exists and holds other data"):
        _apply(path, out)
    assert copied.read_bytes() == b"of somebody else"
    _apply(path, out, overwrite=True)
    same_results(plain, out)


def test_big_new_weights_join_the_external_data(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    made = model(
        "g (float[1,64,6,6] x, float[64,64,3,3] w, float[64,1,1] s) => (float[1,64,4,4] y) "
        "{ u = Conv(x, w)  v = Mul(u, s)  y = Neg(v) }",
        ("w", "s"),
    )
    plain = save(made, tmp_path, "plain.onnx")
    path = _external(made, tmp_path / "a")
    out, again = tmp_path / "a" / "out.onnx", tmp_path / "a" / "again.onnx"
    _apply(path, out)
    (tensor,) = onnx.load(out, load_external_data=False).graph.initializer
    assert tensor.data_location == onnx.TensorProto.EXTERNAL
    same_results(plain, out, rel=1e-4)
    _apply(out, again)
    assert out.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("location", ["../m.data", "/m.data"])
def test_data_outside_the_folder(tmp_path: Path, location: str) -> None:
    made = model(UNTOUCHED)
    made.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "w"))
    set_external_data(made.graph.initializer[0], location, 0, 12)
    made.graph.initializer[0].ClearField("raw_data")
    path = save(made, tmp_path)
    (tmp_path / "b").mkdir()
    with pytest.raises(FusectlError, match="outside the folder of the model"):
        _apply(path, tmp_path / "b" / "out.onnx")
    assert _left(tmp_path / "b") == set()


def test_a_shared_weight_is_folded_into_a_copy(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    made = model(
        "g (float[1,4,8,8] x, float[6,4,3,3] w, float[6,1,1] s) "
        "=> (float[1,6,6,6] y, float[1,6,6,6] z) "
        "{ u = Conv(x, w)  y = Mul(u, s)  z = Conv<dilations=[1,1]>(x, w) }",
        ("w", "s"),
    )
    path, out = save(made, tmp_path), tmp_path / "out.onnx"
    _apply(path, out)
    assert ops(out) == ["Conv", "Conv"]
    names = [t.name for t in onnx.load(out).graph.initializer]
    assert "w" in names
    assert "s" not in names
    same_results(path, out)


@pytest.mark.parametrize("ir", [3, 4, 8, 10])
def test_the_ir_version_is_kept_or_raised_for_functions(tmp_path: Path, ir: int) -> None:
    made = model(SCALED, ("w", "s"), ir=ir)
    path, out = save(made, tmp_path), tmp_path / "out.onnx"
    plan = _apply(path, out)
    assert onnx.load(out).ir_version == ir
    assert not plan.notes
    onnx.checker.check_model(onnx.load(out))
    plan = fusectl.apply_fusions(path, "ideal", output=out, rules=CATALOG)
    written = onnx.load(out)
    assert written.ir_version == max(ir, 8)
    told = "".join(n.text for n in plan.notes)
    assert ("the IR version is raised from" in told) == (ir < 8)
    assert ("no longer listed as inputs" in told) == (ir < 4)
    assert [i.name for i in written.graph.input] == ["x"]


def test_the_default_of_an_input_stays(tmp_path: Path) -> None:
    """Nobody reads it after the fusion, and without it callers would have to pass it."""
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
      g (float[1,1,4,4] x, float[2] g = {1, 2}, float[2] b = {3, 4}, float[2] m = {0, 1},
         float[2] v = {1, 4}) => (float[1,2,2,2] y)
      <float[2,1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1}> {
        u = Conv(x, w)  y = BatchNormalization(u, g, b, m, v) }""")
    path, out, binds = save(made, tmp_path), tmp_path / "out.onnx", tmp_path / "binds.yaml"
    binds.write_text(
        "target: binds\nsummary: s\npasses:\n  - bind: true\n  - fuse: [conv-batchnorm]\n"
        "paths:\n  conv-batchnorm: {source: s, copies: [w]}\n"
    )
    fusectl.apply_fusions(path, str(binds), output=out, rules=CATALOG)
    written = onnx.load(out)
    assert [n.op_type for n in written.graph.node] == ["Conv"]
    assert [i.name for i in written.graph.input] == ["x", "g", "b", "m", "v"]
    assert {"g", "b", "m", "v"} <= {t.name for t in written.graph.initializer}


def test_onnx_text(tmp_path: Path) -> None:
    path = save(model(SCALED, ("w", "s")), tmp_path)
    out = tmp_path / "out.onnxtxt"
    _apply(path, out)
    assert "FusedConv" in out.read_text()


def test_types_of_new_nodes_are_written(tmp_path: Path) -> None:
    text = (
        "g (float[2,5] x, float[5,6] w, float[6] b) => (float[2,6] y) "
        "{ m = MatMul(x, w)  a = Add(m, b)  r = Relu(a)  y = Neg(r) }"
    )
    out = tmp_path / "out.onnx"
    _apply(save(model(text, ("w", "b")), tmp_path), out)
    written = onnx.load(out)
    assert [i.name for i in written.graph.value_info] == ["r"]
    dims = written.graph.value_info[0].type.tensor_type.shape.dim
    assert [d.dim_value for d in dims] == [2, 6]


def test_what_is_not_fused_stays_as_it_was(tmp_path: Path) -> None:
    made = model(UNTOUCHED)
    made.doc_string = "kept"
    made.metadata_props.add(key="a", value="b")
    path, out = save(made, tmp_path), tmp_path / "out.onnx"
    plan = _apply(path, out)
    assert out.read_bytes() == path.read_bytes()
    assert plan.rounds == 0
    assert time.time() >= out.stat().st_mtime
