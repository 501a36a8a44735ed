"""The cases of this folder: one loadable model a file, with flags, marks and the expected output.

    # target: ideal                         flags; a target or rules file stands beside the case
    # equivalence: exact
    # skip: RULE
    # rules: FILE
    # schedule: FILE
    # invalid: WHY                          the model is no valid one
    # bug: WHY                              the marks do not hold yet
    #
    # Why the case exists.
    g (...) => (...) {
      [act] y = Sigmoid(u)                  # reject u -> act: multi-user, graph-output
    }
    #| what the tool says, one line per decision

Marks are written by hand, anywhere: `accept U -> NODE`, `reject U -> NODE: SLUG, ...`, each
with ` by RULE` behind the node where several rules decide the edge. The slugs of a mark are all the
blockers there may be; one that only is unknown ends in `?`. `uncovered OP -> OP` is an edge that no
rule covers. Lines that begin with `#|` are written by FUSECTL_REGENERATE=1, the marks never are.

`NAME-twin.onnxtxt` is NAME with one fact changed, so that it fuses.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fusectl import api
from fusectl.render import render
from fusectl.report.types import Decision, Report
from fusectl.tables import Catalog

DATA = Path(__file__).with_name("data")
TWIN = "-twin"
_FLAG = re.compile(r"^# (target|equivalence|skip|rules|schedule|invalid|bug): (.+)$")
_MARK = re.compile(
    r"# (?P<kind>accept|reject|uncovered) (?P<value>\S+) -> (?P<node>[^\s:]+)"
    r"(?: by (?P<rule>[^\s:]+))?(?:: (?P<slugs>[a-z?, -]+))?\s*$"
)
_PRINTED = "#|"


@dataclass(frozen=True, slots=True)
class Mark:
    """One hand-written expectation."""

    kind: str
    value: str
    node: str
    rule: str
    slugs: frozenset[str]

    def __str__(self) -> str:
        by = f" by {self.rule}" if self.rule else ""
        slugs = f": {', '.join(sorted(self.slugs))}" if self.slugs else ""
        return f"{self.kind} {self.value} -> {self.node}{by}{slugs}"

    def complaint(self, report: Report) -> str:
        """What is wrong with a report, in one line, or nothing."""
        if self.kind == "uncovered":
            pairs = [(u.producer, u.consumer) for u in report.uncovered]
            return "" if (self.value, self.node) in pairs else f"{self}: uncovered are {pairs}"
        found = [d for d in report.decisions if self._is_about(d)]
        if not found:
            return f"{self}: there is no decision"
        fused = [d for d in found if d.verdict == "fuse"]
        if self.kind == "accept":
            return "" if fused else f"{self}: got {_told(found)}"
        exact = any(blockers(d) == self.slugs for d in found)
        return "" if exact and not fused else f"{self}: got {_told(found)}"

    def _is_about(self, decision: Decision) -> bool:
        edge = decision.edge
        names = (edge.consumer.name, edge.consumer.output)
        return edge.value == self.value and self.node in names and self.rule in ("", decision.rule)


def blockers(decision: Decision) -> frozenset[str]:
    """The reasons against a decision; `slug?` where it only is not known."""
    return frozenset(f.reason + "?" * (f.status == "unknown") for f in decision.blockers)


def _told(found: list[Decision]) -> str:
    return "; ".join(f"{d.rule} {d.verdict} {sorted(blockers(d))}" for d in found)


@dataclass(frozen=True, slots=True)
class Case:
    """One file."""

    path: Path
    text: str
    flags: dict[str, str]
    marks: tuple[Mark, ...]
    printed: tuple[str, ...]
    facts: tuple[str, ...] = field(repr=False)
    """Flags and model without comments: what a twin may differ in."""

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def twin(self) -> str:
        """The name of the case that this one is the twin of, or nothing."""
        return self.name.removesuffix(TWIN) if self.name.endswith(TWIN) else ""

    @property
    def target(self) -> str:
        """A target's id, or the path of its file beside the case."""
        return self._file(self.flags["target"])

    def _file(self, name: str) -> str:
        return str(DATA / name) if name.endswith(".yaml") else name

    def catalog(self) -> Catalog:
        extra = self.flags.get("rules")
        return catalog(self._file(extra) if extra else "")

    def explain(self) -> Report:
        """A fresh report."""
        schedule = self.flags.get("schedule")
        return api.explain(
            self.path,
            self.target,
            rules=self.catalog(),
            equivalence=self.flags.get("equivalence", ""),
            skip=[s for s in self.flags.get("skip", "").split(", ") if s],
            schedule=self._file(schedule) if schedule else None,
        )

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
def catalog(extra: str) -> Catalog:
    """The shipped tables, with one file of rules beside them."""
    return api.load_rules(*([extra] if extra else []))


def read(path: Path) -> Case:
    """Read a case from its file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    flags = {m[1]: m[2] for m in map(_FLAG.match, lines) if m}
    code = (line.partition("#")[0].rstrip() for line in lines)
    stated = [f"{k}: {v}" for k, v in flags.items()]
    return Case(
        path,
        text,
        flags,
        tuple(_mark(m) for m in map(_MARK.search, lines) if m),
        tuple(line.removeprefix(f"{_PRINTED} ") for line in lines if line.startswith(_PRINTED)),
        (*stated, *(line for line in code if line)),
    )


def _mark(found: re.Match[str]) -> Mark:
    slugs = frozenset(s.strip() for s in (found["slugs"] or "").split(",") if s.strip())
    return Mark(found["kind"], found["value"], found["node"], found["rule"] or "", slugs)


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
    return [wrong for mark in case.marks if (wrong := mark.complaint(report))]
