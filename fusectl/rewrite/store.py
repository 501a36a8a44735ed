"""A model to a file, all of it or nothing, with its external data beside it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import onnx

from fusectl.errors import ModelError, UsageError
from fusectl.graph.shapes import bodies, has_bodies
from fusectl.rewrite.extract import check_ending, encode

_CHUNK = 1 << 20
_BIG = 1 << 16
"""Bytes from which a new weight joins the external data of a model that has some."""


def external(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield the tensors of a model whose data lie in files of their own."""
    pending: list[onnx.GraphProto] = [model.graph]
    while pending:
        graph = pending.pop()
        tensors = [*graph.initializer]
        for node in graph.node:
            tensors += (a.t for a in node.attribute if a.HasField("t"))
            if has_bodies(node):
                pending += (body for _, body in bodies(node))
        yield from (t for t in tensors if t.data_location == onnx.TensorProto.EXTERNAL)


def location(tensor: onnx.TensorProto) -> str:
    """Return the file in which an external tensor lies, relative to its model."""
    return next((str(e.value) for e in tensor.external_data if e.key == "location"), "")


def check_data(model: onnx.ModelProto, folder: Path) -> None:
    """Raise ModelError where external data are not there, or end before their tensor does."""
    for tensor in external(model):
        told = {e.key: e.value for e in tensor.external_data}
        file = folder / told.get("location", "")
        if not file.is_file():
            raise ModelError(f"the data file {file} is not there")
        end, size = int(told.get("offset", 0)) + int(told.get("length", 0)), file.stat().st_size
        if end > size:
            raise ModelError(
                f"the data file {file} has {size} bytes, and the data of {tensor.name} end at "
                f"byte {end}: it was cut off, or belongs to another model"
            )


def folder_of(path: str, model: onnx.ModelProto) -> Path | None:
    """Return the folder that holds a model's external data; None for standard input.

    Where the model is a link, the data may lie beside the link or beside the file.
    """
    if path == "-":
        return None
    file = Path(path)
    names = {location(t) for t in external(model)}
    for folder in (file.parent, file.resolve().parent):
        if names and all((folder / n).is_file() for n in names):
            return folder
    return file.resolve().parent


def check_output(output: str, source: str, overwrite: bool) -> None:
    """Raise UsageError where a model may not be written to a path."""
    check_ending(output)
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"{output}: is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"{output}: the folder {path.parent} does not exist")
    same = path.exists() and os.path.exists(source) and os.path.samefile(path, source)
    if same and not overwrite:
        raise UsageError(f"{output}: is the model itself; --overwrite replaces it")


class Store:
    """Writes one model. Everything is written beside its place first, and moved there last.

    ``folder`` is where its external data are; ``new`` names weights that join them if big.
    """

    def __init__(
        self, output: str, folder: Path | None, new: Iterable[str], overwrite: bool
    ) -> None:
        self.output = Path(output)
        self.folder = folder
        self.new = frozenset(new)
        self.overwrite = overwrite
        self._ready: list[tuple[Path, Path]] = []
        self._inline: list[tuple[onnx.TensorProto, bytes]] = []

    def write(self, model: onnx.ModelProto) -> list[str]:
        """Write the model; return the data files that were written beside it.

        Raises UsageError where something cannot be written; then nothing has changed.
        """
        try:
            self._data(model)
            data = _encoded(model, str(self.output))
            self._stage(self.output, (data,))
            for temporary, place in self._ready:
                temporary.replace(place)
            _sync(self.output.parent)
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(
                f"{self.output}: cannot be written: {reason}; nothing was changed"
            ) from None
        finally:
            for temporary, _ in self._ready:
                temporary.unlink(missing_ok=True)
            for tensor, data in self._inline:  # the model stays as it came
                tensor.ClearField("external_data")
                tensor.ClearField("data_location")
                tensor.raw_data = data
        return [str(place) for _, place in self._ready[:-1]]

    def _data(self, model: onnx.ModelProto) -> None:
        names = sorted({location(t) for t in external(model)})
        stays = self.folder is not None and _same(self.folder, self.output.parent)
        for name in names if not stays else ():
            self._inside(name)
        if self.folder is not None:
            check_data(model, self.folder)
        self._outsource(model)
        for name in names if not stays else ():
            self._copy(name)

    def _inside(self, name: str) -> None:
        """Refuse data that cannot be copied: runtimes refuse paths that lead out."""
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or os.path.isabs(name) or self.folder is None:
            raise UsageError(
                f"{self.output}: the data file {name!r} lies outside the folder of the model, "
                "where runtimes do not read it"
            )

    def _copy(self, name: str) -> None:
        """Copy a data file by stream: runtimes refuse links."""
        assert self.folder is not None
        source, place = self.folder / name, self.output.parent / name
        if place.exists() or place.is_symlink():
            linked = place.is_symlink() or place.stat().st_nlink > 1
            if not linked and _equal(source, place):
                return
            if not self.overwrite and not _equal(source, place):
                raise UsageError(
                    f"{place}: exists and holds other data; choose another folder, or "
                    "--overwrite replaces it"
                )
        place.parent.mkdir(parents=True, exist_ok=True)
        self._stage(place, _chunks(source))

    def _outsource(self, model: onnx.ModelProto) -> None:
        """Move big new weights to a data file of their own, named by what is in it."""
        big = [t for t in model.graph.initializer if t.name in self.new and len(t.raw_data) >= _BIG]
        if not big:
            return
        digest = hashlib.sha256()
        for tensor in big:
            digest.update(tensor.raw_data)
        name = f"fused-{digest.hexdigest()[:16]}.data"
        self._stage(self.output.parent / name, [bytes(t.raw_data) for t in big])
        offset = 0
        for tensor in big:
            length = len(tensor.raw_data)
            self._inline.append((tensor, bytes(tensor.raw_data)))
            for key, value in (("location", name), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.ClearField("raw_data")
            offset += length

    def _stage(self, place: Path, data: Iterable[bytes]) -> None:
        handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".tmp", dir=place.parent)
        temporary = Path(name)
        self._ready.append((temporary, place))
        with os.fdopen(handle, "wb") as file:
            for chunk in data:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_mode(place))


def _encoded(model: onnx.ModelProto, output: str) -> bytes:
    if Path(output).suffix == ".onnx":
        try:
            return encode(model, output)
        except ValueError:
            raise ModelError(
                f"{output}: more than 2 GiB; a model of that size needs external data"
            ) from None
    if any(True for _ in external(model)):
        raise UsageError(f"{output}: ONNX text has no external data; use .onnx")
    from fusectl.graph.read import parse

    data = encode(model, output)
    try:
        same = _told(parse(output, data)) == _told(model)
    except ModelError:
        same = False
    if not same:
        raise UsageError(f"{output}: ONNX text cannot say what is in this model; use .onnx")
    return data


def _told(model: onnx.ModelProto) -> list[bytes]:
    """Return what ONNX text has to keep: nodes and weights."""
    graphs = [*model.functions, model.graph]
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for g in graphs for n in g.node]
    for node in nodes:
        node.doc_string, node.domain = "", "" if node.domain == "ai.onnx" else node.domain
        del node.metadata_props[:]
    tensors = [onnx.numpy_helper.to_array(t).tobytes() for t in model.graph.initializer]
    return [*(n.SerializeToString(deterministic=True) for n in nodes), *tensors]


def _mode(place: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new one."""
    if place.exists():
        return place.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _equal(a: Path, b: Path) -> bool:
    if a.stat().st_size != b.stat().st_size:
        return False
    return all(x == y for x, y in zip(_chunks(a), _chunks(b), strict=False))


def _same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve()
