"""Calls that have no code generation."""

from __future__ import annotations

from fusectl.lower.validate.registry import Found, validator
from fusectl.program import Convolution, Program


@validator("grouping-has-code")
def grouping_has_code(program: Program) -> Found:
    """A fused call is neither grouped nor split over its sum, for which there is no code."""
    for call in program.descriptors:
        if call.post is None or call.sizes is None:
            continue
        if "k" in getattr(call.sizes, "splits", ()):
            yield (
                call.id,
                f"{' + '.join(call.nodes)} is split over k: the function would be applied to "
                "partial sums; this fused computation cannot yet be generated in this scheduling "
                "structure",
            )
        if isinstance(call.sizes, Convolution) and call.sizes.groups > 1:
            yield (
                call.id,
                f"{' + '.join(call.nodes)} has {call.sizes.groups} groups; this fused computation "
                "cannot yet be generated in this scheduling structure",
            )
