"""``fusectl verify``: runs a model against its fused form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fusectl.cli.options import extra_rules, list_format
from fusectl.cli.output import write, write_lines
from fusectl.cli.progress import progress

if TYPE_CHECKING:
    from fusectl.tables.target_schema import Demand

FOUND = 1


@click.command(short_help="Run a model against its fused form.")
@click.argument("model", metavar="MODEL")
@click.option("--target", metavar="T", help="A target's id, or its YAML file.")
@extra_rules
@click.option(
    "--only", multiple=True, metavar="X", help="Only this rule, or edge U[:CONSUMER]. Repeatable."
)
@click.option(
    "--skip", multiple=True, metavar="X", help="Not this rule, or edge U[:CONSUMER]. Repeatable."
)
@click.option(
    "--equivalence",
    type=click.Choice(["bitwise", "bound", "reassociate"]),
    help="What has to hold: equal bits; the target's bound, from the graph as written; or from the "
    "real-number formula, so that sums and roundings may move.",
)
@click.option(
    "--time", "timed", is_flag=True, help="Measure how long both sides take in the runtime."
)
@list_format
def verify(
    model: str,
    target: str | None,
    folders: tuple[str, ...],
    only: tuple[str, ...],
    skip: tuple[str, ...],
    equivalence: Demand | None,
    timed: bool,
    form: str,
) -> int:
    """Run every fused group against the nodes it replaces, then the whole model.

    Uses the runtime that is installed, with its optimisations off, else ONNX's reference
    evaluator. For a target that says how it runs a program (lowering), its simulator runs the
    fused and the unfused program of every decision. Exits with 1 where something does not hold.
    """
    from fusectl import api

    with progress(model) as step:
        found = api.verify_fusions(
            model,
            target,
            rules=api.load_rules(*folders),
            skip=skip,
            only=only,
            equivalence=equivalence,
            time=timed,
            progress=step,
        )
    if form == "json":
        from fusectl.render.machine import record_to_json

        write(record_to_json(found))
    else:
        from fusectl.render.verification import verification_lines

        write_lines(verification_lines(found))
    return 0 if found.passed else FOUND
