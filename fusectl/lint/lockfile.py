"""Reads and writes the lock file: the same bytes for the same decisions, whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from fusectl.errors import Problem, Span, TableError, UsageError
from fusectl.lint.locked import VERSION, Lock, LockedDecision, LockedTarget, mistake
from fusectl.lint.program import program
from fusectl.lint.store import load, name_of, save
from fusectl.tables.resolve import read
from fusectl.yamlsrc import Reader, compose, spanned

_HEAD = """\
# What fuses in each model and what does not, and why. fusectl lint holds the models to it.
# Written by fusectl lint --update-baseline: read it in review, do not edit it.
"""
_PLAIN = re.compile(r"[A-Za-z_/.][\w/.+()-]*( [\w/.+()-]+)*\Z", re.ASCII)
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n", ".inf", ".nan"})


def read_lock(path: Path, shown: str, folder: Path | None = None) -> Lock | None:
    """Return a lock file, or None where there is none. Raises TableError, UsageError.

    ``folder`` is where it is remembered: reading the YAML of many models takes seconds.
    """
    if not path.exists():
        return None
    text = read(path)
    place = folder / "locks" / name_of(program(), shown, text) if folder is not None else None
    known = load(place) if place is not None else None
    if known is not None:
        with contextlib.suppress(msgspec.MsgspecError):
            return msgspec.msgpack.decode(known, type=Lock)
    try:
        found = _read(text, shown)
        if place is not None:
            save(place, msgspec.msgpack.encode(found))
        return found
    except TableError as error:
        help = "fusectl lint --update-baseline writes it anew, once it is out of the way"
        raise TableError(
            Problem(p.span, p.message, p.help or help) for p in error.problems
        ) from None


def _read(text: str, shown: str) -> Lock:
    reader = Reader()
    found = reader.read(compose(text, shown), Lock, "the lock file")
    if isinstance(found, Lock):
        reader.problems += _problems(found)
    if reader.problems or not isinstance(found, Lock):
        raise TableError(reader.problems)
    return found


def _problems(lock: Lock) -> Iterator[Problem]:
    if lock.lock.value != VERSION:
        yield Problem(
            lock.lock.span, f"version {lock.lock.value} of the lock file; {VERSION} is known here"
        )
    for sections in lock.models.values():
        for section in sections.values():
            for entry in section.decisions:
                wrong = mistake(entry)
                if wrong:
                    yield Problem(entry.span, wrong)


def empty_lock() -> Lock:
    """Return a lock file without models."""
    return Lock(spanned(VERSION, Span("")), {}, {})


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lock file in one step: whoever reads it sees the old one or the new one.

    Raises UsageError where it cannot be written.
    """
    data = lock_text(lock).encode("utf-8")
    try:
        if not path.exists() or path.read_bytes() != data:
            replace_file(path, data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def replace_file(path: Path, data: bytes) -> None:
    """Put a whole file in the place of another, on the disk before its name is."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def lock_text(lock: Lock) -> str:
    """Return a lock file's text."""
    return "\n".join([_HEAD + f"lock: {VERSION}", *_targets(lock), *_models(lock)]) + "\n"


def _targets(lock: Lock) -> Iterator[str]:
    yield "targets:" if lock.targets else "targets: {}"
    for name, target in sorted(lock.targets.items()):
        yield f"  {_text(name)}: {_flow(_pairs(target))}"


def _pairs(target: LockedTarget) -> Iterable[tuple[str, str]]:
    return (("version", target.version), ("tables", target.tables))


def _models(lock: Lock) -> Iterator[str]:
    yield "models:" if lock.models else "models: {}"
    for path, sections in sorted(lock.models.items()):
        yield f"  {_text(path)}:"
        for target, section in sorted(sections.items()):
            yield f"    {_text(target)}:"
            yield f"      model: {_text(section.model.value)}"
            opset = ((name, str(version)) for name, version in section.opset.items())
            yield f"      opset: {{{', '.join(f'{_text(n)}: {v}' for n, v in opset)}}}"
            yield "      decisions:" if section.decisions else "      decisions: []"
            for entry in section.decisions:
                yield from _decision(entry)


def _decision(entry: LockedDecision) -> Iterator[str]:
    verdict = "fuse" if entry.fuse else "keep"
    yield f"      - {verdict}: {_text(entry.fuse or entry.keep)}"
    yield f"        from: [{', '.join(map(_text, entry.from_))}]"
    yield f"        to: [{', '.join(map(_text, entry.to))}]"
    if entry.value:
        yield f"        value: {_text(entry.value)}"
    if entry.in_:
        yield f"        in: [{', '.join(_flow(step.items()) for step in entry.in_)}]"
    if entry.why:
        yield "        why:"
        for slug, observed in entry.why.items():
            yield f"          {slug}: {_text(observed)}"
    yield f"        id: {_text(entry.id)}"
    yield f"        structure: {_text(entry.structure)}"


def _flow(pairs: Iterable[tuple[str, str]]) -> str:
    return f"{{{', '.join(f'{_text(name)}: {_text(value)}' for name, value in pairs)}}}"


def _text(text: str) -> str:
    """Return a scalar that every reader of YAML takes for this text and for no number or date."""
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    if _plain_digest(text):
        return text
    # JSON's strings are YAML's, but for escapes of characters beyond the first 65,536.
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else _escape(c) for c in quoted)


def _plain_digest(text: str) -> bool:
    """Tell whether a digest needs no quotes: it has letters, and not only an exponent's."""
    return bool(re.fullmatch(r"[0-9a-f]{12,}", text)) and bool(re.search(r"[abcdf]", text))


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
