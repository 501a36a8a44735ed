"""``fusectl rules``: list, show, check and test rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from fusectl.cli import complete
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
@click.argument("rule", metavar="ID", shell_complete=complete.rules)
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
    """Run the examples of rules: those that ship, or those in the given files and folders.

    An accepted example has to fuse where only legality counts, among all rules or, where
    another rule is faster, alone; a rejected one has to be kept for the reason that it names.

    A FILE may also be an annotated model: ONNX text with marks like "# accept" and
    "# reject: multi-user" at its nodes. Of a folder, rules and annotated models are run.
    """
    from pathlib import Path

    from fusectl import api
    from fusectl.cli.cases import SUFFIX, case_files, read_case, run_case
    from fusectl.cli.examples import run_examples
    from fusectl.errors import UsageError
    from fusectl.tables.catalog import is_target
    from fusectl.tables.resolve import yaml_files

    cases = [read_case(path) for path in case_files(files)]
    # A schedule stands beside its case, and is no table.
    schedules = {case.path.parent / case.flags.get("schedule", "") for case in cases}
    named = yaml_files(f for f in files if Path(f).suffix != SUFFIX)
    tables = [path for path in named if path not in schedules]
    catalog: Catalog = api.load_rules(*tables)
    chosen: list[Rule] = [] if files else list(catalog.rules.values())
    for read in _load(p for p in tables if not is_target(p)).values():
        chosen += read
    if not chosen and not cases:
        raise UsageError(f"{', '.join(files)}: neither rules nor annotated models are there")
    failures = list(run_examples(chosen, catalog))
    for case in cases:
        failures += run_case(case, catalog)
    write_lines(map(str, failures))
    counts = [_count(len(chosen), "rule"), _count(sum(len(r.examples) for r in chosen), "example")]
    if cases:
        counts = counts if chosen else []
        counts += [_count(len(cases), "model"), _count(sum(len(c.marks) for c in cases), "mark")]
    write_lines([f"{', '.join(counts)}, {len(failures)} failed"])
    return 1 if failures else 0


@rules.command("lint", short_help="Find rules and paths that serve nobody.")
@click.argument("files", metavar="[FILE...]", nargs=-1)
def lint_rules(files: tuple[str, ...]) -> int:
    """Find rules that can never fire, and paths of targets that never serve.

    Told are: rules that no pass of any target runs; patterns that match only where an earlier
    one of the same rule does; rules that find nothing in a pass because an earlier one fuses all
    of it; paths of rules that no pass runs; producers, consumers and functions of a path that
    no pattern of its rules has. What ships is looked at together with the given files and
    folders; of those only are faults told, if there are any. Exits with 1 if there is a fault.
    """
    from fusectl import api
    from fusectl.tables.faults import faults
    from fusectl.tables.resolve import shown, yaml_files

    own = {shown(path) for path in yaml_files(files)}
    catalog = api.load_rules(*files)
    targets = [catalog.target(name) for name in sorted(catalog.documents)]
    found = faults(catalog.rules, targets, catalog.operators)
    told = [f for f in found if not files or f.span.file in own]
    write_lines(map(str, told))
    counts = f"{_count(len(catalog.rules), 'rule')}, {_count(len(targets), 'target')}"
    write_lines([f"{counts}, {_count(len(told), 'fault')}"])
    return 1 if told else 0


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
