"""How far a model's results move when its inputs and weights move by their last bit."""

from __future__ import annotations

from pathlib import Path

from fusectl.rewrite.nudge import nudge, nudged
from fusectl.runtime import CannotRun, open_session
from fusectl.runtime.session import Array
from fusectl.verify.compare import distance

Fed = tuple[str, dict[str, Array], dict[str, object]]
"""A region of inputs, inputs of it, and what the original makes of them."""
Moves = dict[tuple[str, str], float]
"""Relative distances by region and output."""
_TIMES = 4
"""One draw of last bits is an estimate of what rounding does; this many times it is as far."""


def movement(fed: list[Fed], original: Path) -> Moves:
    """Return how far each output may be moved; nothing where that cannot be found out."""
    model = nudged(original)
    if model is None:
        return {}
    moves: Moves = {}
    try:
        session = open_session(model)
        for kind, made, expected in fed:
            actual = session.run({name: nudge(array, name) for name, array in made.items()})
            for name, value in expected.items():
                moves[kind, name] = _TIMES * distance(value, actual[name]).relative
    except CannotRun:
        return {}
    return moves
