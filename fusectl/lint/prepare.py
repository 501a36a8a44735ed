"""From what a user asks to a request: finds policy, lock file and models."""

from __future__ import annotations

import datetime
import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from fusectl.errors import FusectlError, Problem, Span, TableError, UsageError
from fusectl.lint.asked import Asked
from fusectl.lint.lockfile import read_lock
from fusectl.lint.memo import Manifest, manifest_of
from fusectl.lint.policy import BASELINE, Policy
from fusectl.lint.program import cache_folder
from fusectl.lint.read import NAMES, PYPROJECT, empty_policy, find_policy, read_policy
from fusectl.lint.run import Request
from fusectl.lint.scope import path_matches
from fusectl.lint.tables import Tables, catalog, table_files, tables_of, target_of
from fusectl.tables.resolve import rules_root

SECONDS = 120.0
"""How long one model may take on one target."""


def prepare(asked: Asked) -> tuple[Request, Path]:
    """Return the request and the path of its lock file. Raises FusectlError."""
    here = asked.folder.resolve()
    config = here / asked.config if asked.config else find_policy(here)
    root = _root(asked, here, config)
    own = tuple(_moved(path, here, root) for path in asked.rules)
    policy, shown = empty_policy(), ""
    if config is not None:
        shown = _moved(str(config), here, root)
        policy = read_policy(
            config, _as_typed(config, here), lambda p: catalog(_tables(root, p, own)).rules
        )
    tables = _tables(root, policy, own)
    baseline = _baseline(asked, policy, here, root)
    folder = cache_folder() if asked.cache else None
    lock = read_lock(baseline, _as_typed(baseline, here), folder)
    if lock is None and asked.baseline and not asked.update:
        raise UsageError(f"{asked.baseline}: no such lock file; --update-baseline writes it")
    models = tuple(_models(asked, policy, here, root))
    whole = not asked.models and not asked.target
    return (
        Request(
            root,
            policy,
            shown,
            models,
            _targets(asked, policy, tables, here),
            tables,
            _moved(str(baseline), here, root),
            lock,
            whole,
            asked.update,
            frozenset(asked.accept),
            asked.jobs or _cores(),
            asked.seconds or (policy.timeout.value if policy.timeout else SECONDS),
            folder,
            asked.today or datetime.date.today(),
            tuple(_again(asked)),
            here,
        ),
        baseline,
    )


def start_of(config: str = "", baseline: str = "", folder: str = ".") -> Path:
    """Return the folder from which the paths of a report start: see ``prepare``."""
    here = Path(folder).resolve()
    found = here / config if config else find_policy(here)
    return _root(Asked(here, baseline=baseline), here, found)


def inputs(asked: Asked, request: Request, baseline: Path) -> Manifest:
    """Return all that a run reads, or looks for, apart from data beside models."""
    here, root = asked.folder.resolve(), request.root
    files = [baseline, *(root / model for model in request.models)]
    if not asked.config:
        for folder in (here, *here.parents):
            files += [folder / name for name in (*NAMES, PYPROJECT)]
            if request.config and folder == root:
                break
    else:
        files.append(here / asked.config)
    files += table_files(request.tables)
    files += [root / t for t in request.targets if t.endswith((".yaml", ".yml"))]
    wild = [(rules_root(), "**/*.yaml")]
    for path in request.tables.rules:
        wild += [(root / path, pattern) for pattern in ("**/*.yaml", "**/*.yml")]
    if not asked.models:
        wild += [(root, text.value) for text in request.policy.models]
    return manifest_of(files, wild, asked)


def _root(asked: Asked, here: Path, config: Path | None) -> Path:
    """Return the folder that the paths of lock file and report start from."""
    if config is not None:
        return config.resolve().parent
    return (here / asked.baseline).resolve().parent if asked.baseline else here


def _tables(root: Path, policy: Policy, own: tuple[str, ...]) -> Tables:
    return tables_of(root, (*(text.value for text in policy.rules), *own))


def _baseline(asked: Asked, policy: Policy, here: Path, root: Path) -> Path:
    if asked.baseline:
        return here / asked.baseline
    return root / (policy.baseline.value if policy.baseline else BASELINE)


def _moved(path: str, here: Path, root: Path) -> str:
    """Return a path as it is seen from the root, with slashes."""
    return Path(os.path.relpath((here / path).absolute(), root)).as_posix()


def _as_typed(path: Path, here: Path) -> str:
    return os.path.relpath(path.absolute(), here)


def _models(asked: Asked, policy: Policy, here: Path, root: Path) -> Iterator[str]:
    """Return what to lint, sorted, each once."""
    if asked.models:
        for name in asked.models:
            if name == "-":
                raise UsageError("lint reads models from files, not from standard input")
            if not (here / name).exists():
                raise UsageError(f"{name}: no such file")
        found = {_moved(name, here, root) for name in asked.models}
    else:
        found = _globbed(policy, root)
    for name in found:
        if not name.isascii() and name.encode("utf-8", "replace").decode("utf-8") != name:
            raise UsageError(f"{name!a}: a name that is not UTF-8 fits in no lock file")
    return iter(sorted(found))


def _globbed(policy: Policy, root: Path) -> set[str]:
    if not policy.models:
        raise UsageError(
            "no model to lint: give MODEL, or name models in a fusectl.yaml here or above"
        )
    left_out = [text.value for text in policy.exclude]
    found: set[str] = set()
    problems = []
    for text in policy.models:
        names = glob.glob(text.value, root_dir=root, recursive=True)
        files = {Path(os.path.normpath(n)).as_posix() for n in names if (root / n).is_file()}
        if not files:
            problems.append(Problem(text.span, f"models: {text.value} matches no file"))
        found |= {f for f in files if not any(path_matches(p, f) for p in left_out)}
    if problems:
        raise TableError(problems)
    return found


def _targets(asked: Asked, policy: Policy, tables: Tables, here: Path) -> tuple[str, ...]:
    """Return the targets, each of which can be loaded and has an id of its own."""
    if asked.target:
        name = asked.target
        if name.endswith((".yaml", ".yml")):
            name = _moved(name, here, tables.folder)
        chosen = [(name, Span(""))]
    else:
        chosen = [(text.value, text.span) for text in policy.targets]
    chosen = chosen or [(catalog(tables).defaults.target, Span(""))]
    ids: dict[str, str] = {}
    for name, span in chosen:
        try:
            id = target_of(tables, name)[0].id
        except UsageError as error:
            raise (TableError([Problem(span, str(error))]) if span.line else error) from None
        if id in ids:
            raise _twice(id, span)
        ids[id] = name
    return tuple(ids.values())


def _twice(id: str, span: Span) -> FusectlError:
    return TableError([Problem(span, f"the target {id} is named twice")])


def _again(asked: Asked) -> Iterable[str]:
    """Return the command line without models, and without what was asked to be done."""
    yield from ("fusectl", "lint")
    pairs = (("--target", asked.target), ("--config", asked.config), ("--baseline", asked.baseline))
    for name, value in pairs:
        if value:
            yield from (name, value)
    for path in asked.rules:
        yield from ("--rules", path)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
