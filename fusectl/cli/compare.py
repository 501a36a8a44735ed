"""``fusectl compare``: two models, targets, tables or reports, and what differs between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fusectl.cli import complete
from fusectl.cli.options import Formats, comparison_formats, extra_rules
from fusectl.cli.output import show, tell, write

if TYPE_CHECKING:
    from rich.console import Console

    from fusectl.report.comparison import Comparison
    from fusectl.tables import Catalog

DIFFERENT = 1


@click.command(short_help="Show which decisions differ, and why.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--target",
    shell_complete=complete.targets,
    metavar="T",
    help="For two models: a target's id, or its YAML file.",
)
@click.option("--model", metavar="MODEL", help="For two targets: the model to hold them against.")
@extra_rules
@click.option("--exit-code", is_flag=True, help="Exit with 1 where a decision differs.")
@click.option(
    "--format",
    "form",
    type=Formats(comparison_formats),
    default="text",
    show_default=True,
    help="How to write the comparison.",
)
@click.option("-o", "--output", default="", metavar="FILE", help="Write to a file.")
def compare(
    a: str,
    b: str,
    target: str | None,
    model: str | None,
    folders: tuple[str, ...],
    exit_code: bool,
    form: str,
    output: str,
) -> int:
    """Show which decisions differ between A and B, and what made the difference.

    A and B are two models, two targets (ids, or YAML files: two versions of a table), or two
    reports of explain --format json. Decisions are matched by id, else by structure, else by
    aligning what is left.
    """
    from fusectl import api

    kinds = [_kind(name, folders) for name in (a, b)]
    _check(a, b, kinds, target, model)
    if kinds[0] == "report":
        found = api.compare_reports(api.read_report(a), api.read_report(b), (a, b))
    elif kinds[0] == "target":
        found = api.compare_targets(model or "", a, b, rules=folders)
    else:
        found = api.compare_models(a, b, target, rules=folders)
        if target is None and form in ("json", "jsonl", "concise"):
            tell(f"target {found.b.target} (default)")
    _emit(found, form, output)
    return DIFFERENT if exit_code and found.changes else 0


def _kind(name: str, folders: tuple[str, ...]) -> str:
    suffix = Path(name).suffix.lower()
    if suffix == ".json":
        return "report"
    if suffix in (".yaml", ".yml"):
        return "target"
    if suffix or Path(name).exists() or name == "-":
        return "model"
    from fusectl import api

    catalog: Catalog = api.load_rules(*folders)
    catalog.target(name)  # says what targets there are
    return "target"


def _check(a: str, b: str, kinds: list[str], target: str | None, model: str | None) -> None:
    """Refuse what cannot be compared, and options that would do nothing."""
    from fusectl.errors import UsageError

    if kinds[0] != kinds[1]:
        raise UsageError(
            f"{a} is a {kinds[0]} and {b} is a {kinds[1]}; give two models, two targets or two "
            "reports"
        )
    if (a, b) == ("-", "-"):
        raise UsageError("standard input can be one of the models, not both")
    if kinds[0] == "target" and not model:
        raise UsageError("two targets are compared on a model: give --model MODEL")
    if kinds[0] != "target" and model:
        raise UsageError(f"--model goes with two targets; {a} and {b} are {kinds[0]}s")
    if kinds[0] != "model" and target:
        raise UsageError(f"--target goes with two models; {a} and {b} are {kinds[0]}s")


def _emit(found: Comparison, form: str, output: str) -> None:
    if form == "text" and output in ("", "-"):

        def draw(console: Console) -> None:
            from fusectl.render.comparison_text import render_comparison_text

            render_comparison_text(found, console)

        show(draw)
        return
    from fusectl.render.comparison_formats import render_comparison

    write(render_comparison(found, form), output)
