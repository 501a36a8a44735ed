"""Three groups of inputs for a product: the centre, the two ends, the half-steps.

In the *centre* a function changes fastest, and errors of the value between show most. At the
*ends* it saturates. The *half-step* group has sums within a hair of a rounding half-step.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fusectl.graph.constants import Array
from fusectl.lower.jobs import Job
from fusectl.verify.half_step import near, towards
from fusectl.verify.sums import sums

CENTRE, ENDS, HALF_STEP = "centre", "ends", "half-step"
_SPREAD = {CENTRE: 1.5, ENDS: 24.0}
"""How far the sums of a group spread, in standard deviations of the sum."""
_MOST = 256
"""Half-steps that are looked for in one product."""
_TRIES = 64
"""Codes that are tried for one sum: one of a single summand can meet few half-steps."""


def spread(feeds: dict[str, Array], name: str, found: Array, group: str) -> dict[str, Array]:
    """Scale an operand so that sums, measured as ``found``, spread as the group wants."""
    width = float(np.std(found.astype(np.float64))) or 1.0
    scaled = feeds[name].astype(np.float64) * (_SPREAD[group] / width)
    limited = np.clip(scaled, -65504.0, 65504.0).astype(np.float16)
    return {**feeds, name: limited.astype(feeds[name].dtype)}


def half_steps(
    feeds: dict[str, Array], job: Job, changed: int, seed: int
) -> tuple[dict[str, Array], int]:
    """Change one operand so that sums meet half-steps; return also how many are near.

    ``changed`` is 0 for the first operand of the product, 1 for the second.
    """
    random = np.random.default_rng(seed)
    name = job.reads[changed]
    operand = feeds[name].astype(np.float16)
    flat = operand.reshape(-1)
    count = 0
    for found in sums(job, feeds, changed, random):
        for _ in range(_TRIES):
            code = np.float16(random.uniform(0.25, 6.0) * random.choice((-1.0, 1.0)))
            made = towards(flat[found.places], found, code)
            if near(made, found, code):
                flat[found.places] = made
                count += 1
                break
        if count >= _MOST:
            break
    return {**feeds, name: operand.astype(feeds[name].dtype)}, count


def draw(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Return small random numbers that half precision holds, in the model's type."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        numbers: npt.NDArray[np.float16] = random.normal(size=shape).astype(np.float16)
        return numbers.astype(kind)
    return random.integers(0, 2, shape).astype(kind)
