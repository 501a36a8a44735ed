"""The package knows no compiler by name, but for the code that runs one."""

import re
from pathlib import Path

import fusectl

PACKAGE = Path(fusectl.__file__).parent
NAMES = re.compile(r"onnxruntime|openvino|lut-npu|ethos", re.IGNORECASE)
ADAPTERS = ("runtime/", "audit/adapters/", "_rules/", "reasons/")


def test_only_adapters_name_runtimes() -> None:
    named = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if NAMES.search(path.read_text(encoding="utf-8"))
    ]
    assert [name for name in named if not name.startswith(ADAPTERS)] == []
