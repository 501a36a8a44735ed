"""What each code of a finding means, and how much it counts where the policy says nothing."""

from __future__ import annotations

from fusectl.report.lint import Code

CODES: dict[Code, tuple[str, str]] = {
    "fusion-lost": ("error", "fused in the lock file, and not any more"),
    "fusion-gained": ("error", "not fused in the lock file, and fused now"),
    "fusion-changed": ("error", "fused by another rule than in the lock file"),
    "reason-changed": ("error", "kept for other reasons than in the lock file"),
    "candidate-new": ("error", "a candidate that does not fuse and is not in the lock file"),
    "candidate-gone": ("info", "a candidate of the lock file that did not fuse and is no more"),
    "model-unlocked": ("error", "no section in the lock file; a warning where there is no file"),
    "model-missing": ("error", "a section of the lock file, and the policy names no such model"),
    "unfused": ("off", "a candidate that does not fuse, for a reason that has a severity"),
    "must-fuse": ("error", "an edge of `must_fuse` does not fuse, or no model has such an edge"),
    "must-not-fuse": ("error", "an edge of `must_not_fuse` fuses"),
    "budget": ("error", "more candidates stay unfused, or fewer fuse, than a budget allows"),
    "suppression-unused": ("error", "a suppression that suppresses nothing"),
    "suppression-expired": ("error", "a suppression after its last day"),
    "model-unusable": ("error", "a model that cannot be read"),
    "model-crashed": ("error", "the process that explained a model died"),
    "model-timeout": ("error", "a model took longer than the time limit"),
}
"""Severity and meaning, in the order of ``Code``."""
