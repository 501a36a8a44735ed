"""What a runtime's error says to a user: one line, no places in its sources, no temporary files."""

from pathlib import Path

import numpy as np
import pytest

from fusectl.runtime import CannotRun
from fusectl.runtime.messages import plain
from tests.apply.build import model

RESHAPE = (
    "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Reshape node. "
    "Name:'r' Status Message: /onnxruntime_src/onnxruntime/core/providers/cpu/tensor/"
    "reshape_helper.h:91 onnxruntime::ReshapeHelper::ReshapeHelper(const onnxruntime::TensorShape&"
    ", onnxruntime::TensorShapeVector&, bool) input_shape_size == size was false. The input tensor "
    "cannot be reshaped.\n"
)
SAID = {
    RESHAPE: "Reshape r: The input tensor cannot be reshaped.",
    "[ONNXRuntimeError] : 1 : FAIL : Load model from /tmp/x1/fused.onnx failed:Fatal error: "
    "test:Foo(-1) is not a registered function/op": "test:Foo(-1) is not a registered function/op",
    "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: /onnxruntime_src/core/s.cc:5 "
    "std::function<int(A<b>)> ns::C::operator()(int (*)(long)) const [with T = float] no room\n"
    "Stacktrace:\n\n /lib/x.so(+0x12)": "no room",
    "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Div node. "
    "Name:'' Status Message: element_wise_ops.cc:703 Compute Integer division by zero": (
        "Div: Integer division by zero"
    ),
    "": "RuntimeError",
}


@pytest.mark.parametrize("text", SAID)
def test_a_message_in_one_line(text: str) -> None:
    assert plain(RuntimeError(text)) == SAID[text]


def test_files_without_their_folders(tmp_path: Path) -> None:
    error = RuntimeError(f"file_size: {tmp_path}/w.bin is not there")
    assert plain(error, tmp_path / "m.onnx") == "file_size: w.bin is not there"


def test_what_the_runtime_really_says(tmp_path: Path) -> None:
    ort = pytest.importorskip("fusectl.runtime.ort")
    made = model("g (float[a,3] x, float[3,4] w) => (float[a,4] y) { y = MatMul(x, w) }")
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    ones = {"x": np.ones((2, 3), np.float32), "w": np.ones((3, 5), np.float32)}
    with pytest.raises(CannotRun) as wrong:
        ort.Session(path, False).run(ones)
    made.graph.node[0].op_type = "Mtamul"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(CannotRun) as unknown:
        ort.Session(path, False)
    for told in (str(wrong.value), str(unknown.value)):
        assert "\n" not in told
        assert str(tmp_path) not in told
        assert "ONNXRuntimeError" not in told
    assert "Mtamul" in str(unknown.value)
