"""What each code of ``lint`` means, for formats that describe their rules."""

from __future__ import annotations

from dataclasses import dataclass

from fusectl.report.lint import Code, Severity


@dataclass(frozen=True, slots=True)
class Meaning:
    """A code in a few words and in a paragraph; ``usual`` is how grave it is if nobody says."""

    short: str
    full: str
    usual: Severity


CODES: dict[Code, Meaning] = {
    "fusion-lost": Meaning(
        "A fusion was lost",
        "The lock file holds this edge as fused, and it is not fused now. Change the model, the "
        "rules or the target back, or accept the change into the lock file.",
        "error",
    ),
    "fusion-gained": Meaning(
        "A fusion was gained",
        "The lock file holds this edge as kept, and it is fused now. Accept the change into the "
        "lock file, so that losing the fusion again is noticed.",
        "error",
    ),
    "fusion-changed": Meaning(
        "Another rule fuses this edge",
        "The lock file and this run both fuse the edge, by different rules. The fused operator "
        "may differ, and with it speed and rounding.",
        "error",
    ),
    "reason-changed": Meaning(
        "An edge is kept for another reason",
        "The lock file and this run both keep the edge, for different reasons. What would help "
        "may have changed too.",
        "error",
    ),
    "candidate-new": Meaning(
        "A kept edge is not in the lock file",
        "The model has a place where a fusion could be expected, it is not fused, and the lock "
        "file does not know it.",
        "error",
    ),
    "candidate-gone": Meaning(
        "A kept edge of the lock file is no more",
        "The lock file holds a place where a fusion could be expected, and the model no longer "
        "has it.",
        "info",
    ),
    "model-unlocked": Meaning(
        "A model is not in the lock file",
        "No section of the lock file speaks of this model on this target, so nothing holds its "
        "fusions.",
        "error",
    ),
    "model-missing": Meaning(
        "A model of the lock file is missing",
        "The lock file has a section for a model that was not given or is not there.",
        "error",
    ),
    "unfused": Meaning(
        "An edge is not fused",
        "The policy asks to be told of edges that are kept for this reason.",
        "warning",
    ),
    "must-fuse": Meaning(
        "An edge that has to fuse does not",
        "The policy demands this fusion, and the edge is kept or is not there at all.",
        "error",
    ),
    "must-not-fuse": Meaning(
        "An edge that must not fuse does",
        "The policy forbids this fusion, and the edge is fused.",
        "error",
    ),
    "budget": Meaning(
        "A budget of the policy is exceeded",
        "More edges are kept, or fewer are fused, than the policy allows.",
        "error",
    ),
    "suppression-unused": Meaning(
        "A suppression suppresses nothing",
        "No finding is matched by it. Remove it, or correct what it names.",
        "error",
    ),
    "suppression-expired": Meaning(
        "A suppression has expired",
        "Its date has passed, so what it suppressed counts again. Mend the finding, or give the "
        "suppression a new date and a reason.",
        "error",
    ),
    "model-unusable": Meaning(
        "A model cannot be used",
        "The model cannot be read or is not valid, so there is no answer for it.",
        "error",
    ),
    "model-crashed": Meaning(
        "Explaining a model crashed",
        "The process that explained the model died, so there is no answer for it.",
        "error",
    ),
    "model-timeout": Meaning(
        "Explaining a model took too long",
        "The time limit passed before there was an answer.",
        "error",
    ),
}
"""Every code. A test holds that none is missing."""

UNANSWERED: frozenset[Code] = frozenset({"model-unusable", "model-crashed", "model-timeout"})
"""Codes that say that there is no answer: an error of the run, not a finding about fusion."""
