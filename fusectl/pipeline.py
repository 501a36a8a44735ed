"""One model through all rooms: load it, decide, report. What every command starts from."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fusectl.checks import known_names
from fusectl.decide import decide
from fusectl.decide.engine import Options
from fusectl.errors import UsageError, did_you_mean
from fusectl.graph import load_model
from fusectl.graph.view import ModelView
from fusectl.report.build import build
from fusectl.report.types import Report
from fusectl.tables import Catalog, Target, load_catalog
from fusectl.tables.schedule import check_nodes, read_schedule

if TYPE_CHECKING:
    import onnx  # noqa: TID251  # for annotations only


def explain(
    model: str | Path | onnx.ModelProto,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    equivalence: str = "",
    skip: Iterable[str] = (),
    schedule: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Explain every fusion candidate of a model on a target.

    ``model`` is a path, ``-`` or a ModelProto; ``target`` an id, a YAML file or a Target (None:
    the default of ``rules/defaults.yaml``);
    ``rules`` further rule files and folders, or a Catalog; ``equivalence="exact"`` refuses
    fusions that round differently; ``skip`` names rules to switch off; ``schedule`` is a YAML
    file that says how products are grouped and split, in place of the target's own tiler.
    Raises FusectlError (ModelError, TableError, UsageError) where the input is unusable.
    """
    catalog = rules if isinstance(rules, Catalog) else load_rules(*rules)
    name = target or catalog.defaults.target
    chosen = name if isinstance(name, Target) else catalog.target(name)
    plan = read_schedule(Path(schedule)) if schedule is not None else None
    if plan is not None:
        chosen = chosen.scheduled(plan)
    off = frozenset(skip)
    for name in off - set(catalog.rules):
        hint = did_you_mean(name, catalog.rules)
        raise UsageError(f"unknown rule {name!r}; {hint or 'fusectl rules list shows them'}")
    with _no_collection():
        loaded = load_model(model, catalog.operators.alike(), catalog.operators.like_first())
        if plan is not None:
            check_nodes(plan, _names(loaded))
        runs = decide(loaded, chosen, catalog, Options(equivalence, off), progress)
        return build(loaded, chosen, catalog.operators, runs)


def _names(model: ModelView) -> Iterator[str]:
    for view in model:
        for node in view.nodes:
            yield node.label
            yield from node.outputs[:1]


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
