"""One model through all rooms: load it, decide, report. What every command starts from."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fusectl.checks import known_names
from fusectl.decide import Run, decide
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

    from fusectl.lower.difference import Diff, Difference
    from fusectl.program import Program


def explain(
    model: str | Path | onnx.ModelProto,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    equivalence: str = "",
    skip: Iterable[str] = (),
    schedule: str | Path | None = None,
    diff: Diff = "none",
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Explain every fusion candidate of a model on a target.

    ``model`` is a path, ``-`` or a ModelProto; ``target`` an id, a YAML file or a Target (None:
    the default of ``rules/defaults.yaml``);
    ``rules`` further rule files and folders, or a Catalog; ``equivalence="exact"`` refuses
    fusions that round differently; ``skip`` names rules to switch off; ``schedule`` is a YAML
    file that says how products are grouped and split, in place of the target's own tiler;
    ``diff`` adds instructions before and after: of ``accepted`` candidates, or also what refused
    ones ``would`` have been.
    Raises FusectlError (ModelError, TableError, UsageError) where the input is unusable.
    """
    catalog, chosen, off = _tables(rules, target, schedule, skip)
    with _no_collection():
        loaded = _load(model, catalog, chosen)
        runs = decide(loaded, chosen, catalog, Options(equivalence, off), progress)
        changed = _difference(loaded, chosen, catalog, runs, diff) if diff != "none" else None
        return build(loaded, chosen, catalog.operators, runs, changed)


def _difference(
    model: ModelView, target: Target, catalog: Catalog, runs: list[Run], diff: Diff
) -> Difference:
    from fusectl.lower.difference import difference

    if target.lowering is None:
        raise UsageError(
            f"target {target.id} does not say how it runs a program (lowering), so there are no "
            "instructions to compare"
        )
    plain = decide(model, target, catalog, Options("", frozenset(catalog.rules)))[0]
    return difference(runs, plain, target, catalog.operators, diff)


def lower(
    model: str | Path | onnx.ModelProto,
    target: str | Target,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    skip: Iterable[str] = (),
    schedule: str | Path | None = None,
    unfused: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Program:
    """Return the program of a model's main graph on a target that says how it runs one.

    The arguments are those of ``explain``; ``unfused`` switches every rule off.
    Raises FusectlError, also where a shape that is needed is not static.
    """
    from fusectl.lower import Unlowerable, lower_run

    catalog, chosen, off = _tables(rules, target, schedule, skip)
    if unfused:
        off = frozenset(catalog.rules)
    with _no_collection():
        loaded = _load(model, catalog, chosen)
        runs = decide(loaded, chosen, catalog, Options("", off), progress)
        try:
            return lower_run(runs[0], chosen, catalog.operators, loaded.path, not unfused)
        except Unlowerable as error:
            raise UsageError(f"{loaded.path}: {error}") from None


def check_program(program: Program) -> list[str]:
    """Run every validator on a program; return what is wrong, one line each."""
    from fusectl.lower.validate import validate

    return [str(violation) for violation in validate(program)]


def _tables(
    rules: Iterable[str | Path] | Catalog,
    target: str | Target | None,
    schedule: str | Path | None,
    skip: Iterable[str],
) -> tuple[Catalog, Target, frozenset[str]]:
    """Return the tables of a run. Raises UsageError, TableError."""
    catalog = rules if isinstance(rules, Catalog) else load_rules(*rules)
    name = target or catalog.defaults.target
    chosen = name if isinstance(name, Target) else catalog.target(name)
    if schedule is not None:
        chosen = chosen.scheduled(read_schedule(Path(schedule)))
    off = frozenset(skip)
    for name in off - set(catalog.rules):
        hint = did_you_mean(name, catalog.rules)
        raise UsageError(f"unknown rule {name!r}; {hint or 'fusectl rules list shows them'}")
    return catalog, chosen, off


def _load(model: str | Path | onnx.ModelProto, catalog: Catalog, target: Target) -> ModelView:
    loaded = load_model(model, catalog.operators.alike(), catalog.operators.like_first())
    if target.schedule:
        check_nodes(target.schedule, _names(loaded))
    return loaded


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
