"""``fusectl targets``: list, show and check targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fusectl.cli import complete
from fusectl.cli.options import extra_rules, list_format
from fusectl.cli.output import show_page, write, write_lines

if TYPE_CHECKING:
    from fusectl.tables.target_schema import TargetDoc


@click.group(short_help="What a machine or a compiler can do.")
def targets() -> None:
    """List, show and check targets: what a machine or a compiler can do."""


@targets.command("list")
@extra_rules
@list_format
def list_targets(folders: tuple[str, ...], form: str) -> None:
    """List every target."""
    import msgspec

    from fusectl import api
    from fusectl.tables.targets import read_target_file

    documents = api.load_rules(*folders).documents
    found = [read_target_file(documents[name]) for name in sorted(documents)]
    if form == "json":
        records = [
            {
                "id": doc.target.value,
                "version": doc.version,
                "summary": doc.summary,
                "extends": doc.extends.value if doc.extends else None,
                "where": doc.span.file,
            }
            for doc in found
        ]
        write(msgspec.json.format(msgspec.json.encode(records), indent=2) + b"\n")
        return
    width = max(len(doc.target.value) for doc in found)
    write_lines(f"{doc.target.value:<{width}}  {doc.summary}" for doc in found)


@targets.command("show", short_help="Show one target.")
@click.argument("target", metavar="ID", shell_complete=complete.target_ids)
@extra_rules
def show_target(target: str, folders: tuple[str, ...]) -> None:
    """Show a target: its passes in order and what each path can do."""
    from fusectl import api
    from fusectl.cli.pages import target_page

    show_page(target_page(api.load_rules(*folders).target(target)))


@targets.command("check", short_help="Check files of targets.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@extra_rules
def check_targets(files: tuple[str, ...], folders: tuple[str, ...]) -> None:
    """Check files of targets: every problem with its place.

    Rules that a target names may be shipped ones or those of --rules.
    """
    from fusectl import api
    from fusectl.errors import Problem, TableError
    from fusectl.tables.resolve import yaml_files
    from fusectl.tables.targets import read_target_file, resolve

    catalog = api.load_rules(*folders)
    problems: list[Problem] = []
    read: dict[str, TargetDoc] = {}
    for path in yaml_files(files):
        try:
            read[str(path)] = read_target_file(path)
        except TableError as error:
            problems += error.problems
    bases = {name: read_target_file(path) for name, path in catalog.documents.items()}
    bases |= {doc.target.value: doc for doc in read.values()}
    lines = []
    for name, doc in read.items():
        try:
            target = resolve(doc, bases, catalog.rules.values(), catalog.operators, catalog.checks)
        except TableError as error:
            problems += error.problems
            continue
        paths = len(target.paths)
        lines.append(f"{name}: target {target.id}, {paths} path{'s' if paths != 1 else ''}")
    if problems:
        raise TableError(problems)
    write_lines(lines)
