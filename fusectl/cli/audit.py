"""``fusectl audit``: the decisions held against what a real compiler did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fusectl.cli.options import Seconds, extra_rules
from fusectl.cli.output import show, write
from fusectl.cli.progress import progress

if TYPE_CHECKING:
    from fusectl.report.audit import Audit


@click.command(short_help="Hold the decisions against what a compiler did.")
@click.argument("model", metavar="MODEL")
@click.option("--against", default="", metavar="RUNTIME", help="An installed runtime, by name.")
@click.option("--level", default="", metavar="L", help="The runtime's optimisation level.")
@click.option("--truth", metavar="FILE", help="Measured edges, one model a line, instead.")
@click.option(
    "--target", metavar="T", help="A target's id, or its YAML file; else the one that fits."
)
@extra_rules
@click.option(
    "--timeout",
    type=Seconds(),
    default=300.0,
    show_default=True,
    metavar="S",
    help="Seconds the runtime may take before it is stopped.",
)
@click.option(
    "--witness",
    metavar="FILE",
    help="Write inputs (.npz) for which an illegal fusion changes the outputs.",
)
@click.option("--full", is_flag=True, help="Show every disagreement by itself.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to write the audit.",
)
@click.option("-o", "--output", default="", metavar="FILE", help="Write to a file.")
def audit(
    model: str,
    against: str,
    level: str,
    truth: str | None,
    target: str | None,
    folders: tuple[str, ...],
    timeout: float,
    witness: str | None,
    full: bool,
    form: str,
    output: str,
) -> int:
    """Hold the decisions about a model against what a real compiler does with it.

    The compiler runs in a process of its own, its optimised graph is laid over the model, and each
    edge is seen to be fused or kept. Exit code 1 where decisions and compiler disagree.
    """
    from fusectl import api

    with progress(model) as step:
        found = api.audit_model(
            model,
            against,
            level=level,
            target=target,
            truth=truth,
            rules=folders,
            seconds=timeout,
            witness=witness,
            progress=step,
        )
    _emit(found, form, full, output)
    return 1 if found.summary.disagreements else 0


def _emit(found: Audit, form: str, full: bool, output: str) -> None:
    if form == "json":
        from fusectl.render.machine import record_to_json

        write(record_to_json(found), output)
        return
    from fusectl.render.audit_text import audit_text, render_audit

    if output in ("", "-"):
        show(lambda console: render_audit(found, console, full))
    else:
        write(audit_text(found, full), output)
