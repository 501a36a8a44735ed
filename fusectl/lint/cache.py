"""Remembers accounts by what they were made of, so that an unchanged model costs nothing.

The key is made of the contents of the model, of every rule and target file, of the program and
of what it computes with. Data beside a model is no part of the key, so an answer that asked such
files is kept with a digest of each, and counts only while those are the same. Whatever cannot be
read counts as not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import zlib
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import msgspec

import fusectl
from fusectl.compare.account import Account
from fusectl.lint.task import Task

BOUND = 256 << 20
"""Bytes; the entries that were not used for the longest time go first."""
_EXTERNAL = 256 << 20
"""Bytes of data beside a model up to which its answer is kept."""
_MAGIC = b"fusectl-account/1\n"
_DIGEST = 16


class Entry(msgspec.Struct, frozen=True):
    """An account, and digests of the files beside the model that were asked for it."""

    account: Account
    beside: dict[str, str]


class Cache:
    """A folder of entries; ``None`` for no folder remembers nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, task: Task, sha256: str) -> Account | None:
        """Return the account of a model with these contents, or None."""
        path = self._path(task, sha256)
        if path is None:
            return None
        try:
            data = path.read_bytes()
            entry = _decoded(data)
            folder = task.path.resolve().parent
            if any(_state(folder / n) != d for n, d in entry.beside.items()):
                return None
            os.utime(path)
        except (OSError, ValueError, zlib.error, msgspec.MsgspecError):
            return None
        return msgspec.structs.replace(entry.account, model=str(task.path))

    def put(self, task: Task, found: Account, asked: Iterable[Path]) -> None:
        """Keep an account, unless it rests on more data than is worth reading again."""
        path = self._path(task, found.sha256)
        if path is None:
            return
        folder = task.path.resolve().parent
        beside = {os.path.relpath(p, folder): _state(p) for p in sorted(asked)}
        if "" in beside.values():
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}.tmp")
            part.write_bytes(_encoded(Entry(found, beside)))
            os.replace(part, path)

    def prune(self) -> None:
        """Take out the oldest entries until the rest fits."""
        if self._folder is None:
            return
        entries = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*/*"):
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= BOUND:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def _path(self, task: Task, sha256: str) -> Path | None:
        if self._folder is None:
            return None
        parts = (_program(), task.tables.key(task.target), task.path.suffix.lower(), sha256)
        name = hashlib.blake2b("\x1f".join(parts).encode(), digest_size=_DIGEST).hexdigest()
        return self._folder / name[:2] / name


def cache_folder() -> Path | None:
    """Return where entries are kept: the platform's folder for what can be made again.

    Nothing where there is no home to have it in.
    """
    try:
        return _platform_folder()
    except RuntimeError:
        return None


def _platform_folder() -> Path:
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(stated):
        return Path(stated) / "fusectl"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "fusectl" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fusectl"
    return Path.home() / ".cache" / "fusectl"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _state(path: Path) -> str:
    """Return what the contents of a file are; empty where they are too large to look at."""
    try:
        return digest_of(path) if path.stat().st_size <= _EXTERNAL else ""
    except OSError:
        return "absent"


def _encoded(entry: Entry) -> bytes:
    packed = zlib.compress(msgspec.msgpack.encode(entry), 1)
    return _MAGIC + hashlib.blake2b(packed, digest_size=_DIGEST).digest() + packed


def _decoded(data: bytes) -> Entry:
    """Return an entry. Raises ValueError where a byte of it is not what was written."""
    start = len(_MAGIC) + _DIGEST
    packed = data[start:]
    digest = hashlib.blake2b(packed, digest_size=_DIGEST).digest()
    if data[:start] != _MAGIC + digest:
        raise ValueError("no entry")
    return msgspec.msgpack.decode(zlib.decompress(packed), type=Entry)


@cache
def _program() -> str:
    """Return what the program is and computes with: its own text, plug-ins, libraries."""
    hashed = hashlib.blake2b(digest_size=_DIGEST)
    root = Path(fusectl.__file__).parent
    for path in sorted(root.rglob("*.py")):
        hashed.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    parts = [hashed.hexdigest(), sys.version]
    parts += [f"{name} {metadata.version(name)}" for name in ("onnx", "numpy", "protobuf")]
    for entry in sorted(metadata.entry_points(group="fusectl.checks"), key=lambda e: e.value):
        parts.append(f"{entry.name} {entry.value} {entry.dist.version if entry.dist else ''}")
        with contextlib.suppress(ImportError, OSError, ValueError):
            spec = find_spec(entry.module)
            if spec is not None and spec.origin:
                parts.append(digest_of(Path(spec.origin)))
    return "\x1f".join(parts)
