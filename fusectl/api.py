"""The Python interface: what the commands do, without a subprocess.

>>> import fusectl
>>> report = fusectl.explain("model.onnx")
>>> [d.edge.value for d in report.decisions if d.verdict == "fuse"]
"""

from __future__ import annotations

from pathlib import Path

from fusectl.pipeline import check_program, explain, load_rules, lower
from fusectl.tables import Rule, Target

__all__ = [
    "check_program", "explain", "load_rules", "load_target", "lower", "rules", "targets",
]  # fmt: skip


def load_target(name: str | Path, *rules: str | Path) -> Target:
    """Load a target by id or by the path of its YAML file."""
    return load_rules(*rules).target(str(name))


def targets(*rules: str | Path) -> list[str]:
    """Return the ids of all targets."""
    return sorted(load_rules(*rules).documents)


def rules(*paths: str | Path) -> list[Rule]:
    """Return all rules in the order of their files."""
    return list(load_rules(*paths).rules.values())
