"""Remembers accounts by what they were made of, so that an unchanged model costs nothing.

The key is made of the contents of the model, of every rule and target file, of the program and
of what it computes with. Data beside a model is no part of the key, so an answer that asked such
files is kept with a digest of each, and counts only while those are the same. Whatever cannot be
read counts as not there.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec

from fusectl.compare.account import Account
from fusectl.lint.program import digest_of, program
from fusectl.lint.store import load, name_of, prune, save
from fusectl.lint.task import Task

BOUND = 256 << 20
"""Bytes; the entries that were not used for the longest time go first."""
_EXTERNAL = 256 << 20
"""Bytes of data beside a model up to which its answer is kept."""


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
        data = load(path)
        if data is None:
            return None
        try:
            entry = msgspec.msgpack.decode(zlib.decompress(data), type=Entry)
        except (zlib.error, msgspec.MsgspecError):
            return None
        folder = task.path.resolve().parent
        if any(_state(folder / n) != d for n, d in entry.beside.items()):
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
        save(path, zlib.compress(msgspec.msgpack.encode(Entry(found, beside)), 1))

    def prune(self) -> None:
        """Take out the oldest entries until the rest fits."""
        if self._folder is not None:
            prune(self._folder, BOUND)

    def _path(self, task: Task, sha256: str) -> Path | None:
        if self._folder is None:
            return None
        parts = (program(), task.tables.key(task.target), task.path.suffix.lower(), sha256)
        name = name_of(*parts)
        return self._folder / name[:2] / name


def _state(path: Path) -> str:
    """Return what the contents of a file are; empty where they are too large to look at."""
    try:
        return digest_of(path) if path.stat().st_size <= _EXTERNAL else ""
    except OSError:
        return "absent"
