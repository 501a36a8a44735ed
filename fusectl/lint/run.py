"""All models of one run: what is remembered first, the rest in processes; then one report."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fusectl import __version__
from fusectl.lint import pool
from fusectl.lint.cache import Cache
from fusectl.lint.changes import again
from fusectl.lint.locked import Lock
from fusectl.lint.policy import Level, Policy
from fusectl.lint.program import digest_of
from fusectl.lint.read import patterns
from fusectl.lint.relock import relocked
from fusectl.lint.severity import severity
from fusectl.lint.suppress import Suppressions
from fusectl.lint.tables import Tables, target_of
from fusectl.lint.task import Failed, Held, Linted, Task, fingerprint
from fusectl.lint.work import judge
from fusectl.report.lint import (
    SCHEMA,
    Code,
    LintedModel,
    LintFinding,
    LintReport,
    LintSummary,
    Place,
)
from fusectl.report.types import Tool

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What one run of ``lint`` is asked for.

    ``root`` is the folder of the policy; ``models`` are paths relative to it, ``targets`` ids or
    YAML files. ``config`` and ``baseline`` are what to call the two files (no policy: empty),
    ``lock`` the lock file's contents. ``whole`` says that everything the policy names is linted,
    ``again`` is the command line that says the same once more, but for its models; ``here`` is the
    folder in which it would be typed.
    """

    root: Path
    policy: Policy
    config: str
    models: tuple[str, ...]
    targets: tuple[str, ...]
    tables: Tables
    baseline: str
    lock: Lock | None
    whole: bool
    update: bool
    accept: frozenset[str]
    jobs: int
    seconds: float
    cache: Path | None
    today: datetime.date
    again: tuple[str, ...]
    here: Path


@dataclass(frozen=True, slots=True)
class Result:
    """The report, and the lock file as it should be now; None where it stays as it is.

    ``beside`` are files beside the models that were asked.
    """

    report: LintReport
    lock: Lock | None
    beside: tuple[str, ...]


def lint(request: Request, progress: Progress | None = None) -> Result:
    """Lint all models. Raises UsageError for a fingerprint to accept that no change has."""
    tasks = list(_tasks(request))
    done = _answers(tasks, request, progress)
    results = [(task, done[n]) for n, task in enumerate(tasks)]
    found = list(_without_lock(request))
    found += [f for task, result in results for f in _findings(request, task, result)]
    missing = list(_missing(request))
    found += [f for f in missing if f.fingerprint not in request.accept]
    found += _nowhere(request, [r for _, r in results])
    lock = relocked(request, results, missing)
    suppressions = Suppressions(request.policy, request.config, request.today)
    found = list(suppressions.apply(found))
    answered = all(isinstance(r, Linted) for _, r in results)
    settled = request.update or bool(request.accept)
    found += suppressions.findings(request.whole and answered and not settled)
    beside = tuple(p for _, r in results if isinstance(r, Linted) for p in r.beside)
    return Result(_report(request, results, found), lock, beside)


def _tasks(request: Request) -> Iterator[Task]:
    lock = request.lock
    for model in request.models:
        for target in request.targets:
            id = target_of(request.tables, target)[0].id
            held = None
            if lock is not None:
                known = lock.models.get(model, {})
                held = Held(request.baseline, known.get(id), lock.targets.get(id), tuple(known))
            yield Task(
                request.root / model,
                model,
                target,
                request.tables,
                request.policy,
                request.config,
                held,
                request.update,
                request.accept,
                _command(request, model),
            )


def _command(request: Request, *models: str) -> str:
    """Return the command line that lints these models, or all that the policy names."""
    if request.whole:
        return again(request.again)
    head, tail = request.again[:2], request.again[2:]
    names = (os.path.relpath(request.root / model, request.here) for model in models)
    return again((*head, *names, *tail))


def _answers(
    tasks: list[Task], request: Request, progress: Progress | None
) -> dict[int, Linted | Failed]:
    """Return what came of each task, by its number."""
    cache = Cache(request.cache)
    done: dict[int, Linted | Failed] = {}
    for number, task in enumerate(tasks):
        known = _remembered(task, cache) if request.cache is not None else None
        if known is not None:
            done[number] = known
            if progress is not None:
                progress(task.model)
    waiting = [n for n in range(len(tasks)) if n not in done]
    if waiting:
        chosen = [tasks[n] for n in waiting]
        for index, answer in pool.run(chosen, request.jobs, request.seconds, request.cache):
            done[waiting[index]] = answer
            if progress is not None:
                progress(chosen[index].model)
        cache.prune()
    return done


