"""The proof of the epilogue given U: every code that a sum can leave as, through both paths.

What the product computes is no part of it. The product here has one summand, times one, so that
the sum is the code; the function, its table, its header and its encodings are the decision's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fusectl.lower import lower_work
from fusectl.lower.jobs import Activation, Job, Value, Work
from fusectl.program import Encoding, Program
from fusectl.simulate import Machine
from fusectl.tables.targets import Target
from fusectl.tiling import best, work_of
from fusectl.tiling.geometry import Product

CODES = 1 << 16
_HALF = Encoding("float16")
_BUDGET = 1 << 62


@dataclass(frozen=True, slots=True)
class Proof:
    """``codes`` that U took, of ``possible`` ones; for how many the two paths differ.

    ``numbers`` are the finite codes in order, ``results`` what the fused path makes of them, in
    the numbers that they stand for.
    """

    codes: int
    possible: int
    different: int
    numbers: npt.NDArray[np.float64]
    results: npt.NDArray[np.float64]

    @property
    def holds(self) -> bool:
        """Whether all codes were there, and both paths agreed on all of them."""
        return self.codes == self.possible and not self.different


def prove(activation: Activation, coded: Encoding | None, target: Target) -> Proof:
    """Enumerate the codes of U for a function. Raises Unlowerable, Trap."""
    fused, apart = _programs(activation, coded, target)
    codes = np.arange(CODES, dtype=np.uint16).view(np.float16)
    feeds = {"x": codes.reshape(-1, 1), "w": np.ones((1, 1), np.float16)}
    one, two = Machine(fused), Machine(apart)
    made, plain = one.run(feeds)["y"], two.run(feeds)["y"]
    seen = two.get("u").reshape(-1)
    # A sum is never -0 (0 + -0 is 0), and all NaN count as one.
    wanted = codes[~np.isnan(codes) & (codes.view(np.uint16) != 0x8000)]
    there = set(seen[~np.isnan(seen)].view(np.uint16).tolist())
    bits = made.view(np.uint8).reshape(CODES, -1) != plain.view(np.uint8).reshape(CODES, -1)
    finite = np.isfinite(codes)
    numbers = codes[finite].astype(np.float64)
    results = _numbers(made.reshape(-1)[finite], coded)
    order = np.argsort(numbers, kind="stable")
    return Proof(
        len(there & set(wanted.view(np.uint16).tolist())) + bool(np.isnan(seen).any()),
        len(wanted) + 1,
        int(bits.any(axis=1).sum()),
        numbers[order],
        results[order],
    )


def _numbers(codes: npt.NDArray[np.generic], coded: Encoding | None) -> npt.NDArray[np.float64]:
    numbers = codes.astype(np.float64)
    if coded is None or coded.scale is None:
        return numbers
    return np.asarray((numbers - coded.zero_point) * coded.scale, np.float64)


def _programs(
    activation: Activation, coded: Encoding | None, target: Target
) -> tuple[Program, Program]:
    sizes = Product(CODES, 1, 1)
    allowed = ("none", "m", "n")
    tiling = best(work_of(sizes, (2, 2, 2)), target.on_chip or _BUDGET, allowed)
    written = coded or _HALF
    values = {
        "x": Value("x", (CODES, 1), "float16", _HALF, "input"),
        "w": Value("w", (1, 1), "float16", _HALF, "input"),
        "u": Value("u", (CODES, 1), "float16", _HALF, "output"),
        "y": Value("y", (CODES, 1), written.dtype, Encoding(written.dtype), "output"),
    }
    product = Job("product", "MatMul", ("product",), ("x", "w", ""), ("u",), sizes, tiling)
    function = Job(
        "function",
        activation.function,
        ("function",),
        ("u",),
        ("y",),
        activation=activation,
        coded=coded,
    )
    both = replace(
        product,
        nodes=("product", "function"),
        writes=("y",),
        activation=activation,
        coded=coded,
    )
    kept = {name: value for name, value in values.items() if name != "u"}
    fused = lower_work(Work((both,), kept), target, "", fused=True)
    return fused, lower_work(Work((product, function), values), target, "", fused=False)
