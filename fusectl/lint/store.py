"""Files of remembered bytes: each is what was written, or counts as not there."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

_DIGEST = 16
_MAGIC = b"fusectl-remembers/1\n"


def name_of(*parts: str) -> str:
    """Return the name of a file for what these words say."""
    text = "\x1f".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=_DIGEST).hexdigest()


def save(path: Path, data: bytes) -> None:
    """Write a file in one step; what cannot be written is not remembered."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.tmp")
        part.write_bytes(_MAGIC + _digest(data) + data)
        os.replace(part, path)


def load(path: Path) -> bytes | None:
    """Return what was saved, or None. A file that is used is new again."""
    start = len(_MAGIC) + _DIGEST
    try:
        whole = path.read_bytes()
        if whole[:start] != _MAGIC + _digest(whole[start:]):
            return None
        os.utime(path)
    except OSError:
        return None
    return whole[start:]


def prune(folder: Path, bound: int) -> None:
    """Take out the files that were not used for the longest time, until the rest fits."""
    entries = []
    with contextlib.suppress(OSError):
        for path in folder.glob("*/*"):
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= bound:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()
