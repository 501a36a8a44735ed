"""The YAML files behind the rules and targets: those that ship and those of the user."""

from __future__ import annotations

from collections.abc import Iterable

from fusectl.tables.resolve import rules_root, shown, yaml_files
from fusectl.tables.rules import read_rule_file
from fusectl.tables.schema import RuleDoc


def rule_documents(folders: Iterable[str], only: str = "") -> dict[str, RuleDoc]:
    """Return every rule as written, by id; a user's one takes the place of a shipped one.

    ``only`` is the one file to read, as a rule's span calls it.
    """
    shipped = sorted((rules_root() / "fusions").glob("*.yaml"))
    found: dict[str, RuleDoc] = {}
    for path in (*shipped, *yaml_files(folders)):
        if only and shown(path) != only:
            continue
        file, _ = read_rule_file(path)
        if file is not None:
            found.update({doc.id.value: doc for doc in file.rules})
    return found
