"""Which models, targets and edges an entry of the policy speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from fusectl.lint.policy import Text


def applies(models: Iterable[Text], targets: Iterable[Text], model: str, target: str) -> bool:
    """Tell whether an entry that names models and targets, or does not, is about these."""
    return _any(models, model) and _any(targets, target)


def _any(patterns: Iterable[Text], name: str) -> bool:
    listed = [p.value for p in patterns]
    return not listed or any(path_matches(p, name) for p in listed)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compile a path with wildcards: ``*`` and ``?`` stay in one folder, ``**`` does not."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    made = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(made.get(p, re.escape(p)) for p in parts) + r"\Z", re.DOTALL)


def path_matches(pattern: str, path: str) -> bool:
    """Tell whether a path is meant by a pattern; ``*`` alone means every path."""
    return pattern == "*" or _pattern(pattern.removeprefix("./")).match(path) is not None


@cache
def _name(text: str) -> re.Pattern[str]:
    made = {"*": ".*", "?": "."}
    parts = re.split(r"(\*|\?)", text.strip())
    return re.compile("".join(made.get(p, re.escape(p)) for p in parts) + r"\Z", re.DOTALL)


def names_match(pattern: str, names: Iterable[str]) -> bool:
    """Tell whether one of the names is meant; wildcards reach over slashes here."""
    return any(_name(pattern).match(name) for name in names)
