"""The runtimes that the audit knows, one module each: the only place for a compiler's name."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from fusectl.audit.work import Measured, Task

Array = npt.NDArray[np.generic]
Runner = Callable[[Mapping[str, Array]], Mapping[str, Array]]
"""From inputs to outputs by name. Raises Refused."""


class Refused(Exception):
    """The runtime does not take the model, or cannot be had; the text is one line."""


class Adapter(Protocol):
    """What a module of this folder offers as ``ADAPTER``. Only methods may import the runtime."""

    title: str
    module: str
    extra: str
    levels: tuple[str, ...]
    """Optimisation levels, the usual one first; one empty name where there is only one."""

    def version(self) -> str:
        """Return the version of the runtime."""
        ...

    def edges(self, task: Task) -> tuple[Sequence[Measured], Sequence[str]]:
        """Return every edge of the model, and notes. Raises Refused."""
        ...

    def runner(self, task: Task, optimised: bool) -> Runner:
        """Return what runs the model, as it is or as it is optimised. Raises Refused."""
        ...


def names() -> list[str]:
    """Return the runtimes that there are adapters for, installed or not."""
    return sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))


def adapter(name: str) -> Adapter:
    """Return an adapter. The runtime is not imported yet."""
    return cast(Adapter, importlib.import_module(f"{__name__}.{name}").ADAPTER)


def installed(found: Adapter) -> bool:
    """Tell whether the runtime can be imported."""
    return importlib.util.find_spec(found.module) is not None
