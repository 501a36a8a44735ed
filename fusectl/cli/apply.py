"""``fusectl apply``: writes the model with its fusions applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fusectl.cli.options import extra_rules, list_format
from fusectl.cli.output import tell, write, write_lines
from fusectl.cli.progress import progress

if TYPE_CHECKING:
    from fusectl.report.plan import Plan

FOUND = 1


@click.command(short_help="Write a model with its fusions applied.")
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", default="", metavar="OUT", help="The model to write: .onnx.")
@click.option("--target", metavar="T", help="A target's id, or its YAML file.")
@extra_rules
@click.option(
    "--only", multiple=True, metavar="X", help="Only this rule, or edge U[:CONSUMER]. Repeatable."
)
@click.option(
    "--skip", multiple=True, metavar="X", help="Not this rule, or edge U[:CONSUMER]. Repeatable."
)
@click.option("--dry-run", is_flag=True, help="Show the plan and write nothing.")
@click.option("--verify", "check", is_flag=True, help="Write only what is verified by running it.")
@click.option("--overwrite", is_flag=True, help="Allow OUT to be MODEL, or to replace data files.")
@click.option("--full", is_flag=True, help="List every node that is written.")
@list_format
def apply(
    model: str,
    output: str,
    target: str | None,
    folders: tuple[str, ...],
    only: tuple[str, ...],
    skip: tuple[str, ...],
    dry_run: bool,
    check: bool,
    overwrite: bool,
    full: bool,
    form: str,
) -> int:
    """Write a model with the fusions of a target applied.

    Each fused group becomes one operator of the target, or a function whose body is the original
    nodes. Applying twice changes nothing. External data are copied beside OUT.
    """
    from fusectl import api
    from fusectl.pipeline import fuse
    from fusectl.rewrite.store import check_output

    if not output and not dry_run:
        raise click.UsageError("say where to write with -o OUT, or --dry-run to see the plan")
    if output:
        check_output(output, model, overwrite)
    catalog = api.load_rules(*folders)
    with progress(model) as step:
        fused = fuse(model, target, rules=catalog, skip=skip, only=only, progress=step)
    if check and not _verified(fused, form):
        _show(fused.plan, form, full, target is None)
        tell(f"{output or model}: nothing is written, as the fused model is not verified")
        return FOUND
    plan = fused.plan if dry_run else api.store(fused, output, overwrite)
    _show(plan, form, full, target is None)
    if plan.output:
        told = f"{plan.output} written"
        told += f", with {', '.join(plan.data_files)}" if plan.data_files else ""
        tell(told)
    return 0


def _verified(fused: object, form: str) -> bool:
    from fusectl.pipeline import Fused
    from fusectl.render.verification import verification_lines
    from fusectl.verify.fused import verify

    assert isinstance(fused, Fused)
    with progress(fused.name) as step:
        found = verify(fused, step)
    lines = list(verification_lines(found))
    if form == "json":
        tell(*lines)
    else:
        write_lines([*lines, ""])
    return found.passed and found.complete


def _show(plan: Plan, form: str, full: bool, default_target: bool) -> None:
    if form == "json":
        from fusectl.render.machine import record_to_json

        write(record_to_json(plan))
        return
    from fusectl.render.plan import plan_lines

    write_lines(plan_lines(plan, full, default_target))
