"""The published JSON Schemas, made from the records."""

from __future__ import annotations

from typing import Any

import msgspec

from fusectl.report import audit
from fusectl.report.types import SCHEMA, Report


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that every JSON report satisfies."""
    return _schema(Report, SCHEMA)


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that every JSON audit satisfies."""
    return _schema(audit.Audit, audit.SCHEMA)


def _schema(record: type[msgspec.Struct], title: str) -> dict[str, Any]:
    schema = msgspec.json.schema(record)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = title
    return schema
