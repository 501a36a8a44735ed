"""``fusectl explain``: every candidate edge of a model, with every reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fusectl.cli import complete
from fusectl.cli.options import extra_rules, schedule_file
from fusectl.cli.output import show, tell, write
from fusectl.cli.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from fusectl.lower.difference import Diff
    from fusectl.render import Options
    from fusectl.report.filter import Filter, Names
    from fusectl.report.types import Report
    from fusectl.rewrite.source import Model
    from fusectl.tables import Catalog

FORMATS = ("text", "concise", "json", "jsonl", "markdown", "remarks")
_SAYS_TARGET = ("text", "markdown")
"""Formats that say themselves that the target is the default one."""


@click.command(short_help="Explain every fusion candidate of a model.")
@click.argument("model", metavar="MODEL")
@click.option(
    "--target",
    shell_complete=complete.targets,
    metavar="T",
    help="A target's id, or its YAML file.",
)
@extra_rules
@schedule_file
@click.option("--node", default="", metavar="N", help="Only decisions about this node.")
@click.option(
    "--edge", default="", metavar="U[:CONSUMER]", help="Only decisions about this value's edges."
)
@click.option(
    "--rule",
    default="",
    shell_complete=complete.rules,
    metavar="R",
    help="Only decisions of this rule.",
)
@click.option(
    "--reason",
    default="",
    shell_complete=complete.reasons,
    metavar="X",
    help="Only decisions that X blocks.",
)
@click.option("--verdict", type=click.Choice(["fuse", "keep"]), help="Only this verdict.")
@click.option("--why", is_flag=True, help="Show every finding, also those that passed.")
@click.option("--full", is_flag=True, help="Show every decision by itself.")
@click.option("--uncovered", is_flag=True, help="List the edges that no rule covers.")
@click.option(
    "--diff",
    type=click.Choice(["none", "accepted", "would"]),
    default="none",
    show_default=True,
    help="Instructions or kernels before and after: of what fuses, or also of what is refused.",
)
@click.option(
    "--skip",
    multiple=True,
    shell_complete=complete.rules,
    metavar="R",
    help="Switch a rule off. May be repeated.",
)
@click.option(
    "--equivalence",
    type=click.Choice(["bitwise", "bound", "reassociate"]),
    help="In place of what the target asks for. bitwise: refuse fusions that round differently.",
)
@click.option(
    "--extract",
    metavar="FILE",
    help="Write the smallest model with the one decision that is selected.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to write the report.",
)
@click.option("-o", "--output", default="", metavar="FILE", help="Write to a file.")
def explain(
    model: str,
    target: str | None,
    folders: tuple[str, ...],
    schedule: str | None,
    node: str,
    edge: str,
    rule: str,
    reason: str,
    verdict: str | None,
    why: bool,
    full: bool,
    uncovered: bool,
    diff: Diff,
    skip: tuple[str, ...],
    equivalence: str | None,
    extract: str | None,
    form: str,
    output: str,
) -> None:
    """Explain every fusion candidate of a model: fuse or keep, and why.

    MODEL is an .onnx, .onnxtxt or .textproto file, or - for standard input. Weights are not
    loaded unless a rule has to look at one.
    """
    from fusectl import api
    from fusectl.render import Options
    from fusectl.report.filter import Filter, check_rules, select

    catalog = api.load_rules(*folders)
    wanted = Filter(node, edge, rule, reason, verdict or "")
    check_rules(wanted, catalog.rules)
    chosen = catalog.target(target or catalog.defaults.target)

    def ask(model: str | Model, step: Callable[[str], None] | None = None) -> Report:
        return api.explain(
            model,
            chosen,
            rules=catalog,
            equivalence=equivalence or "",
            skip=skip,
            schedule=schedule,
            diff=diff,
            progress=step,
        )

    with progress(model) as step:
        report = ask(model, step)
    _check_names(report, wanted, model, catalog)
    selected = select(report, wanted)
    if extract:
        from fusectl.cli.extract import extract_decision

        with progress(extract):
            written = extract_decision(model, selected, report, ask, catalog.operators, extract)
    options = Options(why, full, uncovered or reason == "no-rule", target is None)
    _emit(selected, form, options, output)
    if extract:
        tell(written)


def _check_names(report: Report, wanted: Filter, model: str, catalog: Catalog) -> None:
    """Refuse nodes and edges that do not exist. The model is read again only for the message."""
    from fusectl.report.filter import check_names, names_of

    names = names_of(report)
    if not names.cover(wanted) and model != "-":
        names |= _model_names(model, catalog)
    check_names(wanted, names, model)


def _model_names(model: str, catalog: Catalog) -> Names:
    from fusectl.graph import load_model
    from fusectl.report.filter import Names

    nodes: set[str] = set()
    values: set[str] = set()
    for view in load_model(model, catalog.operators.alike()):
        values.update(view.inputs)
        for node in view.nodes:
            nodes.update((node.label, *node.outputs[:1]))
            values.update(node.inputs, node.outputs)
    return Names(frozenset(nodes - {""}), frozenset(values - {""}))


def _emit(report: Report, form: str, options: Options, output: str) -> None:
    from fusectl.render import pieces

    if options.default_target and form not in _SAYS_TARGET:
        tell(f"target {report.target.id} (default)")
    if form == "text" and output in ("", "-"):

        def draw(console: Console) -> None:
            from fusectl.render.text import render_text

            render_text(report, console, options)

        show(draw)
        return
    write(pieces(report, form, options), output)
