"""How much a finding counts: by its code, or by the reason that it names."""

from __future__ import annotations

from fusectl.lint.policy import Level, Policy
from fusectl.report.lint import Code

_INFO: frozenset[Code] = frozenset({"candidate-gone"})


def severity(policy: Policy, code: Code, reason: str = "") -> Level:
    """Return a finding's severity. What the policy says of the code comes first."""
    for name in (code, reason):
        stated = policy.severity.get(name)
        if stated is not None:
            return stated.value
    if code == "unfused":
        return "off"
    return "info" if code in _INFO else "error"
