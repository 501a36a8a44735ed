"""Models that look like a pattern and compute something else, written by hand.

# never: RULE           the rule that must not fire
# bug: WHY              it still does; the line goes when it no longer does
#
# What is wrong with it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from onnx import parser

from fusectl import api
from fusectl.report.types import Report
from tests.mutations.examples import catalog
from tests.mutations.values import NotRunnable
from tests.mutations.witness import contradictions

FOLDER = Path(__file__).with_name("traps")
_FLAG = re.compile(r"^# (never|bug): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Trap:
    """One file."""

    name: str
    model: onnx.ModelProto
    never: str
    bug: str

    def fused(self, report: Report) -> bool:
        return any(d.rule == self.never and d.verdict == "fuse" for d in report.decisions)


def _read(path: Path) -> Trap:
    text = path.read_text(encoding="utf-8")
    flags = dict(_FLAG.findall(text))
    return Trap(path.stem, parser.parse_model(text), flags["never"], flags.get("bug", ""))


TRAPS = [_read(path) for path in sorted(FOLDER.glob("*.onnxtxt"))]


def _marked(trap: Trap) -> object:
    marks = [pytest.mark.xfail(strict=True, reason=trap.bug)] if trap.bug else []
    return pytest.param(trap, id=trap.name, marks=marks)


@pytest.mark.parametrize("trap", [_marked(t) for t in TRAPS])
def test_trap_is_not_fallen_into(trap: Trap) -> None:
    report = api.explain(trap.model, "ideal", rules=catalog())
    assert not trap.fused(report)


@pytest.mark.parametrize("trap", [pytest.param(t, id=t.name) for t in TRAPS])
def test_trap_is_one(trap: Trap) -> None:
    """As long as the rule fires, the witness says that it must not."""
    onnx.checker.check_model(trap.model)
    report = api.explain(trap.model, "ideal", rules=catalog())
    if not trap.fused(report):
        return
    try:
        assert any(w.startswith(f"{trap.never}: ") for w in contradictions(trap.model, report))
    except NotRunnable as error:
        pytest.skip(f"it cannot be evaluated: {error}")
