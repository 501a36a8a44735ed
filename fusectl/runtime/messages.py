"""What an error of ONNX Runtime says, in one line and without what is the runtime's own affair.

The forms are those of its include/onnxruntime/core/common (status.h, exceptions.h, common.h) and
onnxruntime/core/framework/sequential_executor.cc: a code, a place in the sources with the
function's signature, the condition that was false, the text, a stack.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fusectl.errors import LONGEST

_CODE = re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : ")
_FRAME = re.compile(
    r"Load model from .*? failed:\s*|Exception during initialization:\s*|Fatal error:\s*"
)
_NODE = re.compile(
    r"Non-zero status code returned while running (\S+) node\. Name:'([^']*)' Status Message: "
)
_PLACE = re.compile(r"(?P<far>/)?(?:[\w.+-]+/)*[\w.+-]+\.(?:cc|cpp|h|hpp|cu|cuh):\d+\s+")
_CONDITION = re.compile(r".*? was false\.\s+(?=\S)")
_STACK = re.compile(r"\s*Stacktrace:")


def plain(error: Exception, model: Path | None = None) -> str:
    """Return an error in one line; ``model`` is the file that was read, in whatever folder."""
    text = str(error).strip() or type(error).__name__
    text = " ".join(_STACK.split(text)[0].split())
    for folder in {model.parent, model.resolve().parent} if model is not None else ():
        text = text.replace(f"{folder}{os.sep}", "") if folder.is_absolute() else text
    text = _FRAME.sub("", _CODE.sub("", text))
    text = _NODE.sub(lambda m: f"{m[1]} {m[2]}: " if m[2] else f"{m[1]}: ", text)
    return _without_places(text).strip()[:LONGEST] or type(error).__name__


def _without_places(text: str) -> str:
    """Take places in the runtime's sources out, with the functions that stand behind them."""
    while found := _PLACE.search(text):
        rest = text[found.end() :]
        rest = _behind_signature(rest) if found["far"] else rest.partition(" ")[2]
        text = text[: found.start()] + _CONDITION.sub("", rest, count=1)
    return text


def _behind_signature(text: str) -> str:
    """Return what stands behind a C++ signature, such as ``void ns::f(int, g<a(b)>) const``."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "(<") - (character in ")>")
        if character == ")" and not depth and not text[:place].endswith("operator("):
            behind = text[place + 1 :].strip().removeprefix("const ")
            if behind.startswith("[with "):
                behind = behind.partition("] ")[2]
            return behind
    return text
