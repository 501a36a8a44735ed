"""What every runtime offers: open a model, feed it, get its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Dim = int | str | None


class CannotRun(Exception):
    """A model cannot be loaded or run here; the text is the runtime's."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input of a model: name, element type by numpy's name (``str`` for text), dimensions.

    ``dims`` is None where the rank is unknown or the input is no tensor.
    """

    name: str
    dtype: str
    dims: tuple[Dim, ...] | None


class Session(Protocol):
    """A model that is loaded."""

    inputs: tuple[Port, ...]
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        """Return the outputs by name. Raises CannotRun."""
        ...


def optional() -> str | None:
    """Return the runtime that is installed beside ONNX's reference evaluator, with its version."""
    if find_spec("onnxruntime") is None:
        return None
    from fusectl.runtime import ort

    return ort.name()


def runner() -> str:
    """Return which runtime runs models here, with its version."""
    found = optional()
    if found is not None:
        return found
    from fusectl.runtime import reference

    return reference.name()


def lacks(domain: str) -> bool:
    """Tell whether what runs models here has no operators of a domain."""
    return domain not in ("", "ai.onnx") and find_spec("onnxruntime") is None


def open_session(model: bytes | Path, optimise: bool = False) -> Session:
    """Load a model. Raises CannotRun.

    External data are found beside a path; bytes have none. ``optimise`` False: every node runs
    as it stands in the model, as far as the runtime allows.
    """
    if find_spec("onnxruntime") is not None:
        from fusectl.runtime import ort

        return ort.Session(model, optimise)
    from fusectl.runtime import reference

    return reference.Session(model)
