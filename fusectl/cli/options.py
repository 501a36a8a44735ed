"""Options that several commands have."""

from __future__ import annotations

import click

extra_rules = click.option(
    "--rules",
    "folders",
    multiple=True,
    metavar="PATH",
    help="Rules and targets of your own: a YAML file or a folder. May be repeated.",
)

schedule_file = click.option(
    "--schedule",
    metavar="FILE",
    help="How products are grouped and split, in place of the target's own tiler (YAML).",
)

list_format = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to write the list.",
)
