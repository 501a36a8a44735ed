"""Annotated models: one loadable ONNX text file a case, with marks that say what must be decided.

# target: my-npu.yaml                   flags; else what is legal on any machine decides
#
# Why the case exists.
<ir_version: 8, opset_import: ["" : 17]>
g (...) => (...) {
  [mm]  u = MatMul(x, w)
  [act] y = Sigmoid(u)                  # reject: multi-user
  [neg] z = Neg(u)
}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fusectl import api
from fusectl.cli.examples import Failure
from fusectl.errors import FusectlError, Problem, Span, TableError, UsageError, did_you_mean
from fusectl.reasons import REASONS
from fusectl.report import Decision, Report
from fusectl.tables import Catalog

SUFFIX = ".onnxtxt"
_FLAG = re.compile(r"# (target|equivalence|skip|schedule|invalid|bug): (.+)")
_START = re.compile(r"#\s*(accept|reject|uncovered)\b")
_MARK = re.compile(
    r"#\s*(?P<kind>accept|reject|uncovered)"
    r"(?: (?P<value>\S+) -> (?P<node>[^\s:]+))?"
    r"(?: by (?P<rule>[^\s:]+))?(?:: (?P<slugs>[a-z?, -]+))?\s*"
)
_NODE = re.compile(r"\s*(?:\[[^\]]*\]\s*)?(?P<output>[^\s,=]+)[^=]*=")


@dataclass(frozen=True, slots=True)
class Mark:
    """One expectation, written by hand.

    ``accept U -> NODE`` or ``reject U -> NODE: SLUG, ...`` stand anywhere; without an edge they
    speak of the node on their line, as the consumer. `` by RULE`` in front of the colon tells
    apart rules that decide the same edge. The slugs are all the blockers that there may be; one
    that is only unknown ends in ``?``. ``uncovered OP -> OP`` is an edge that no rule covers.
    """

    kind: str
    value: str
    node: str
    rule: str
    slugs: frozenset[str]
    span: Span

    def __str__(self) -> str:
        """Return the mark as it is written, with its edge."""
        by = f" by {self.rule}" if self.rule else ""
        slugs = f": {', '.join(sorted(self.slugs))}" if self.slugs else ""
        return f"{self.kind} {self.edge}{by}{slugs}"

    @property
    def edge(self) -> str:
        """The edge that it speaks of."""
        return f"{self.value} -> {self.node}" if self.value else self.node

    def complaint(self, report: Report) -> str:
        """Return what a report says instead, or nothing where it says the same."""
        if self.kind == "uncovered":
            pairs = [(u.producer, u.consumer) for u in report.uncovered]
            listed = ", ".join(f"{a} -> {b}" for a, b in pairs) or "none"
            return "" if (self.value, self.node) in pairs else f"uncovered: {listed}"
        found = [d for d in report.decisions if self._is_about(d)]
        if not found:
            return "no decision"
        fused = any(d.verdict == "fuse" for d in found)
        if self.kind == "accept":
            return "" if fused else _told(found)
        exact = any(blockers(d) == self.slugs for d in found)
        return "" if exact and not fused else _told(found)

    def _is_about(self, decision: Decision) -> bool:
        edge = decision.edge
        names = (edge.consumer.name, edge.consumer.output)
        same = edge.value == self.value if self.value else True
        return same and self.node in names and self.rule in ("", decision.rule)


def blockers(decision: Decision) -> frozenset[str]:
    """Return the reasons against a decision; ``slug?`` where it only is not known."""
    return frozenset(f.reason + "?" * (f.status == "unknown") for f in decision.blockers)


def _told(found: Iterable[Decision]) -> str:
    told = (
        f"{d.rule} {d.verdict}" + (f" [{', '.join(sorted(blockers(d)))}]" if d.blockers else "")
        for d in found
    )
    return "; ".join(told)


@dataclass(frozen=True, slots=True)
class Case:
    """One annotated model. ``flags`` says how to explain it, ``bug`` why a mark does not hold."""

    path: Path
    text: str
    flags: dict[str, str]
    marks: tuple[Mark, ...]

    def explain(self, catalog: Catalog) -> Report:
        """Return a fresh report; a target or schedule that is a file stands beside the case."""
        target = self.flags.get("target", catalog.defaults.legality)
        if target.endswith((".yaml", ".yml")):
            target = str(self.path.parent / target)
        skip = [s.strip() for s in self.flags.get("skip", "").split(",") if s.strip()]
        equivalence = self.flags.get("equivalence", "")
        schedule = self.flags.get("schedule")
        return api.explain(
            self.path,
            catalog.target(target),
            rules=catalog,
            equivalence=equivalence,
            skip=skip,
            schedule=self.path.parent / schedule if schedule else None,
        )


def case_files(entries: Iterable[str]) -> Iterator[Path]:
    """Yield annotated models: files that are ONNX text, and those below folders."""
    for entry in map(Path, entries):
        if entry.is_dir():
            yield from sorted(entry.rglob(f"*{SUFFIX}"))
        elif entry.suffix == SUFFIX:
            yield entry


def read_case(path: Path) -> Case:
    """Read a case. Raises TableError with every mark that cannot be read, UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    lines = text.splitlines()
    flags = {m[1]: m[2].strip() for m in map(_FLAG.fullmatch, lines) if m}
    problems: list[Problem] = []
    marks = tuple(_marks(path, lines, problems))
    if problems:
        raise TableError(problems)
    return Case(path, text, flags, marks)


def _marks(path: Path, lines: list[str], problems: list[Problem]) -> Iterator[Mark]:
    for number, line in enumerate(lines, 1):
        start = _START.search(line)
        if start is None:
            continue
        span = Span(str(path), number, start.start() + 1)
        found = _MARK.fullmatch(line, start.start())
        node = _NODE.match(line[: start.start()])
        if found is None or (found["value"] is None and node is None):
            what = "a mark is like accept U -> NODE or reject U -> NODE: SLUG, or stands at a node"
            problems.append(Problem(span, f"not a mark: {line[start.start() :].strip()}", what))
            continue
        slugs = frozenset(s.strip() for s in (found["slugs"] or "").split(",") if s.strip())
        for slug in sorted(s for s in slugs if s.removesuffix("?") not in REASONS):
            problems.append(Problem(span, f"unknown reason {slug}", did_you_mean(slug, REASONS)))
        if (found["kind"] == "reject") != bool(slugs):
            problems.append(Problem(span, "reject names its reasons, and only reject does"))
        about = found["node"] or (node["output"] if node else "")
        yield Mark(found["kind"], found["value"] or "", about, found["rule"] or "", slugs, span)


def run_case(case: Case, catalog: Catalog) -> Iterator[Failure]:
    """Explain a case and yield every mark that does not hold.

    With the flag ``bug`` it is known that some does not; then it fails when all of them do.
    """
    top = Span(str(case.path), 1, 1)
    if not case.marks:
        yield Failure(top, case.path.stem, "a mark", "none: it would pass whatever is decided")
        return
    try:
        report = case.explain(catalog)
    except FusectlError as error:
        yield Failure(top, case.path.stem, "a report", str(error))
        return
    found = [
        Failure(mark.span, mark.edge, str(mark), got)
        for mark in case.marks
        if (got := mark.complaint(report))
    ]
    bug = case.flags.get("bug")
    if bug is None:
        yield from found
    elif not found:
        yield Failure(top, case.path.stem, f"the bug ({bug})", "all marks hold: drop the flag")
