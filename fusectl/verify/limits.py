"""How far the results of a runtime may lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusectl.runtime.session import Array
from fusectl.tables.target_schema import Equivalence
from fusectl.verify.compare import Distance

RELATIVE = 1e-4
"""How far a float32 result may lie off where the target promises nothing."""
CODES = 1
_COARSE = {"float16": 2e-2, "bfloat16": 1e-1}
"""Types in which a rounding alone is more than that."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Distances that are allowed: over the largest magnitude of a tensor, absolute, in codes."""

    relative: float
    absolute: float
    codes: int = CODES

    def allow(self, found: Distance, dtype: str) -> bool:
        """Tell whether a distance is allowed between results of a type."""
        return found.within(self._relative(dtype), self.absolute, self.codes)

    def bound(self, values: Array) -> float:
        """Return how far an element may lie off among the values of its tensor."""
        if values.dtype.kind != "f":
            return float(self.codes)
        numbers = values.astype(np.float64)
        largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
        return max(self._relative(str(values.dtype)) * float(largest), self.absolute)

    def _relative(self, dtype: str) -> float:
        return max(self.relative, _COARSE.get(dtype, 0.0))


def limits(stated: Equivalence) -> Limits:
    """Return what a target promises, or what is usual for float32."""
    if stated.rel or stated.abs:
        return Limits(max(stated.rel, RELATIVE), stated.abs)
    return Limits(RELATIVE, 0.0)
