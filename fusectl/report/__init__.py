"""The report: frozen and versioned, all that renderers see."""

from fusectl.report.types import Decision, Finding, Report

__all__ = ["Decision", "Finding", "Report"]
