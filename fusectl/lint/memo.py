"""A whole run, remembered: where nothing that it read is another, it would say the same again.

What a run reads is written down with a digest of each file, what its wildcards meant, and which
files were looked for and not there. Nothing here loads a table or a model.
"""

from __future__ import annotations

import contextlib
import datetime
import glob
import os
import time
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path

import msgspec

from fusectl.lint.asked import Asked
from fusectl.lint.program import cache_folder, digest_of, program
from fusectl.lint.store import load, name_of, save
from fusectl.report.lint import LintReport

_SETTLED = 2.0
"""Seconds for which a file has to be as it is: clocks are coarse, and somebody may be typing."""
_ABSENT = "absent"


class Wild(msgspec.Struct, frozen=True):
    """A pattern below a folder and the files that it means."""

    folder: str
    pattern: str
    files: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True):
    """All that a run read: files by digest (or absent), wildcards, and on which day."""

    files: dict[str, str]
    wild: tuple[Wild, ...]
    today: str


class Memo(msgspec.Struct, frozen=True):
    """What a run read, and what it said."""

    manifest: Manifest
    report: LintReport


def recall(asked: Asked) -> LintReport | None:
    """Return what the same run said, if nothing that it read has changed."""
    path = _path(asked)
    if path is None:
        return None
    data = load(path)
    if data is None:
        return None
    try:
        memo = msgspec.msgpack.decode(data, type=Memo)
    except msgspec.MsgspecError:
        return None
    return memo.report if _holds(memo.manifest, asked) else None


def keep(asked: Asked, manifest: Manifest, beside: Iterable[str], report: LintReport) -> None:
    """Remember a run, unless a file changed just now or a model gave no answer by bad luck.

    ``beside`` are files that turned out to be asked.
    """
    also = {name: _state(Path(name)) for name in beside}
    manifest = msgspec.structs.replace(manifest, files=manifest.files | also)
    path = _path(asked)
    luck = any(f.code in ("model-crashed", "model-timeout") for f in report.findings)
    if path is None or luck or not _settled(manifest.files):
        return
    save(path, msgspec.msgpack.encode(Memo(manifest, report)))


def manifest_of(files: Iterable[Path], wild: Iterable[tuple[Path, str]], asked: Asked) -> Manifest:
    """Return what a run is about to read."""
    return Manifest(
        {str(path): _state(path) for path in files},
        tuple(Wild(str(folder), pattern, _meant(folder, pattern)) for folder, pattern in wild),
        _day(asked),
    )


def _holds(manifest: Manifest, asked: Asked) -> bool:
    return (
        manifest.today == _day(asked)
        and all(_meant(Path(w.folder), w.pattern) == w.files for w in manifest.wild)
        and all(_state(Path(name)) == digest for name, digest in manifest.files.items())
    )


def _day(asked: Asked) -> str:
    return (asked.today or datetime.date.today()).isoformat()


def _meant(folder: Path, pattern: str) -> tuple[str, ...]:
    return tuple(sorted(glob.glob(pattern, root_dir=folder, recursive=True)))


def _state(path: Path) -> str:
    try:
        return digest_of(path)
    except OSError:
        return _ABSENT


def _settled(files: Iterable[str]) -> bool:
    latest = time.time() - _SETTLED
    for name in files:
        with contextlib.suppress(OSError):
            if os.stat(name).st_mtime > latest:
                return False
    return True


def _path(asked: Asked) -> Path | None:
    folder = cache_folder()
    if folder is None or not asked.cache or asked.update or asked.accept:
        return None
    name = name_of(program(), str(asked.folder.resolve()), repr(astuple(asked)))
    return folder / "runs" / name
