"""Where the shipped YAML lies, from a wheel and from a checkout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from fusectl.errors import UsageError

SHIPPED = "rules/"
"""How the paths of shipped files begin, as findings print them."""

_PACKAGE = Path(__file__).resolve().parent.parent


def rules_root() -> Path:
    """Return the folder with ``fusions/``, ``targets/`` and ``operators.yaml``."""
    for folder in (_PACKAGE / "_rules", _PACKAGE.parent / "rules"):
        if (folder / "operators.yaml").is_file():
            return folder
    raise UsageError(f"the rules folder is missing beside {_PACKAGE}; reinstall fusectl")


def shown(path: Path) -> str:
    """Return the path as findings print it: from ``rules/`` on for shipped files."""
    try:
        return (Path(SHIPPED) / path.resolve().relative_to(rules_root().resolve())).as_posix()
    except ValueError:
        return str(path)


def yaml_files(entries: Iterable[str | Path]) -> Iterator[Path]:
    """Yield files, and those below folders. Raises UsageError for what does not exist."""
    for entry in map(Path, entries):
        if not entry.exists():
            raise UsageError(f"{entry}: no such file or folder")
        if entry.is_dir():
            yield from sorted((*entry.rglob("*.yaml"), *entry.rglob("*.yml")))
        else:
            yield entry


def read(path: Path) -> str:
    """Return a YAML file's text. Raises UsageError, naming the line where it is not UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}:{line}:1: not UTF-8: the encoding of a YAML file is UTF-8"
        ) from None
