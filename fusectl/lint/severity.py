"""How much a finding counts: by its code, or by the reason that it names."""

from __future__ import annotations

from typing import cast

from fusectl.lint.codes import CODES
from fusectl.lint.policy import Level, Policy
from fusectl.report.lint import Code


def severity(policy: Policy, code: Code, reason: str = "") -> Level:
    """Return a finding's severity. What the policy says of the code comes first."""
    for name in (code, reason):
        stated = policy.severity.get(name)
        if stated is not None:
            return stated.value
    return cast(Level, CODES[code][0])
