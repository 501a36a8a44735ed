"""The Python interface: what the commands do, without a subprocess.

>>> import fusectl
>>> report = fusectl.explain("model.onnx")
>>> [d.edge.value for d in report.decisions if d.verdict == "fuse"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from fusectl.pipeline import Fused, explain, fuse, load_rules
from fusectl.report.plan import Plan
from fusectl.report.verification import Verification
from fusectl.rewrite.store import Store, check_output
from fusectl.tables import Catalog, Rule, Target

__all__ = [
    "Plan",
    "apply_fusions", "explain", "load_rules", "load_target", "rules", "targets", "verify_fusions",
]  # fmt: skip


def apply_fusions(
    model: str | Path,
    target: str | Target | None = None,
    *,
    output: str | Path = "",
    rules: Iterable[str | Path] | Catalog = (),
    skip: Iterable[str] = (),
    only: Iterable[str] = (),
    overwrite: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Apply the fusions of a target to a model file, and write the fused model to ``output``.

    Without ``output`` nothing is written. ``skip`` and ``only`` name rules, or edges as ``U`` or
    ``U:CONSUMER``; ``overwrite`` allows ``output`` to be the model itself, and to replace data
    files. Returns the plan of what is written. Raises FusectlError where something is unusable;
    then nothing is written.
    """
    path, place = str(model), str(output)
    if place:
        check_output(place, path, overwrite)
    fused = fuse(path, target, rules=rules, skip=skip, only=only, progress=progress)
    return store(fused, place, overwrite) if place else fused.plan


def verify_fusions(
    model: str | Path,
    target: str | Target | None = None,
    *,
    rules: Iterable[str | Path] | Catalog = (),
    skip: Iterable[str] = (),
    only: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Run a model against its fused form: each fused node, then the whole.

    The runtime that is installed runs both with its optimisations off, else ONNX's reference
    evaluator. Raises FusectlError where the input is unusable.
    """
    from fusectl.verify.fused import verify

    fused = fuse(str(model), target, rules=rules, skip=skip, only=only, progress=progress)
    return verify(fused, progress)


def store(fused: Fused, output: str, overwrite: bool = False) -> Plan:
    """Write a fused model; return its plan with what was written. Raises UsageError."""
    files = Store(output, fused.folder, fused.result.new, overwrite).write(fused.result.model)
    return msgspec.structs.replace(fused.plan, output=output, data_files=tuple(files))


def load_target(name: str | Path, *rules: str | Path) -> Target:
    """Load a target by id or by the path of its YAML file."""
    return load_rules(*rules).target(str(name))


def targets(*rules: str | Path) -> list[str]:
    """Return the ids of all targets."""
    return sorted(load_rules(*rules).documents)


def rules(*paths: str | Path) -> list[Rule]:
    """Return all rules in the order of their files."""
    return list(load_rules(*paths).rules.values())
