"""One model through all rooms: load it, decide, report. What every command starts from."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fusectl.checks import known_names
from fusectl.decide import decide
from fusectl.decide.engine import Options
from fusectl.errors import UsageError, did_you_mean
from fusectl.graph import ModelView, load_model
from fusectl.graph.read import parse, read_bytes
from fusectl.report.build import build
from fusectl.report.layers import UnequalError
from fusectl.report.plan import Plan, plan
from fusectl.report.types import Report
from fusectl.rewrite.check import bare, trouble
from fusectl.rewrite.rounds import Result, rewrite, values_of
from fusectl.rewrite.store import folder_of
from fusectl.tables import Catalog, Target, load_catalog

if TYPE_CHECKING:
    import onnx  # noqa: TID251  # for annotations only


@dataclass(frozen=True, slots=True)
class Survey:
    """A report together with what was loaded for it: equal layers may be missing there."""

    report: Report
    loaded: ModelView

    def model(self) -> ModelView:
        """Return the whole model."""
        return self.loaded.whole() if self.loaded.repeat else self.loaded


@dataclass(frozen=True, slots=True)
class Fused:
    """A model with its fusions applied, and the plan of what was done."""

    name: str
    folder: Path | None
    target: Target
    result: Result
    plan: Plan


def explain(
    model: str | Path | onnx.ModelProto,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    equivalence: str = "",
    skip: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Explain every fusion candidate of a model on a target.

    ``model`` is a path, ``-`` or a ModelProto; ``target`` an id, a YAML file or a Target (None:
    the default of ``rules/defaults.yaml``);
    ``rules`` further rule files and folders, or a Catalog; ``equivalence="exact"`` refuses
    fusions that round differently; ``skip`` names rules to switch off.
    Raises FusectlError (ModelError, TableError, UsageError) where the input is unusable.
    """
    return survey(
        model, target, rules=rules, equivalence=equivalence, skip=skip, progress=progress
    ).report


def survey(
    model: str | Path | onnx.ModelProto,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    equivalence: str = "",
    skip: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Survey:
    """Explain as ``explain`` does, and return the model as well."""
    catalog, chosen = _tables(target, rules)
    off = frozenset(skip)
    for name in off - set(catalog.rules):
        hint = did_you_mean(name, catalog.rules)
        raise UsageError(f"unknown rule {name!r}; {hint or 'fusectl rules list shows them'}")
    with _no_collection():
        return _surveyed(model, chosen, catalog, Options(equivalence, off), progress)


def _surveyed(
    model: str | Path | onnx.ModelProto,
    target: Target,
    catalog: Catalog,
    options: Options,
    progress: Callable[[str], None] | None,
) -> Survey:
    """Decide a model with equal layers taken out, and all of it only where that does not do."""

    def answer(loaded: ModelView) -> Survey:
        runs = decide(loaded, target, catalog, options, progress)
        return Survey(build(loaded, target, catalog.operators, runs), loaded)

    alike, like_first = catalog.operators.alike(), catalog.operators.like_first()
    loaded = load_model(model, alike, like_first, short=True)
    try:
        return answer(loaded)
    except UnequalError:
        return answer(loaded.whole())


def fuse(
    path: str,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    skip: Iterable[str] = (),
    only: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Fused:
    """Apply the fusions of a target to the model at ``path``, in memory.

    ``skip`` and ``only`` name rules, or edges as ``U`` or ``U:CONSUMER``.
    Raises FusectlError where the input is unusable.
    """
    catalog, chosen = _tables(target, rules)
    options = Options("", frozenset(skip), frozenset(only))
    name, data = read_bytes(path)
    model = parse(name, data)
    digest = hashlib.sha256(data).hexdigest()
    del data
    folder = folder_of(path, model)
    with _no_collection():
        _check_words(options, model, catalog)
        result = rewrite(model, name, folder, chosen, catalog, options, progress)
        wrong = trouble(bare(result.model)) if result.rounds else ""
        if wrong:
            if not trouble(result.before):
                raise RuntimeError(f"the fused model is not valid: {wrong}")
            result.notes.append(f"ONNX's checker refuses the model as it was: {wrong}")
    return Fused(name, folder, chosen, result, plan(result, name, digest, chosen))


def _tables(
    target: str | Target | None, rules: Iterable[str | Path] | Catalog
) -> tuple[Catalog, Target]:
    catalog = rules if isinstance(rules, Catalog) else load_rules(*rules)
    name = target or catalog.defaults.target
    return catalog, name if isinstance(name, Target) else catalog.target(name)


def _check_words(options: Options, model: onnx.ModelProto, catalog: Catalog) -> None:
    """Refuse words of ``skip`` and ``only`` that are neither a rule nor a value of the model."""
    words = options.skip | options.only
    if not words - set(catalog.rules):
        return
    known = {*catalog.rules, *values_of(model)}
    for word in sorted(words):
        if word not in known and word.rpartition(":")[0] not in known:
            hint = did_you_mean(word, known) or "fusectl explain shows both"
            raise UsageError(f"{word!r} is neither a rule nor a value of the model; {hint}")


def load_rules(*paths: str | Path) -> Catalog:
    """Load the shipped rules and targets and the user's files or folders."""
    return load_catalog([Path(p) for p in paths], known_names())


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector: a large graph makes millions of objects and no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
