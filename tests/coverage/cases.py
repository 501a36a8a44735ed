"""The cases of this folder: annotated models, as ``fusectl rules test`` reads them, and more.

`#|` lines below the model hold what the tool says, one line per decision. They are written by
FUSECTL_REGENERATE=1; marks and flags are written by hand (see ``fusectl.cli.cases``).

`NAME-twin.onnxtxt` is NAME with one fact changed, so that it fuses.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fusectl import api
from fusectl.cli import cases
from fusectl.render import render
from fusectl.report.types import Report
from fusectl.tables import Catalog

DATA = Path(__file__).with_name("data")
TWIN = "-twin"
_PRINTED = "#|"


@dataclass(frozen=True, slots=True)
class Case:
    """One file."""

    case: cases.Case
    printed: tuple[str, ...]
    facts: tuple[str, ...] = field(repr=False)
    """Flags and model without comments: what a twin may differ in."""

    @property
    def path(self) -> Path:
        return self.case.path

    @property
    def text(self) -> str:
        return self.case.text

    @property
    def flags(self) -> dict[str, str]:
        return self.case.flags

    @property
    def marks(self) -> tuple[cases.Mark, ...]:
        return self.case.marks

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def twin(self) -> str:
        """The name of the case that this one is the twin of, or nothing."""
        return self.name.removesuffix(TWIN) if self.name.endswith(TWIN) else ""

    def explain(self) -> Report:
        """A fresh report."""
        return self.case.explain(catalog())

    def concise(self, report: Report) -> tuple[str, ...]:
        """The report, one line per decision, without the path."""
        lines = str(render(report, "concise")).splitlines()
        return tuple(line.removeprefix(f"{self.path}: ") for line in lines)

    def regenerate(self, report: Report) -> None:
        """Write the file anew, with what the tool says now."""
        kept = [line for line in self.text.splitlines() if not line.startswith(_PRINTED)]
        lines = [*kept, *(f"{_PRINTED} {line}" for line in self.concise(report))]
        text = "\n".join(lines) + "\n"
        if text != self.text:
            self.path.write_text(text, encoding="utf-8")


@cache
def catalog() -> Catalog:
    """The shipped tables."""
    return api.load_rules()


def read(path: Path) -> Case:
    """Read a case from its file."""
    case = cases.read_case(path)
    lines = case.text.splitlines()
    code = (line.partition("#")[0].rstrip() for line in lines)
    stated = [f"{k}: {v}" for k, v in case.flags.items()]
    return Case(
        case,
        tuple(line.removeprefix(f"{_PRINTED} ") for line in lines if line.startswith(_PRINTED)),
        (*stated, *(line for line in code if line)),
    )


@cache
def load_cases() -> dict[str, Case]:
    """All cases by name."""
    return {path.stem: read(path) for path in sorted(DATA.glob("*.onnxtxt"))}


@cache
def report_of(name: str) -> Report:
    """The report of a case, made once."""
    return load_cases()[name].explain()


def complaints(case: Case, report: Report) -> list[str]:
    """Every mark of a case that a report does not meet."""
    told = ((mark, mark.complaint(report)) for mark in case.marks)
    return [f"{mark}: got {got}" for mark, got in told if got]
