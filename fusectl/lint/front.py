"""The way in: a run that is remembered, or else one that loads what it needs."""

from __future__ import annotations

from collections.abc import Callable

from fusectl.lint.asked import Asked
from fusectl.lint.memo import keep, recall
from fusectl.report.lint import LintReport


def lint_asked(asked: Asked, progress: Callable[[str, int], None] | None = None) -> LintReport:
    """Lint what is asked for, and write the lock file where that is asked. Raises FusectlError.

    ``progress`` is called with each model that is done and with how many there are.
    """
    known = recall(asked)
    if known is not None:
        return known
    # Only now: loading what explains a model takes longer than remembering.
    from fusectl.lint.lockfile import write_lock
    from fusectl.lint.prepare import inputs, prepare
    from fusectl.lint.run import lint

    request, path = prepare(asked)
    manifest = inputs(asked, request, path)
    total = len(request.models) * len(request.targets)
    told = (lambda model: progress(model, total)) if progress is not None else None
    result = lint(request, told)
    if result.lock is not None:
        write_lock(path, result.lock)
    keep(asked, manifest, result.beside, result.report)
    return result.report
