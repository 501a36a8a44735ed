"""What lies in table slots and header registers, and when it has to be loaded again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placed:
    """Where something lies from now on, and whether it has to be loaded first."""

    place: int
    fresh: bool
    residency: int


class Slots:
    """Places that hold one thing each. What is used again last makes room (as the future is known).

    ``wanted`` lists for each call in order what it uses (None: nothing).
    """

    def __init__(self, count: int, wanted: Sequence[str | None]) -> None:
        """Take the number of places and what will be wanted."""
        self._count = count
        self._wanted = wanted
        self._held: dict[int, tuple[str, int]] = {}
        self._loads = 0

    def place(self, key: str, call: int) -> Placed:
        """Return the place of what a call uses."""
        for place, (held, residency) in self._held.items():
            if held == key:
                return Placed(place, False, residency)
        free = next((p for p in range(self._count) if p not in self._held), None)
        place = self._evict(call) if free is None else free
        self._loads += 1
        self._held[place] = (key, self._loads)
        return Placed(place, True, self._loads)

    def _evict(self, call: int) -> int:
        def next_use(place: int) -> tuple[int, int]:
            key = self._held[place][0]
            later = (i for i, k in enumerate(self._wanted) if i > call and k == key)
            return next(later, len(self._wanted)), -place

        return max(self._held, key=next_use)
