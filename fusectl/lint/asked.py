"""What a user asks lint for."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asks for; paths are relative to ``folder``."""

    folder: Path
    models: tuple[str, ...] = ()
    target: str = ""
    config: str = ""
    baseline: str = ""
    rules: tuple[str, ...] = ()
    update: bool = False
    accept: tuple[str, ...] = ()
    jobs: int = 0
    seconds: float = 0.0
    cache: bool = True
    today: datetime.date | None = None
