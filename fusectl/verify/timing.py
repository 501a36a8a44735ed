"""How long the original and the fused form take: in one process, taking turns, one thread each."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from fusectl.report.verification import Times, Timing
from fusectl.runtime import open_session
from fusectl.runtime.session import Array, Session

_SECONDS = 1.0
"""How long a pair takes turns, if the fewest rounds are not longer."""
_FEWEST, _MOST = 5, 300


def measure(original: bytes | Path, fused: bytes | Path, given: dict[str, Array]) -> Timing:
    """Time two models on the same inputs; nothing is optimised. Raises CannotRun."""
    pair = (open_session(original), open_session(fused))
    for session in pair:  # the first runs allocate
        _once(session, given)
    taken: tuple[list[float], list[float]] = ([], [])
    until = time.perf_counter() + _SECONDS
    while len(taken[0]) < _FEWEST or (time.perf_counter() < until and len(taken[0]) < _MOST):
        # Who comes first changes, so that neither always finds the caches the other one left.
        for side in (0, 1) if len(taken[0]) % 2 else (1, 0):
            taken[side].append(_once(pair[side], given))
    before, after = (_times(t) for t in taken)
    return Timing(before, after, len(taken[0]))


def _once(session: Session, given: dict[str, Array]) -> float:
    began = time.perf_counter()
    session.run(given)
    return time.perf_counter() - began


def _times(taken: list[float]) -> Times:
    low, median, high = np.percentile(taken, (25, 50, 75)).tolist()
    return Times(median, low, high)
