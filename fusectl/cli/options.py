"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Formats(click.ParamType):  # type: ignore[type-arg]  # older clicks have no argument
    """One of the formats of a registry, which is loaded only when it is asked for."""

    name = "format"

    def __init__(self, load: Callable[[], Collection[str]]) -> None:
        self._load = load

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the formats, as click shows a choice."""
        return f"[{'|'.join(self._load())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the format. Raises click's BadParameter with those there are."""
        known = self._load()
        if value not in known:
            self.fail(f"{value!r} is not one of {', '.join(known)}", param, ctx)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the formats."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(n) for n in self._load() if n.startswith(incomplete)]


class Seconds(click.FloatRange):
    """A time that ends: more than no seconds, and a number."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds. Raises click's BadParameter for none, infinity and what is none."""
        seconds = float(super().convert(value, param, ctx))
        if not isfinite(seconds):
            self.fail(f"{value} is no number of seconds", param, ctx)
        return seconds


def lint_formats() -> Collection[str]:
    """Return the formats of ``lint``."""
    from fusectl.render.lint_formats import LINT_FORMATS

    return LINT_FORMATS


def comparison_formats() -> Collection[str]:
    """Return the formats of ``compare``."""
    from fusectl.render.comparison_formats import COMPARISON_FORMATS

    return COMPARISON_FORMATS


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
