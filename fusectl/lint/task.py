"""What one process is told to do with one model on one target, and what comes back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fusectl.lint.locked import LockedTarget, Section
from fusectl.lint.policy import Policy
from fusectl.lint.tables import Tables
from fusectl.report.lint import Code, LintedModel, LintFinding


@dataclass(frozen=True, slots=True)
class Held:
    """What the lock file says of a model on a target. ``section`` is None where it has none.

    ``others`` are the targets for which it has a section about the model.
    """

    shown: str
    section: Section | None
    tables: LockedTarget | None
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One model on one target.

    ``path`` is where it lies, ``model`` what to call it, ``target`` an id or a YAML file.
    ``held`` is None where there is no lock file. ``accept`` are fingerprints of changes to take
    into the lock file, ``again`` the command line to which ``--accept`` is added.
    """

    path: Path
    model: str
    target: str
    tables: Tables
    policy: Policy
    shown_policy: str
    held: Held | None
    update: bool
    accept: frozenset[str]
    again: str


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found. ``section`` is what the lock file should hold now, ``met`` which demands
    of the policy met an edge, ``accepted`` the fingerprints that were taken, ``beside`` the files
    beside the model that were asked."""

    model: LintedModel
    findings: tuple[LintFinding, ...]
    section: Section
    tables: LockedTarget
    open_changes: bool
    met: frozenset[int]
    accepted: frozenset[str]
    beside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no answer."""

    code: Code
    message: str


def fingerprint(*parts: str) -> str:
    """Return twelve hexadecimal digits that stay the same while a finding does."""
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=6).hexdigest()
