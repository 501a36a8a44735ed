"""The published JSON Schemas, made from the records."""

from __future__ import annotations

from typing import Any

import msgspec

from fusectl.report import audit, comparison, lint, plan, types, verification


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that every JSON report of ``explain`` satisfies."""
    return _schema(types.Report, types.SCHEMA)


def schemas() -> dict[str, dict[str, Any]]:
    """Return every published schema by the name of its document."""
    return {
        "report": report_schema(),
        "audit": _schema(audit.Audit, audit.SCHEMA),
        "comparison": _schema(comparison.Comparison, comparison.SCHEMA),
        "lint": _schema(lint.LintReport, lint.SCHEMA),
        "plan": _schema(plan.Plan, plan.PLAN_SCHEMA),
        "verification": _schema(verification.Verification, verification.VERIFICATION_SCHEMA),
    }


def _schema(record: type[types.Record], title: str) -> dict[str, Any]:
    schema = msgspec.json.schema(record)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = title
    return schema