def _remembered(task: Task, cache: Cache) -> Linted | None:
    try:
        found = cache.get(task, digest_of(task.path))
    except OSError:
        return None  # the one who explains it says what is wrong
    return judge(task, found) if found is not None else None


def _findings(request: Request, task: Task, result: Linted | Failed) -> Iterator[LintFinding]:
    if isinstance(result, Linted):
        yield from result.findings
        return
    helps = {
        "model-unusable": "mend the model, or take it out of the policy",
        "model-crashed": "report it with the model, or take the model out of the policy",
        "model-timeout": "give more time with --timeout, or take the model out of the policy",
    }
    target = target_of(request.tables, task.target)[0].id
    key = fingerprint(result.code, task.model, target)
    text = result.message
    yield from _plain(request, result.code, task.model, target, text, helps[result.code], key)


def _without_lock(request: Request) -> Iterator[LintFinding]:
    """Say how to make a lock file where there is none."""
    if request.lock is None and not request.update:
        stated = request.policy.severity.get("model-unlocked")
        yield from _plain(
            request,
            "model-unlocked",
            "",
            "",
            f"there is no {request.baseline}, so no decision is held still",
            "write it with the command below, and commit it",
            fingerprint("model-unlocked", request.baseline),
            Place(request.baseline),
            f"{_command(request, *request.models)} --update-baseline",
            stated.value if stated else "warning",
        )


def _missing(request: Request) -> Iterator[LintFinding]:
    """Yield a finding for each section of the lock file that nothing was linted for."""
    if not request.whole or request.lock is None or request.update:
        return
    ids = {target_of(request.tables, t)[0].id for t in request.targets}
    for model, sections in sorted(request.lock.models.items()):
        for target in sorted(sections):
            if model in request.models and target in ids:
                continue
            what = "this model" if model not in request.models else "this target"
            text = f"the lock file has a section for {what}, and the policy does not name it"
            key = fingerprint("model-missing", model, target)
            line = sections[target].span.line - 1
            where = Place(request.baseline, max(line, 1), 1)
            accept = again((*request.again, "--accept", key))
            help = "name it in the policy again, or take its section out"
            yield from _plain(
                request, "model-missing", model, target, text, help, key, where, accept
            )


def _nowhere(request: Request, results: list[Linted | Failed]) -> Iterator[LintFinding]:
    """Yield a finding for each demand of the policy that no edge of any model meets."""
    if not request.whole or not all(isinstance(r, Linted) for r in results):
        return
    met = {n for r in results if isinstance(r, Linted) for n in r.met}
    policy = request.policy
    for number, pattern in enumerate(patterns(policy.must_fuse)):
        if number not in met:
            text = f"no model has an edge {pattern.edge.value}, which must fuse"
            key = fingerprint("must-fuse", pattern.edge.value)
            where = Place(request.config, pattern.edge.span.line, pattern.edge.span.column)
            help = "write the edge as explain shows it, or take it out of the policy"
            yield from _plain(request, "must-fuse", "", "", text, help, key, where)


def _plain(
    request: Request,
    code: Code,
    model: str,
    target: str,
    text: str,
    help: str,
    key: str,
    where: Place | None = None,
    accept: str = "",
    level: Level | None = None,
) -> Iterator[LintFinding]:
    """Yield a finding that is about no single edge, unless the policy switches it off."""
    level = level or severity(request.policy, code)
    if level != "off":
        where = where or Place(model)
        yield LintFinding(
            code, level, model, target, text, "", help, accept,
            "", "", None, None, None, None, where, "", key,
        )  # fmt: skip


def _report(
    request: Request, results: list[tuple[Task, Linted | Failed]], found: list[LintFinding]
) -> LintReport:
    models = []
    for task, result in results:
        if isinstance(result, Linted):
            models.append(result.model)
        else:
            target = target_of(request.tables, task.target)[0].id
            models.append(LintedModel(task.model, target, 0, 0, 0, 1, result.message))
    counted = [f.severity for f in found if f.suppressed is None]
    summary = LintSummary(
        len(request.models),
        counted.count("error"),
        counted.count("warning"),
        counted.count("info"),
        len(found) - len(counted),
    )
    return LintReport(
        SCHEMA,
        Tool("fusectl", __version__),
        request.config,
        request.baseline if request.lock is not None or request.update else "",
        summary,
        tuple(models),
        tuple(found),
    )
