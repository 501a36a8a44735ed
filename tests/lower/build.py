"""Programs for the tests of this folder."""

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from onnx import parser

from fusectl import api
from fusectl.decide import Run, decide
from fusectl.decide.engine import Options
from fusectl.graph import load_model
from fusectl.lower import lower_run
from fusectl.program import Program
from fusectl.tables import Catalog, Target

RULES = Path(__file__).resolve().parents[2] / "rules"
HEAD = '<ir_version: 9, opset_import: ["" : 20]>\n'
Array = npt.NDArray[np.generic]


@cache
def catalog() -> Catalog:
    return api.load_rules()


@cache
def machine(target: str = "lut-npu") -> Target:
    return catalog().target(target)


def accumulating(folder: Path) -> Path:
    """The same machine with a path that does not claim the bits: a bias starts the accumulators."""
    text = (RULES / "targets" / "lut-npu.yaml").read_text(encoding="utf-8")
    claim = "    numerics: exact\n"
    assert text.count(claim) == 1
    place = folder / "accumulating.yaml"
    place.write_text(text.replace(claim, "").replace("lut-npu", "accumulating"), encoding="utf-8")
    return place


def functions(target: Target) -> frozenset[str]:
    """The rules that put a function behind a product: without them, two nodes remain."""
    rules = catalog().rules
    named = (t.value for p in target.passes for t in p.fuse or ())
    return frozenset(n for n in named if rules[n].slots.takes == "post")


def decided(source: str | Path, target: Target, skip: frozenset[str] = frozenset()) -> Run:
    """The main graph of a model or of ONNX text, as the passes of a target leave it."""
    model = parser.parse_model(HEAD + source) if isinstance(source, str) else source
    operators = catalog().operators
    loaded = load_model(model, operators.alike(), operators.like_first())
    return decide(loaded, target, catalog(), Options("", skip))[0]


def lowered(run: Run, target: Target, fused: bool = True) -> Program:
    return lower_run(run, target, catalog().operators, "m", fused)


def both(source: str | Path, target: Target | None = None) -> tuple[Program, Program]:
    """The fused program, and the one in which only the functions are nodes of their own."""
    target = target or machine()
    fused = decided(source, target)
    apart = decided(source, target, functions(target))
    return lowered(fused, target), lowered(apart, target, fused=False)


def feeds(run: Run, seed: int = 0) -> dict[str, Array]:
    """Values for every input: small numbers that half precision holds, or small whole ones."""
    random = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for name in run.view.inputs:
        known = run.view.type_of(name)
        assert known.static is not None, name
        dtype = np.dtype(known.dtype)
        if dtype.kind == "f":
            made[name] = random.normal(size=known.static).astype(np.float16).astype(dtype)
        else:
            made[name] = random.integers(0, 2, known.static).astype(dtype)
    return made
