"""What the lock file should hold after a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fusectl.errors import UsageError
from fusectl.lint.locked import Lock, LockedTarget, Section
from fusectl.lint.lockfile import empty_lock
from fusectl.lint.task import Failed, Linted, Task
from fusectl.report.lint import LintFinding

if TYPE_CHECKING:
    from fusectl.lint.run import Request

Results = Sequence[tuple[Task, Linted | Failed]]


def relocked(request: Request, results: Results, missing: Iterable[LintFinding]) -> Lock | None:
    """Return the lock file to write, or None. Raises UsageError for an unknown fingerprint."""
    if request.update:
        return _updated(request, results)
    if request.accept:
        return _with_accepted(request, results, missing)
    return None


def _updated(request: Request, results: Results) -> Lock:
    old = request.lock or empty_lock()
    models = {m: dict(s) for m, s in old.models.items()}
    if request.whole:
        # A model that gave no answer this time keeps what was known of it.
        failed = {t.model for t, r in results if isinstance(r, Failed)}
        models = {m: s for m, s in models.items() if m in failed}
    targets = dict(old.targets)
    for task, result in results:
        if isinstance(result, Linted):
            models.setdefault(task.model, {})[result.model.target] = result.section
            targets[result.model.target] = result.tables
    return _lock(old, models, targets)


def _with_accepted(request: Request, results: Results, missing: Iterable[LintFinding]) -> Lock:
    if request.lock is None:
        raise UsageError(f"{request.baseline}: there is no lock file to accept a change into")
    old = request.lock
    linted = [(t, r) for t, r in results if isinstance(r, Linted)]
    known = {f for _, r in linted for f in r.accepted}
    gone = [f for f in missing if f.fingerprint in request.accept]
    known |= {f.fingerprint for f in gone}
    unknown = sorted(request.accept - known)
    if unknown:
        raise UsageError(
            f"no change has the fingerprint {', '.join(unknown)}; fusectl lint shows the changes"
        )
    models = {m: dict(s) for m, s in old.models.items()}
    for task, result in linted:
        if result.accepted:
            models[task.model][result.model.target] = result.section
    for finding in gone:
        del models[finding.model][finding.target]
    targets = dict(old.targets)
    still_open = {r.model.target for _, r in linted if r.open_changes}
    if request.whole and len(linted) == len(results):
        targets |= {r.model.target: r.tables for _, r in linted if r.model.target not in still_open}
    return _lock(old, models, targets)


def _lock(
    old: Lock, models: dict[str, dict[str, Section]], targets: dict[str, LockedTarget]
) -> Lock:
    models = {model: sections for model, sections in models.items() if sections}
    used = {target for sections in models.values() for target in sections}
    return Lock(old.lock, {t: v for t, v in targets.items() if t in used}, models)
