"""The rules and targets of one run, known by their contents: an edited file is another table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fusectl.pipeline import load_rules
from fusectl.tables import Catalog, Target
from fusectl.tables.digest import tables_digest
from fusectl.tables.resolve import rules_root, yaml_files

_DIGEST = 16


@dataclass(frozen=True, slots=True)
class Tables:
    """Files and folders of rules and targets, as the user named them from a folder.

    ``state`` is a digest of all that is in them, and in the files that ship.
    """

    folder: Path
    rules: tuple[str, ...]
    state: str

    def file(self, name: str) -> Path:
        """Return a file as findings are to call it: as the user did, where that leads there."""
        return Path(name) if Path.cwd() == self.folder else self.folder / name

    def key(self, target: str) -> str:
        """Return what decides on a target: its name, all tables, and its own file."""
        return f"{target} {self.state} {_stamp(self, target)}"


def tables_of(folder: Path, rules: tuple[str, ...]) -> Tables:
    """Return the tables as they are now. Raises UsageError for a path that leads nowhere."""
    return Tables(folder, rules, _digest(_files(folder, rules)))


def table_files(tables: Tables) -> list[Path]:
    """Return the files of the tables, those that ship first."""
    return _files(tables.folder, tables.rules)


def _files(folder: Path, rules: tuple[str, ...]) -> list[Path]:
    return [*sorted(rules_root().rglob("*.yaml")), *yaml_files(folder / path for path in rules)]


def _stamp(tables: Tables, target: str) -> str:
    file = tables.folder / target
    is_file = file.suffix in (".yaml", ".yml") and file.is_file()
    return _digest([file]) if is_file else ""


def _digest(files: Iterable[Path]) -> str:
    """Return a digest of files with their names: findings quote them."""
    hashed = hashlib.blake2b(digest_size=_DIGEST)
    for path in files:
        data = path.read_bytes()
        hashed.update(str(path).encode("utf-8", "surrogateescape") + b"\0%d\0" % len(data) + data)
    return hashed.hexdigest()


@lru_cache(maxsize=2)
def catalog(tables: Tables) -> Catalog:
    """Return rules and targets, loaded once. Raises FusectlError."""
    return load_rules(*(tables.file(path) for path in tables.rules))


def target_of(tables: Tables, name: str) -> tuple[Target, str]:
    """Return a target and a digest of all that decides on it. Raises FusectlError."""
    return _target(tables, name, _stamp(tables, name))


@lru_cache(maxsize=32)
def _target(tables: Tables, name: str, stamp: str) -> tuple[Target, str]:
    loaded = catalog(tables)
    is_file = name not in loaded.documents and name.endswith((".yaml", ".yml"))
    target = loaded.target(str(tables.file(name)) if is_file else name)
    return target, tables_digest(loaded, target)
