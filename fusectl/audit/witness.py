"""An input for which the optimised model answers something else than the model as it stands."""

from __future__ import annotations

import math

import numpy as np
import onnx
from msgspec.structs import replace

from fusectl.audit.adapters import Adapter, Array, Refused
from fusectl.audit.feeds import attempts
from fusectl.audit.work import Apart, Task

TRIED = 8
"""Inputs to try at most."""
ROUNDING = 1e-3
"""Differences up to this share of the largest output are what other kernels may round."""


def apart(runtime: Adapter, task: Task) -> Apart:
    """Run both on several inputs and return where they lie furthest apart.

    Raises Refused where the model cannot be run at all.
    """
    model = onnx.load(task.model, load_external_data=False)
    plain, fast = runtime.runner(task, optimised=False), runtime.runner(task, optimised=True)
    worst, gap, tried, trouble = Apart(0, False), 0.0, 0, "there are no inputs to try"
    for feed in attempts(model, seeds=TRIED):
        if tried == TRIED or gap > ROUNDING:
            break
        try:
            slow, quick = plain(feed.values), fast(feed.values)
        except Refused as error:
            trouble = str(error)
            continue
        tried += 1
        for name in sorted(slow.keys() & quick.keys()):
            share, place = _furthest(slow[name], quick[name])
            if place is not None and share > gap:
                gap = share
                a, b = _number(slow[name][place]), _number(quick[name][place])
                worst = Apart(0, share > ROUNDING, feed.told, name, place, a, b)
                if task.keep and worst.differs:
                    np.savez(task.keep, **feed.values)  # type: ignore[arg-type]
    if not tried:
        raise Refused(trouble)
    return replace(worst, tried=tried)


def _number(value: np.generic) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _furthest(plain: Array, fast: Array) -> tuple[float, tuple[int, ...] | None]:
    """Return the largest difference as a share of the largest number, and where it is."""
    if plain.shape != fast.shape or not plain.size or plain.dtype.kind not in "fiub":
        return 0.0, None
    a, b = plain.astype(np.float64), fast.astype(np.float64)
    difference = np.where(np.isfinite(a) & np.isfinite(b), np.abs(a - b), 0.0)
    difference[np.isnan(a) != np.isnan(b)] = np.inf
    place = np.unravel_index(int(difference.argmax()), difference.shape)
    scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) or 1.0
    return float(difference[place]) / scale, tuple(int(i) for i in place)
