"""The published JSON Schemas, made from the records."""

from __future__ import annotations

from typing import Any

import msgspec

from fusectl.report.plan import PLAN_SCHEMA, Plan
from fusectl.report.types import SCHEMA, Record, Report
from fusectl.report.verification import VERIFICATION_SCHEMA, Verification


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that every JSON report satisfies."""
    return _schema(Report, SCHEMA)


def schemas() -> dict[str, dict[str, Any]]:
    """Return every published schema by the name of its document."""
    return {
        "report": report_schema(),
        "plan": _schema(Plan, PLAN_SCHEMA),
        "verification": _schema(Verification, VERIFICATION_SCHEMA),
    }


def _schema(record: type[Record], title: str) -> dict[str, Any]:
    schema = msgspec.json.schema(record)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = title
    return schema
