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
from fusectl.decide import Run, decide
from fusectl.decide.engine import Options, unfused
from fusectl.errors import UsageError, did_you_mean
from fusectl.graph import ModelView, load_model
from fusectl.graph.read import parse, read_bytes
from fusectl.report.build import build
from fusectl.report.layers import UnequalError
from fusectl.report.plan import Plan, plan
from fusectl.report.types import Report
from fusectl.rewrite.check import bare, trouble
from fusectl.rewrite.rounds import Result, as_seen, rewrite, values_of
from fusectl.rewrite.store import folder_of
from fusectl.tables import Catalog, Target, load_catalog
from fusectl.tables.operators import Operators
from fusectl.tables.schedule import check_nodes, read_schedule
from fusectl.tables.target_schema import DEMANDS

if TYPE_CHECKING:
    import onnx  # noqa: TID251  # for annotations only

    from fusectl.lower.difference import Diff, Difference
    from fusectl.program import Program


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


@dataclass(frozen=True, slots=True)
class Decided:
    """A whole model as a target decides it: every scope.

    Of the main graph also what is left with no rule at all (``plain``), and without those that put
    a function behind a product (``sums``).
    """

    loaded: ModelView
    target: Target
    operators: Operators
    runs: tuple[Run, ...]
    plain: Run
    sums: Run


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
    ``rules`` further rule files and folders, or a Catalog; ``equivalence`` is asked for in place
    of what the target asks: "bitwise" refuses fusions that round differently, "bound" and
    "reassociate" do not; ``skip`` names rules to switch off; ``schedule`` is a YAML file that says
    how products are grouped and split, in place of the target's own tiler; ``diff`` adds
    instructions or kernels before and after: of ``accepted`` candidates, or also what refused
    ones ``would`` have been.
    Raises FusectlError (ModelError, TableError, UsageError) where the input is unusable.
    """
    catalog, chosen = _tables(target, rules, schedule)
    if equivalence and equivalence not in DEMANDS:
        hint = did_you_mean(equivalence, DEMANDS)
        told = f"one of {', '.join(DEMANDS)}"
        raise UsageError(f"unknown equivalence {equivalence}; {hint or told}")
    options = Options(equivalence, _known(skip, catalog))
    with _no_collection():
        if diff == "none":
            return _surveyed(model, chosen, catalog, options, progress).report
        loaded = _load(model, catalog, chosen, short=False)
        runs = decide(loaded, chosen, catalog, options, progress)
        changed = _difference(loaded, chosen, catalog, runs, diff)
        return build(loaded, chosen, catalog.operators, runs, changed)


def survey(
    model: str | Path | onnx.ModelProto,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
) -> Survey:
    """Explain as ``explain`` does, and return the model as well."""
    catalog, chosen = _tables(target, rules)
    with _no_collection():
        return _surveyed(model, chosen, catalog, Options(), None)


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

    # A schedule names nodes, each of which is then a case of its own.
    loaded = _load(model, catalog, target, short=not target.schedule)
    try:
        return answer(loaded)
    except UnequalError:
        return answer(loaded.whole())


def _load(
    model: str | Path | onnx.ModelProto, catalog: Catalog, target: Target, short: bool
) -> ModelView:
    alike, like_first = catalog.operators.alike(), catalog.operators.like_first()
    loaded = load_model(model, alike, like_first, short=short, inline=target.inline)
    if target.schedule:
        check_nodes(target.schedule, _names(loaded))
    return loaded


def _names(model: ModelView) -> Iterator[str]:
    for view in model:
        for node in view.nodes:
            yield node.label
            yield from node.outputs[:1]


def _difference(
    model: ModelView, target: Target, catalog: Catalog, runs: list[Run], diff: Diff
) -> Difference:
    from fusectl.lower.difference import difference

    plain = unfused(model, target, catalog)
    return difference(runs, plain, target, catalog.operators, diff)


def decided(
    model: str | Path | onnx.ModelProto,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    skip: Iterable[str] = (),
    only: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Decided:
    """Decide a whole model, to run what was decided.

    ``skip`` and ``only`` name rules, or edges as ``U`` or ``U:CONSUMER``.
    Raises FusectlError where the input is unusable.
    """
    catalog, chosen = _tables(target, rules)
    options = Options("", frozenset(skip), frozenset(only))
    with _no_collection():
        loaded = _load(model, catalog, chosen, short=False)
        _check_words(options, lambda: _values(loaded), catalog)
        runs = decide(loaded, chosen, catalog, options, progress)
        plain = unfused(loaded, chosen, catalog)
        behind = {n for n, rule in catalog.rules.items() if rule.slots.takes == "post"}
        fewer = Options("", options.skip | behind, options.only)
        sums = decide(loaded, chosen, catalog, fewer)[0]
    return Decided(loaded, chosen, catalog.operators, tuple(runs), plain, sums)


def _values(model: ModelView) -> set[str]:
    made = {o for view in model for node in view.nodes for o in node.outputs if o}
    return made.union(*(view.inputs for view in model))


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

    catalog, chosen = _tables(target, rules, schedule)
    off = frozenset(catalog.rules) if unfused else _known(skip, catalog)
    with _no_collection():
        loaded = _load(model, catalog, chosen, short=False)
        runs = decide(loaded, chosen, catalog, Options("", off), progress)
        try:
            return lower_run(runs[0], chosen, catalog.operators, loaded.path, not unfused)
        except Unlowerable as error:
            raise UsageError(f"{loaded.path}: {error}") from None


def check_program(program: Program) -> list[str]:
    """Run every validator on a program; return what is wrong, one line each."""
    from fusectl.lower.validate import validate

    return [str(violation) for violation in validate(program)]


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
        _check_words(options, lambda: values_of(as_seen(model, chosen)), catalog)
        result = rewrite(model, name, folder, chosen, catalog, options, progress)
        wrong = trouble(bare(result.model)) if result.rounds else ""
        if wrong:
            if not trouble(result.before):
                raise RuntimeError(f"the fused model is not valid: {wrong}")
            result.notes.append(f"ONNX's checker refuses the model as it was: {wrong}")
    return Fused(name, folder, chosen, result, plan(result, name, digest, chosen))


def _tables(
    target: str | Target | None,
    rules: Iterable[str | Path] | Catalog,
    schedule: str | Path | None = None,
) -> tuple[Catalog, Target]:
    """Return the tables of a run. Raises UsageError, TableError."""
    catalog = rules if isinstance(rules, Catalog) else load_rules(*rules)
    name = target or catalog.defaults.target
    chosen = name if isinstance(name, Target) else catalog.target(name)
    if schedule is not None:
        chosen = chosen.scheduled(read_schedule(Path(schedule)))
    return catalog, chosen


def _known(skip: Iterable[str], catalog: Catalog) -> frozenset[str]:
    """Return rules that are switched off. Raises UsageError for one that does not exist."""
    off = frozenset(skip)
    for name in off - set(catalog.rules):
        hint = did_you_mean(name, catalog.rules)
        raise UsageError(f"unknown rule {name!r}; {hint or 'fusectl rules list shows them'}")
    return off


def _check_words(options: Options, values: Callable[[], set[str]], catalog: Catalog) -> None:
    """Refuse words of ``skip`` and ``only`` that are neither a rule nor a value of the model."""
    words = options.skip | options.only
    if not words - set(catalog.rules):
        return
    known = {*catalog.rules, *values()}
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
