"""``fusectl lower``: the program that a target's machine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fusectl.cli.options import extra_rules, schedule_file
from fusectl.cli.output import show, tell, write
from fusectl.cli.progress import progress

if TYPE_CHECKING:
    from rich.console import Console

_FOUND = 1


@click.command(short_help="Print the program that the target's machine runs.")
@click.argument("model", metavar="MODEL")
@click.option("--target", metavar="T", required=True, help="A target's id, or its YAML file.")
@extra_rules
@schedule_file
@click.option("--unfused", is_flag=True, help="The program without any fusion.")
@click.option("--skip", multiple=True, metavar="R", help="Switch a rule off. May be repeated.")
@click.option("--full", is_flag=True, help="Show every instruction of a long program.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to write the program.",
)
@click.option("-o", "--output", default="", metavar="FILE", help="Write to a file.")
@click.pass_context
def lower(
    context: click.Context,
    model: str,
    target: str,
    folders: tuple[str, ...],
    schedule: str | None,
    unfused: bool,
    skip: tuple[str, ...],
    full: bool,
    form: str,
    output: str,
) -> None:
    """Print the program of a model: descriptors, addresses, parameters, instructions.

    The target has to say how it runs a program (lowering), and all shapes have to be static.
    Every program is validated before it is printed.
    """
    from fusectl import api

    with progress(model) as step:
        program = api.lower(
            model,
            target,
            rules=folders,
            skip=skip,
            schedule=schedule,
            unfused=unfused,
            progress=step,
        )
    if form == "json":
        write(program.json(), output)
    elif output in ("", "-"):

        def draw(console: Console) -> None:
            from fusectl.render.program import render_program

            render_program(program, console, full)

        show(draw)
    else:
        from fusectl.render import program_text

        write(program_text(program, full), output)
    wrong = api.check_program(program)
    if wrong:
        tell(*(f"fusectl: the program is not valid: {v}" for v in wrong))
        context.exit(_FOUND)
