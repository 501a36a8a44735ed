"""What shells offer for targets, rules and reasons: quick, and silent where something is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]

# Ids are read off the text: to load the tables takes longer than a key press may.
_RULE = re.compile(r"^ *- id: *([\w.-]+)", re.MULTILINE)
_TARGET = re.compile(r"^target: *([\w.-]+)", re.MULTILINE)


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the ids of targets; where none fits, files: a target's YAML file is taken as well."""
    from click.shell_completion import CompletionItem

    # Not both: click's script for bash forgets the words when it is told of files.
    found = _named(_TARGET, "targets", ctx, incomplete)
    return found or [CompletionItem(incomplete, type="file")]


def target_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the ids of targets."""
    return _named(_TARGET, "targets", ctx, incomplete)


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the ids of rules."""
    return _named(_RULE, "fusions", ctx, incomplete)


def reasons(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the reasons, with what each says where the shell shows it."""
    from fusectl.reasons import REASONS

    return _items(((r.slug, r.finding) for r in REASONS.values()), incomplete)


def _named(
    pattern: re.Pattern[str], folder: str, ctx: click.Context, incomplete: str
) -> list[CompletionItem]:
    from fusectl.tables.resolve import rules_root, yaml_files

    found: set[str] = set()
    try:
        for path in yaml_files([rules_root() / folder, *(ctx.params.get("folders") or ())]):
            found.update(pattern.findall(Path(path).read_text(encoding="utf-8")))
    except Exception:  # whatever it is, a half-typed line is no place to say so
        pass
    return _items(((name, "") for name in sorted(found)), incomplete)


def _items(found: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(n, help=h or None) for n, h in found if n.startswith(incomplete)]
