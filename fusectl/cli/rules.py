"""``fusectl rules``: list, show, check and test rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from fusectl.cli.options import extra_rules, list_format
from fusectl.cli.output import show_page, write, write_lines

if TYPE_CHECKING:
    from fusectl.errors import Problem
    from fusectl.tables import Catalog, Rule


@click.group(short_help="What may be fused, on any machine.")
def rules() -> None:
    """List, show, check and test rules: what may be fused, on any machine."""


@rules.command("list")
@extra_rules
@list_format
def list_rules(folders: tuple[str, ...], form: str) -> None:
    """List every rule."""
    import msgspec

    from fusectl import api

    found = api.rules(*folders)
    if form == "json":
        records = [
            {
                "id": r.id,
                "summary": r.summary,
                "edge": r.edge,
                "patterns": len(r.patterns),
                "numerics": r.numerics,
                "opt_in": r.opt_in,
                "where": f"{r.span.file}:{r.span.line}",
            }
            for r in found
        ]
        write(msgspec.json.format(msgspec.json.encode(records), indent=2) + b"\n")
        return
    width = max(len(r.id) for r in found)
    write_lines(f"{r.id:<{width}}  {r.summary}" for r in found)


@rules.command("show", short_help="Show one rule.")
@click.argument("rule", metavar="ID")
@extra_rules
def show_rule(rule: str, folders: tuple[str, ...]) -> None:
    """Show a rule: its patterns, what it requires, its examples."""
    from fusectl import api
    from fusectl.cli.pages import rule_page
    from fusectl.cli.sources import rule_documents
    from fusectl.errors import UsageError, did_you_mean

    known = api.load_rules(*folders).rules
    if rule not in known:
        hint = did_you_mean(rule, known) or "fusectl rules list shows them"
        raise UsageError(f"unknown rule {rule!r}; {hint}")
    written = rule_documents(folders, known[rule].span.file)
    show_page(rule_page(known[rule], written[rule]))


@rules.command("check", short_help="Check files of rules.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
def check_rules(files: tuple[str, ...]) -> None:
    """Check files of rules: every problem with its place.

    A rule may have the id of one that ships: with --rules it takes its place.
    """
    from fusectl.tables.resolve import yaml_files

    found = _load(list(yaml_files(files)))
    for path, read in found.items():
        examples = sum(len(r.examples) for r in read)
        write_lines([f"{path}: {_count(len(read), 'rule')}, {_count(examples, 'example')}"])


@rules.command("test", short_help="Run the examples of rules.")
@click.argument("files", metavar="[FILE...]", nargs=-1)
def test_rules(files: tuple[str, ...]) -> int:
    """Run the examples of rules: those that ship, or those in the given files.

    An accepted example has to fuse where only legality counts, among all rules or, where
    another rule is faster, alone; a rejected one has to be kept for the reason that it names.
    """
    from fusectl import api
    from fusectl.cli.examples import run_examples
    from fusectl.tables.resolve import yaml_files

    chosen: list[Rule] = []
    if files:
        for read in _load(list(yaml_files(files))).values():
            chosen += read
    catalog: Catalog = api.load_rules(*files)
    chosen = chosen or list(catalog.rules.values())
    failures = list(run_examples(chosen, catalog))
    write_lines(map(str, failures))
    examples = _count(sum(len(r.examples) for r in chosen), "example")
    write_lines([f"{_count(len(chosen), 'rule')}, {examples}, {len(failures)} failed"])
    return 1 if failures else 0


def _load(paths: Iterable[object]) -> dict[str, list[Rule]]:
    """Load files of rules by themselves. Raises TableError with the problems of all of them."""
    from pathlib import Path

    from fusectl.checks import known_names
    from fusectl.errors import Problem, TableError
    from fusectl.tables.catalog import load_operators, load_rules
    from fusectl.tables.resolve import rules_root

    operators, checks = load_operators(rules_root()), known_names()
    problems: list[Problem] = []
    found: dict[str, list[Rule]] = {}
    first: dict[str, Rule] = {}
    for path in map(Path, map(str, paths)):
        try:
            read, _ = load_rules(path, operators, checks)
        except TableError as error:
            problems += error.problems
            continue
        for rule in read.values():
            other = first.setdefault(rule.id, rule)
            if other is not rule:
                problems.append(Problem(rule.span, f"the rule {rule.id} is also in {other.span}"))
        found[str(path)] = list(read.values())
    if problems:
        raise TableError(problems)
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
