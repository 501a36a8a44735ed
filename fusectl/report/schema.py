"""The published JSON Schema of the report, made from its records."""

from __future__ import annotations

from typing import Any

import msgspec

from fusectl.report.types import SCHEMA, Report


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that every JSON report satisfies."""
    schema = msgspec.json.schema(Report)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = SCHEMA
    return schema
