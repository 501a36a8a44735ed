"""``fusectl lint``: holds models to a lock file and a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fusectl.cli import complete
from fusectl.cli.lint_output import emit, pairs
from fusectl.cli.options import Formats, Seconds, extra_rules, lint_formats
from fusectl.cli.output import tell
from fusectl.cli.progress import progress_bar

if TYPE_CHECKING:
    from fusectl.report.lint import LintReport

CLEAN, FOUND, UNUSABLE = 0, 1, 2


@click.command(short_help="Hold models to a lock file and a policy.")
@click.argument("models", metavar="[MODEL]...", nargs=-1)
@click.option(
    "--target",
    default="",
    shell_complete=complete.targets,
    metavar="T",
    help="A target's id, or its YAML file.",
)
@click.option("--config", default="", metavar="FILE", help="The policy; else the nearest one.")
@click.option("--baseline", default="", metavar="FILE", help="The lock file.")
@click.option("--update-baseline", is_flag=True, help="Write what is now into the lock file.")
@click.option(
    "--accept",
    multiple=True,
    metavar="FINGERPRINT",
    help="Take this one change into the lock file. May be repeated.",
)
@extra_rules
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings, too.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Processes; else one for each core."
)
@click.option(
    "--timeout",
    type=Seconds(),
    metavar="SECONDS",
    help="How long one model may take on one target (default 120).",
)
@click.option("--no-cache", is_flag=True, help="Explain every model anew.")
@click.option(
    "--format",
    "form",
    type=Formats(lint_formats),
    default="text",
    show_default=True,
    help="How to write the findings.",
)
@click.option("-o", "--output", default="", metavar="FILE", help="Write to a file.")
@click.option(
    "--also",
    multiple=True,
    callback=pairs,
    metavar="FORMAT=FILE",
    help="Write the findings to a file in another format, too. May be repeated.",
)
def lint(
    models: tuple[str, ...],
    target: str,
    config: str,
    baseline: str,
    update_baseline: bool,
    accept: tuple[str, ...],
    folders: tuple[str, ...],
    strict: bool,
    jobs: int | None,
    timeout: float | None,
    no_cache: bool,
    form: str,
    output: str,
    also: tuple[tuple[str, str], ...],
) -> int:
    """Hold models to a lock file and a policy: what fuses must not change unseen.

    Without MODEL it lints the models that the policy names: fusectl.yaml, or [tool.fusectl] in
    pyproject.toml, in this folder or above. The lock file is fusion.lock.yaml beside the policy.
    """
    from pathlib import Path

    from fusectl.errors import UsageError
    from fusectl.lint.asked import Asked
    from fusectl.lint.front import lint_asked
    from fusectl.lint.prepare import start_of

    if update_baseline and accept:
        raise UsageError("--update-baseline takes every change, --accept one: give one of them")
    asked = Asked(
        Path(),
        models,
        target,
        config,
        baseline,
        folders,
        update_baseline,
        accept,
        jobs or 0,
        timeout or 0.0,
        not no_cache,
    )
    # Not by the API: what is remembered needs nothing that it imports.
    with progress_bar("lint") as step:
        report = lint_asked(asked, step)
    if update_baseline or accept:
        tell(_written(report, accept))
    emit(report, form, output, also, start_of(config, baseline))
    return _code(report, strict)


def _written(report: LintReport, accept: tuple[str, ...]) -> str:
    if accept:
        changes = "1 change" if len(accept) == 1 else f"{len(accept)} changes"
        return f"{report.baseline}: {changes} accepted"
    held = [m for m in report.models if not m.error]
    decisions = sum(m.candidates for m in held)
    models = len({m.model for m in held})
    return (
        f"{report.baseline}: {models} {'model' if models == 1 else 'models'}, "
        f"{decisions} {'decision' if decisions == 1 else 'decisions'}"
    )


def _code(report: LintReport, strict: bool) -> int:
    """Return the exit code: 2 where not one model could be read."""
    unusable = sum(f.code == "model-unusable" for f in report.findings)
    if report.models and unusable == len(report.models):
        return UNUSABLE
    summary = report.summary
    return FOUND if summary.error or (strict and summary.warning) else CLEAN
