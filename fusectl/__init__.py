"""fusectl explains operator fusion in ONNX models: every candidate, every reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "FusectlError",
    "Plan",
    "__version__",
    "apply_fusions",
    "audit_model",
    "compare_models",
    "compare_reports",
    "compare_targets",
    "explain",
    "lint_models",
    "load_rules",
    "load_target",
    "read_report",
    "targets",
    "verify_fusions",
]

if TYPE_CHECKING:
    from fusectl.api import (
        Plan,
        apply_fusions,
        audit_model,
        compare_models,
        compare_reports,
        compare_targets,
        explain,
        lint_models,
        load_rules,
        load_target,
        read_report,
        targets,
        verify_fusions,
    )
    from fusectl.errors import FusectlError


def __getattr__(name: str) -> Any:
    """Import the interface on first use, so that ``import fusectl`` stays instant."""
    if name == "FusectlError":
        from fusectl.errors import FusectlError

        return FusectlError
    if name in __all__:
        from fusectl import api

        return getattr(api, name)
    raise AttributeError(f"module 'fusectl' has no attribute {name!r}")
