"""``fusectl reasons``: what each reason means and what can be done about it."""

from __future__ import annotations

import click

from fusectl.cli import complete
from fusectl.cli.options import list_format
from fusectl.cli.output import show_page, write, write_lines


@click.command(short_help="What each reason means and what to do.")
@click.argument("name", metavar="[NAME]", default="", shell_complete=complete.reasons)
@list_format
def reasons(name: str, form: str) -> None:
    """List the reasons, or show the page of one.

    Reasons are public: a name is never changed and never used again for something else.
    """
    from fusectl.errors import UsageError, did_you_mean
    from fusectl.reasons import REASONS, page

    if name and name not in REASONS:
        hint = did_you_mean(name, REASONS) or "fusectl reasons lists them"
        raise UsageError(f"unknown reason {name!r}; {hint}")
    if name:
        show_page(page(name))
    elif form == "json":
        write(_json())
    else:
        write_lines(_listed())


def _listed() -> list[str]:
    from fusectl.reasons import REASONS

    width = max(map(len, REASONS))
    lines: list[str] = []
    group = ""
    for reason in REASONS.values():
        if reason.group != group:
            group = reason.group
            lines += [""] * bool(lines) + [group]
        lines.append(f"  {reason.slug:<{width}}  {reason.finding}")
    return [*lines, "", "fusectl reasons NAME shows what one means and what to do."]


def _json() -> bytes:
    import msgspec

    from fusectl.reasons import REASONS

    found = [{"reason": r.slug, "class": r.group, "finding": r.finding} for r in REASONS.values()]
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
