"""The published JSON Schemas of the reports, made from their records."""

from __future__ import annotations

from typing import Any

import msgspec

from fusectl.report import audit, comparison, lint, plan, types, verification


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that every JSON report of ``explain`` satisfies."""
    return _schema(types.Report, types.SCHEMA)


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that all JSON of ``audit`` satisfies."""
    return _schema(audit.Audit, audit.SCHEMA)


def comparison_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that all JSON of ``compare`` satisfies."""
    return _schema(comparison.Comparison, comparison.SCHEMA)


def lint_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that all JSON of ``lint`` satisfies."""
    return _schema(lint.LintReport, lint.SCHEMA)


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that the plan of ``apply`` satisfies."""
    return _schema(plan.Plan, plan.PLAN_SCHEMA)


def verification_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that all JSON of ``verify`` satisfies."""
    return _schema(verification.Verification, verification.VERIFICATION_SCHEMA)


def _schema(kind: type, title: str) -> dict[str, Any]:
    schema = msgspec.json.schema(kind)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = title
    return schema
