"""Which values are known at compile time, and their contents, read only when asked for.

Weights are not kept: big initializers are dropped while loading and read again from the file if a
check needs one, which is rare (rules look at scalars, axes and per-channel vectors).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

Array = npt.NDArray[np.generic]
SMALL = 4096
"""Bytes up to which an initializer stays in memory."""
BIGGEST = 1 << 24
"""Elements up to which a constant is read for a check at all."""


class Unreadable(Exception):
    """A constant is known to exist and its contents cannot be had; the text says why."""


class Constants:
    """The constants of one scope. A body sees those of the scopes around it."""

    __slots__ = (
        "_arrays", "_computed", "_dims", "_parent", "_tensors", "_weights", "defaults", "renamed",
    )  # fmt: skip

    def __init__(self, weights: Weights, parent: Constants | None = None) -> None:
        self._weights = weights
        self._parent = parent
        self._tensors: dict[str, onnx.TensorProto] = {}
        self._computed: dict[str, Callable[[], Array]] = {}
        self._arrays: dict[str, Array] = {}
        self._dims: dict[str, tuple[int, ...]] = {}
        # Contents of inputs that the caller may override: constants for compilers that bind them.
        self.defaults: dict[str, onnx.TensorProto] = {}
        # A function's formal input that the caller feeds with a constant.
        self.renamed: dict[str, tuple[Constants, str]] = {}

    def add(self, name: str, tensor: onnx.TensorProto) -> None:
        """Make ``name`` a constant whose contents stand in ``tensor``."""
        self._tensors[name] = tensor

    def default(self, name: str, tensor: onnx.TensorProto) -> None:
        """Note what an input holds where the caller passes nothing; it is no constant by that."""
        self.defaults[name] = tensor

    def default_array(self, name: str) -> Array:
        """Return what an input holds where the caller passes nothing. Raises Unreadable."""
        return self._weights.read(name, self.defaults[name])

    def compute(self, name: str, thunk: Callable[[], Array]) -> None:
        """Make ``name`` a constant whose contents are computed on first use."""
        self._computed[name] = thunk

    def __contains__(self, name: str) -> bool:
        return self._owner(name) is not None

    def _owner(self, name: str) -> Constants | None:
        scope: Constants | None = self
        while scope is not None:
            if name in scope._tensors or name in scope._computed or name in scope.renamed:
                return scope
            scope = scope._parent
        return None

    def trouble(self, name: str) -> str:
        """Return why a constant's contents cannot be had, as far as that shows without reading."""
        owner = self._owner(name)
        if owner is None:
            return ""
        if name in owner.renamed:
            inner, original = owner.renamed[name]
            return inner.trouble(original)
        tensor = owner._tensors.get(name)
        if tensor is None or tensor.data_location != onnx.TensorProto.EXTERNAL:
            return ""
        try:
            owner._weights.locate(name, tensor)
        except Unreadable as error:
            return str(error)
        return ""

    def origin(self, name: str) -> tuple[int, str]:
        """Return what tells a constant from every other: its scope and its name there."""
        owner = self._owner(name)
        if owner is None:
            return (0, "")
        if name in owner.renamed:
            inner, original = owner.renamed[name]
            return inner.origin(original)
        return (id(owner), name)

    def array(self, name: str) -> Array:
        """Return the contents. Raises Unreadable with the reason, or KeyError for no constant."""
        owner = self._owner(name)
        if owner is None:
            raise KeyError(name)
        if name in owner.renamed:
            inner, original = owner.renamed[name]
            return inner.array(original)
        cached = owner._arrays.get(name)
        if cached is None:
            cached = owner._read(name)
            owner._arrays[name] = cached
        return cached

    def looked_at(self) -> dict[str, Array]:
        """Return the constants of this scope whose contents somebody asked for."""
        return dict(self._arrays)

    def _read(self, name: str) -> Array:
        thunk = self._computed.get(name)
        if thunk is not None:
            return thunk()
        return self._weights.read(name, self._tensors[name])


class Weights:
    """Reads the contents of initializers, also those that loading dropped or that lie outside."""

    def __init__(self, folder: Path | None, reload: Callable[[], onnx.ModelProto]) -> None:
        self._folder = folder
        self._reload = reload
        self.asked: set[Path] = set()
        self._dropped: dict[int, tuple[int, ...]] = {}
        self._kept: list[onnx.TensorProto] = []
        self._full: onnx.ModelProto | None = None

    def drop(self, tensor: onnx.TensorProto, place: tuple[int, ...]) -> None:
        """Forget big contents; ``place`` is the path to the tensor in a fresh copy of the model."""
        self._dropped[id(tensor)] = place
        self._kept.append(tensor)  # keeps the identity alive
        tensor.ClearField("raw_data")

    def read(self, name: str, tensor: onnx.TensorProto) -> Array:
        """Return a tensor's contents. Raises Unreadable."""
        place = self._dropped.get(id(tensor))
        if place is not None:
            if self._full is None:
                self._full = self._reload()
            tensor = _at(self._full.graph, place)
        size = int(np.prod(tensor.dims, dtype=np.float64)) if tensor.dims else 1
        if size > BIGGEST:
            raise Unreadable(f"{name} has {size} elements: too large to look at")
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return self._external(name, tensor)
        try:
            return np.asarray(numpy_helper.to_array(tensor))
        except (ValueError, TypeError, RuntimeError, AttributeError) as error:
            raise Unreadable(f"the data of {name} cannot be read: {error}") from None

    def locate(self, name: str, tensor: onnx.TensorProto) -> Path:
        """Return the file of an external tensor, which is not opened. Raises Unreadable."""
        location = next((e.value for e in tensor.external_data if e.key == "location"), "")
        if self._folder is None:
            raise Unreadable(f"{name} lies in {location}, and the model came without a folder")
        path = self._folder / location
        self.asked.add(path)
        root = os.path.realpath(self._folder)
        if os.path.isabs(location) or not _inside(os.path.realpath(path), root):
            raise Unreadable(f"{name} lies in {location}, outside the folder of the model")
        if not path.is_file():
            raise Unreadable(f"{name} lies in {location}, which is not there")
        return path

    def _external(self, name: str, tensor: onnx.TensorProto) -> Array:
        entries = {e.key: e.value for e in tensor.external_data}
        path, location = self.locate(name, tensor), entries.get("location", "")
        try:
            offset = int(entries.get("offset", 0))
            with path.open("rb") as file:
                file.seek(offset)
                length = entries.get("length")
                data = file.read(int(length) if length else 16 * BIGGEST)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Unreadable(f"{name} lies in {location}: {reason}") from None
        inline = onnx.TensorProto()
        inline.CopyFrom(tensor)
        inline.ClearField("external_data")
        inline.data_location = onnx.TensorProto.DEFAULT
        inline.raw_data = data
        try:
            return np.asarray(numpy_helper.to_array(inline))
        except (ValueError, TypeError) as error:
            raise Unreadable(f"the data of {name} in {location} do not fit: {error}") from None


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _at(graph: onnx.GraphProto, place: tuple[int, ...]) -> onnx.TensorProto:
    """Follow a place: (node, attribute) pairs into bodies, then the initializer's number."""
    *steps, last = place
    for node, attribute in zip(steps[::2], steps[1::2], strict=True):
        graph = graph.node[node].attribute[attribute].g
    tensor: onnx.TensorProto = graph.initializer[last]
    return tensor
