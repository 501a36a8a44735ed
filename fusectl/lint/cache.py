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
import zlib
from pathlib import Path

import msgspec

from fusectl.compare.account import Account
from fusectl.lint.program import digest_of, program
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

    def put(self, task: Task, found: Account) -> None:
        """Keep an account, unless it rests on more data than is worth reading again."""
        path = self._path(task, found.sha256)
        if path is None:
            return
        folder = task.path.resolve().parent
        beside = {name: _state(folder / name) for name in found.beside}
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
        parts = (program(), task.tables.key(task.target), task.path.suffix.lower(), sha256)
        name = hashlib.blake2b("\x1f".join(parts).encode(), digest_size=_DIGEST).hexdigest()
        return self._folder / name[:2] / name


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
