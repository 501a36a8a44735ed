"""Bytes to a ModelProto: binary, ONNX text and protobuf text, with errors in the user's terms."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import onnx
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from onnx import parser

from fusectl.errors import ModelError

_POSITION = re.compile(r"\(line: (\d+) column: (\d+)\)")
_PICTURES = {b"\xff\xd8\xff": "a JPEG picture", b"\x89PNG": "a PNG picture", b"%PDF": "a PDF file"}
_PICTURES |= {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "a gzip archive", b"version https": ""}
_TEXT_HEAD = re.compile(rb"\s*(#[^\n]*\n\s*)*(<|[A-Za-z_][\w.]*\s*\()")
_PROTO_HEAD = re.compile(rb"\s*(#[^\n]*\n\s*)*[a-z_]+\s*[:{]")


def read_bytes(path: str) -> tuple[str, bytes]:
    """Return the name to show and the bytes of a file, or of standard input for ``-``."""
    if path == "-" and sys.stdin is None:
        raise ModelError("-: standard input is closed")
    if path == "-":
        return "<stdin>", sys.stdin.buffer.read()
    file = Path(path)
    try:
        return path, file.read_bytes()
    except IsADirectoryError:
        raise ModelError(f"{path}: is a folder, not a model file") from None
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from None


def parse(name: str, data: bytes) -> onnx.ModelProto:
    """Parse a model. Raises ModelError with the file's name, and line:column for text."""
    if not data:
        raise ModelError(f"{name}: the file is empty (0 bytes)")
    suffix = Path(name).suffix.lower()
    if suffix in (".onnxtxt", ".onnxtext"):
        return _text(name, data)
    if suffix in (".textproto", ".pbtxt", ".prototxt"):
        return _textproto(name, data)
    if suffix != ".onnx" and _TEXT_HEAD.match(data):
        return _text(name, data)
    if suffix != ".onnx" and _PROTO_HEAD.match(data):
        return _textproto(name, data)
    return _binary(name, data)


def _binary(name: str, data: bytes) -> onnx.ModelProto:
    kind = next((text for head, text in _PICTURES.items() if data.startswith(head)), None)
    if data.startswith(b"version https://git-lfs"):
        raise ModelError(f"{name}: a Git LFS pointer, not the model; run git lfs pull")
    if kind:
        raise ModelError(f"{name}: not an ONNX model ({kind})")
    model = onnx.ModelProto()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{name}: cannot be parsed: truncated, corrupt or not an ONNX model ({error})"
        ) from None
    return _with_graph(name, model)


def _text(name: str, data: bytes) -> onnx.ModelProto:
    text = _decode(name, data)
    try:
        model = parser.parse_model(text)
    except DecodeError:
        raise ModelError(f"{name}: nested too deeply to be read (protobuf allows 100)") from None
    except parser.ParseError as error:
        raise ModelError(_parse_error(name, error)) from None
    except RecursionError:
        raise ModelError(f"{name}: nested too deeply to be read") from None
    return _with_graph(name, model)


def _textproto(name: str, data: bytes) -> onnx.ModelProto:
    try:
        model = text_format.Parse(_decode(name, data), onnx.ModelProto())
    except text_format.ParseError as error:
        raise ModelError(f"{name}:{error}") from None
    return _with_graph(name, model)


def _decode(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelError(f"{name}:{line}:1: not UTF-8") from None


def _with_graph(name: str, model: onnx.ModelProto) -> onnx.ModelProto:
    if not model.HasField("graph"):
        raise ModelError(f"{name}: not an ONNX model: it has no graph")
    return model


def parser_message(error: parser.ParseError) -> tuple[int, int, str]:
    """Return line, column and what the ONNX text parser found wrong."""
    raw = error.args[0]
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    found = _POSITION.search(text)
    line, column = (int(found[1]), int(found[2])) if found else (0, 0)
    return line, column, text.rstrip().rsplit("\n", 1)[-1].strip()


def _parse_error(name: str, error: parser.ParseError) -> str:
    line, column, message = parser_message(error)
    return f"{name}:{line}:{column}: syntax error: {message} (comments begin with #)"
