"""The Python interface: what the commands do, without a subprocess.

>>> import fusectl
>>> report = fusectl.explain("model.onnx")
>>> [d.edge.value for d in report.decisions if d.verdict == "fuse"]
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from fusectl.audit.audit import audit_model
from fusectl.compare import Account, account, compare, wiring
from fusectl.errors import UsageError
from fusectl.lint.asked import Asked
from fusectl.lint.front import lint_asked
from fusectl.pipeline import (
    Fused,
    check_program,
    decided,
    explain,
    fuse,
    load_rules,
    lower,
    survey,
)
from fusectl.report.comparison import Comparison
from fusectl.report.lint import LintReport
from fusectl.report.plan import Plan
from fusectl.report.types import SCHEMA, Report
from fusectl.report.verification import Verification
from fusectl.rewrite.store import Store, check_output
from fusectl.tables import Catalog, Rule, Target
from fusectl.tables.digest import tables_digest
from fusectl.tables.target_schema import Demand

__all__ = [
    "Plan",
    "apply_fusions",
    "audit_model",
    "check_program",
    "compare_models",
    "compare_reports",
    "compare_targets",
    "explain",
    "lint_models",
    "load_rules",
    "load_target",
    "lower",
    "read_report",
    "rules",
    "targets",
    "verify_fusions",
]


def load_target(name: str | Path, *rules: str | Path) -> Target:
    """Load a target by id or by the path of its YAML file."""
    return load_rules(*rules).target(str(name))


def targets(*rules: str | Path) -> list[str]:
    """Return the ids of all targets."""
    return sorted(load_rules(*rules).documents)


def rules(*paths: str | Path) -> list[Rule]:
    """Return all rules in the order of their files."""
    return list(load_rules(*paths).rules.values())


def read_report(path: str | Path) -> Report:
    """Read a report that ``explain --format json`` wrote. Raises UsageError."""
    try:
        report = msgspec.json.decode(Path(path).read_bytes(), type=Report)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no report of explain --format json: {error}") from None
    if report.schema != SCHEMA:
        raise UsageError(f"{path}: its schema is {report.schema!r}, this version reads {SCHEMA!r}")
    return report


def compare_reports(a: Report, b: Report, labels: tuple[str, str] = ("", "")) -> Comparison:
    """Compare two reports: which decisions differ, and what made them differ."""
    return compare(account(a), account(b), labels)


def compare_models(
    a: str | Path,
    b: str | Path,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
) -> Comparison:
    """Compare two models on one target."""
    catalog, chosen = _tables(target, rules)
    return compare(_account(a, chosen, catalog), _account(b, chosen, catalog))


def compare_targets(
    model: str | Path,
    a: str | Path,
    b: str | Path,
    *,
    rules: Iterable[str | Path] | Catalog = (),
) -> Comparison:
    """Compare two targets, by id or by YAML file, on one model."""
    catalog = rules if isinstance(rules, Catalog) else load_rules(*rules)
    sides = [_account(model, catalog.target(str(name)), catalog) for name in (a, b)]
    return compare(sides[0], sides[1], (str(a), str(b)))


def _account(model: str | Path, target: Target, catalog: Catalog) -> Account:
    found = survey(model, target, rules=catalog)
    return account(found.report, tables_digest(catalog, target), wiring(found.model()))


def lint_models(
    *models: str | Path,
    target: str | Path = "",
    config: str | Path = "",
    baseline: str | Path = "",
    rules: Iterable[str | Path] = (),
    update_baseline: bool = False,
    accept: Iterable[str] = (),
    jobs: int = 0,
    timeout: float = 0.0,
    cache: bool = True,
    today: datetime.date | None = None,
    folder: str | Path = ".",
    progress: Callable[[str, int], None] | None = None,
) -> LintReport:
    """Hold models against the lock file and the policy, as ``fusectl lint`` does.

    Without ``models`` those of the policy are linted, which is looked for from ``folder`` up
    unless ``config`` names it. ``update_baseline`` writes the lock file, ``accept`` takes the
    changes with these fingerprints into it. ``jobs`` is the number of processes (0: as many as
    there are cores), ``timeout`` the seconds for one model (0: the policy's, else 120), ``today``
    the day on which suppressions are held to their expiry. ``progress`` is called with the model
    that is done and with how many there are. Raises FusectlError where the input is unusable.
    """
    asked = Asked(
        Path(folder),
        tuple(map(str, models)),
        str(target) if target else "",
        str(config) if config else "",
        str(baseline) if baseline else "",
        tuple(map(str, rules)),
        update_baseline,
        tuple(accept),
        jobs,
        timeout,
        cache,
        today,
    )
    return lint_asked(asked, progress)


def apply_fusions(
    model: str | Path,
    target: str | Target | None = None,
    *,
    output: str | Path = "",
    rules: Iterable[str | Path] | Catalog = (),
    skip: Iterable[str] = (),
    only: Iterable[str] = (),
    overwrite: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Apply the fusions of a target to a model file, and write the fused model to ``output``.

    Without ``output`` nothing is written. ``skip`` and ``only`` name rules, or edges as ``U`` or
    ``U:CONSUMER``; ``overwrite`` allows ``output`` to be the model itself, and to replace data
    files. Returns the plan of what is written. Raises FusectlError where something is unusable;
    then nothing is written.
    """
    path, place = str(model), str(output)
    if place:
        check_output(place, path, overwrite)
    fused = fuse(path, target, rules=rules, skip=skip, only=only, progress=progress)
    return store(fused, place, overwrite) if place else fused.plan


def verify_fusions(
    model: str | Path,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    skip: Iterable[str] = (),
    only: Iterable[str] = (),
    equivalence: Demand | None = None,
    time: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Run a model against its fused form: each fused node, then the whole.

    The runtime that is installed runs both with its optimisations off, else ONNX's reference
    evaluator. Where the target says how it runs a program (lowering), the simulator runs the
    fused and the unfused program of every decision. ``equivalence`` says what has to hold:
    "bitwise", "bound", or "reassociate" (see ``fusectl.tables.target_schema.Demand``); None: what
    the target asks for, else its bound, and of programs the bits as well where a fusion keeps
    them. ``time`` measures how long both sides take in the runtime.
    Raises FusectlError where the input is unusable.
    """
    catalog, chosen = _tables(target, rules)
    if chosen.lowering is not None:
        if time:
            raise UsageError(
                f"target {chosen.id} runs programs in a simulator, whose time says nothing of the "
                "machine's; --time needs a target that a runtime runs"
            )
        from fusectl.verify.programs import verify_programs

        found = decided(str(model), chosen, rules=catalog, skip=skip, only=only, progress=progress)
        return verify_programs(found, equivalence, progress)
    from fusectl.verify.fused import verify

    fused = fuse(str(model), chosen, rules=catalog, skip=skip, only=only, progress=progress)
    return verify(fused, progress, demand=equivalence, timed=time)


def _tables(
    target: str | Target | None, rules: Iterable[str | Path] | Catalog
) -> tuple[Catalog, Target]:
    catalog = rules if isinstance(rules, Catalog) else load_rules(*rules)
    name = target or catalog.defaults.target
    return catalog, name if isinstance(name, Target) else catalog.target(name)


def store(fused: Fused, output: str, overwrite: bool = False) -> Plan:
    """Write a fused model; return its plan with what was written. Raises UsageError."""
    files = Store(output, fused.folder, fused.result.new, overwrite).write(fused.result.model)
    return msgspec.structs.replace(fused.plan, output=output, data_files=tuple(files))
