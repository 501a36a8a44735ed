"""What the program is and computes with, and where it remembers: nothing here loads a model."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import fusectl

_DIGEST = 16


@cache
def program() -> str:
    """Return what the program is: a digest of its own text, its plug-ins, its libraries."""
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


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder() -> Path | None:
    """Return where answers are kept: the platform's folder for what can be made again.

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
