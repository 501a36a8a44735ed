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
_DRAWS = 8
"""How often last bits are drawn; the farthest that one of them moves a result counts."""


def movement(fed: list[Fed], original: Path) -> Moves:
    """Return how far each output may be moved; nothing where that cannot be found out."""
    moves: Moves = {}
    try:
        for draw in range(_DRAWS):
            model = nudged(original, draw)
            if model is None:
                return {}
            session = open_session(model)
            for kind, made, expected in fed:
                given = {name: nudge(array, name, draw) for name, array in made.items()}
                actual = session.run(given)
                for name, value in expected.items():
                    moved = distance(value, actual[name]).relative
                    moves[kind, name] = max(moved, moves.get((kind, name), 0.0))
    except CannotRun:
        return {}
    return moves
