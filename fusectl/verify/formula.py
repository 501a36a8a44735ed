"""How far the graph as written and its fused form lie from the real-number formula of both.

A fused form may round less often than the graph says. It is then closer to the formula, and not
equal to the graph. Which of the two is asked for is the user's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fusectl.graph.constants import Array
from fusectl.graph.evaluate import node_model
from fusectl.graph.overlay import Overlay
from fusectl.graph.read import parse, read_bytes
from fusectl.graph.view import Node
from fusectl.report.verification import FromFormula
from fusectl.runtime import CannotRun
from fusectl.runtime.formula import Formula

Numbers = npt.NDArray[np.float64]
Outputs = Mapping[str, object]
_LARGEST_FILE = 64 << 20
"""Bytes of a model that is computed in double precision as a whole."""
_MOST_WORK = 1 << 20
"""Elements of inputs and outputs, times nodes, that are computed where nobody asked for it."""


def evaluate_formula(
    nodes: Sequence[Node], given: Mapping[str, Array], last: str, overlay: Overlay
) -> Array:
    """Return ``last``, which one of the nodes makes, without a rounding. Raises CannotRun.

    Raises Unreadable where a constant that is not given cannot be read.
    """
    known = dict(given)
    for node in nodes:
        if last in known:
            break
        feeds: dict[str, Array] = {}
        for name in filter(None, node.inputs):
            real = overlay.alias.get(name, name)
            array = known.get(name, known.get(real))
            feeds[name] = overlay.array(real) if array is None else array
        known |= Formula(node_model(node, feeds, overlay.view)).run(feeds)
    return known[last]


@dataclass(frozen=True, slots=True)
class Exact:
    """Computes what results are without a rounding, within reason.

    ``formula`` makes the formula when it is first needed. ``wanted``: however long that takes.
    """

    formula: Callable[[], Formula]
    wanted: bool

    def outputs(self, made: Mapping[str, Array], expected: Mapping[str, object]) -> Outputs:
        """Return the outputs for some inputs, nothing where there is no formula.

        ``expected`` is what the runtime makes of them.
        """
        try:
            found = self.formula()
            arrays = (a for a in (*made.values(), *expected.values()) if isinstance(a, np.ndarray))
            if not self.wanted and found.nodes * sum(a.size for a in arrays) > _MOST_WORK:
                return {}
            return found.run(made)
        except CannotRun:
            return {}


def formula_of_file(path: str) -> Formula:
    """Return the formula of a whole model. Raises CannotRun."""
    place = Path(path)
    if not place.is_file():
        raise CannotRun("a model from standard input has no formula")
    if place.stat().st_size > _LARGEST_FILE:
        raise CannotRun(f"the file is larger than {_LARGEST_FILE >> 20} MiB")
    return Formula(place if place.suffix == ".onnx" else parse(*read_bytes(path)))


def outputs_from_formula(
    exact: Mapping[str, object], written: Mapping[str, object], fused: Mapping[str, object]
) -> FromFormula | None:
    """Compare the outputs that are floating-point numbers; None where there is none."""
    found = []
    for name, real in exact.items():
        was, now = written.get(name), fused.get(name)
        if not isinstance(real, np.ndarray) or real.dtype.kind != "f":
            continue
        if isinstance(was, np.ndarray) and isinstance(now, np.ndarray) and was.shape == real.shape:
            found.append(from_formula(real, was, now, 0.0))
    return joined(found)


def from_formula(exact: Array, written: Array, fused: Array, bound: Numbers | float) -> FromFormula:
    """Compare two results with the formula, element by element; ``bound`` is absolute.

    The fused form is beyond where it is farther from the formula than the bound and than the
    graph as written.
    """
    real = np.asarray(exact, np.float64).reshape(-1)
    was, now = (_distances(real, a) for a in (written, fused))
    beyond = now > np.maximum(was, np.asarray(bound).reshape(-1))
    return FromFormula(
        _largest(was),
        _largest(now),
        int(np.sum(now < was)),
        int(np.sum(now > was)),
        int(np.sum(beyond)),
    )


def _distances(real: Numbers, made: Array) -> Numbers:
    numbers = np.asarray(made).astype(np.float64).reshape(-1)
    with np.errstate(invalid="ignore"):
        far = np.abs(numbers - real)
    far[(numbers == real) | (np.isnan(numbers) & np.isnan(real))] = 0.0
    # No number where the formula has one is as far off as can be.
    far[np.isnan(far)] = np.inf
    return far


def _largest(far: Numbers) -> float | None:
    """Return the largest distance, None for one that no number is."""
    largest = float(far.max(initial=0.0))
    return largest if np.isfinite(largest) else None


def joined(found: Iterable[FromFormula | None]) -> FromFormula | None:
    """Return what several comparisons say together, None where one of them is missing."""
    parts = list(found)
    known = [p for p in parts if p is not None]
    if not known or len(known) < len(parts):
        return None
    return FromFormula(
        _most(p.written for p in known),
        _most(p.fused for p in known),
        sum(p.closer for p in known),
        sum(p.farther for p in known),
        sum(p.beyond for p in known),
    )


def _most(numbers: Iterable[float | None]) -> float | None:
    found = list(numbers)
    known = [n for n in found if n is not None]
    return max(known) if len(known) == len(found) else None
