"""Which target describes a runtime at a level: the target files say it."""

from __future__ import annotations

from fusectl.audit.run import Runtime, runtime
from fusectl.errors import UsageError
from fusectl.tables import Catalog, Target


def choose(
    catalog: Catalog, against: str, level: str, target: str | Target | None
) -> tuple[Runtime, Target]:
    """Return the runtime with its level, and the target to hold against it.

    A level that is not given is the one that a given target describes, else the runtime's usual
    one. A target that is not given is the one that describes runtime and level, the default target
    first. Raises UsageError where there is none.
    """
    found = runtime(against, level)
    if target is not None:
        chosen = target if isinstance(target, Target) else catalog.target(target)
        described = chosen.audit
        if not level and described and described.runtime == against and described.level:
            found = runtime(against, described.level)
        return found, chosen
    default = catalog.defaults.target
    for name in (default, *sorted(catalog.documents.keys() - {default})):
        candidate = catalog.target(name)
        if fits(found, candidate):
            return found, candidate
    words = " ".join(filter(None, (against, found.level)))
    raise UsageError(f"no target describes {words} (key `audit`); name one with --target")


def fits(found: Runtime, target: Target) -> bool:
    """Tell whether a target says that it describes this runtime at this level."""
    described = target.audit
    if described is None or described.runtime != found.name:
        return False
    return not described.level or described.level == found.level


def misfits(found: Runtime, target: Target, version: str) -> list[str]:
    """Return what makes disagreements likely: another runtime, level or version is described."""
    described = target.audit
    told = " ".join(filter(None, (found.name, found.level)))
    if described is None:
        return [f"the target {target.id} does not say that it describes {told}"]
    if not fits(found, target):
        says = " ".join(filter(None, (described.runtime, described.level)))
        return [f"the target {target.id} describes {says}, this is {told}"]
    if not f"{version}.".startswith(f"{target.version}."):
        return [
            f"the target {target.id} describes version {target.version}, installed is {version}"
        ]
    return []
