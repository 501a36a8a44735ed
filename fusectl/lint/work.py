"""One model on one target: explained, or remembered, and held against lock file and policy."""

from __future__ import annotations

import os

import msgspec

from fusectl.compare.account import Account, account, wiring
from fusectl.errors import FusectlError, UsageError
from fusectl.lint.accept import accepted
from fusectl.lint.changes import Changed, again, change_findings
from fusectl.lint.demands import Demands
from fusectl.lint.locked import LockedTarget, Section, section
from fusectl.lint.places import Places
from fusectl.lint.severity import severity
from fusectl.lint.tables import catalog, target_of
from fusectl.lint.task import Failed, Linted, Task, fingerprint
from fusectl.pipeline import survey
from fusectl.report.lint import LintedModel, LintFinding, Place


def explained(task: Task) -> Account:
    """Explain a model. Raises FusectlError.

    Its paths to rules are those of the policy's folder, wherever it runs.
    """
    target, digest = target_of(task.tables, task.target)
    found = survey(task.path, target, rules=catalog(task.tables))
    made = account(found.report, digest, wiring(found.model()))
    folder = task.path.resolve().parent
    beside = sorted(os.path.relpath(path, folder) for path in found.loaded.external)
    return msgspec.structs.replace(made, beside=tuple(beside))


def failure(error: BaseException, task: Task) -> Failed:
    """Return why there is no answer, on one line, with the model's name as it is shown."""
    if isinstance(error, UsageError | FusectlError):
        text = str(error).replace(str(task.path), task.model)
        return Failed("model-unusable", text.removeprefix(f"{task.model}: "))
    if isinstance(error, MemoryError):
        return Failed("model-crashed", "out of memory: the model is too large for this machine")
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    at = f" in {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    text = " ".join(f"a bug in fusectl: {type(error).__name__}{at}: {error}".split())
    return Failed("model-crashed", text)


def judge(task: Task, found: Account) -> Linted:
    """Hold an account against the lock file and the policy."""
    places = Places(task.path, task.model)
    fresh = section(found)
    findings: list[LintFinding] = []
    taken: list[Changed] = []
    left: list[Changed] = []
    held, now = task.held, fresh
    if held is not None and held.section is None:
        findings += _unlocked(task, found, held.others)
    elif held is not None and held.section is not None and not task.update:
        changed = change_findings(task, held, held.section, found, places)
        taken = [c for c in changed if c.finding.fingerprint in task.accept]
        left = [c for c in changed if c.finding.fingerprint not in task.accept]
        findings += [c.finding for c in left if not c.off]
        now = _section(held.section, found, taken, left)
    demands = Demands(task, found, places)
    findings += demands.findings()
    fused = sum(a.verdict == "fuse" for a in found.answers)
    total = len(found.answers)
    return Linted(
        LintedModel(task.model, found.target, total, fused, total - fused, len(findings)),
        tuple(findings),
        now,
        LockedTarget(found.version, found.tables),
        bool(left),
        frozenset(demands.met),
        frozenset(c.finding.fingerprint for c in taken),
        tuple(str(task.path.resolve().parent / name) for name in found.beside),
    )


def _section(old: Section, found: Account, taken: list[Changed], left: list[Changed]) -> Section:
    if not taken:
        return old
    return accepted(old, found, [c.difference for c in taken], [c.difference for c in left])


def _unlocked(task: Task, found: Account, others: tuple[str, ...]) -> list[LintFinding]:
    level = severity(task.policy, "model-unlocked")
    key = fingerprint("model-unlocked", task.model, found.target)
    if level == "off" or task.update or key in task.accept:
        return []
    text = f"the lock file has no section for it on {found.target}"
    help = "update the lock file and commit it"
    if others:
        told = again(("fusectl", "compare", others[0], found.target, "--model", task.model))
        help = f"{told} shows what differs; then {help}"
    return [
        LintFinding(
            "model-unlocked",
            level,
            task.model,
            found.target,
            text,
            "",
            help,
            f"{task.again} --update-baseline",
            "",
            "",
            None,
            None,
            None,
            None,
            Place(task.model),
            "",
            key,
        )
    ]
