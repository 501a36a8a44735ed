"""The expectations of `data/expect.yaml`, and whether a report meets one.

The header of that file says what each key means; this module is that header in code.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from fusectl import api

if TYPE_CHECKING:
    from fusectl.report.types import Decision, Report

HERE = Path(__file__).parent
DATA = HERE / "data"


class Expectation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `expect` item: what one target must make of one edge."""

    target: str
    value: str
    consumer: str
    verdict: Literal["fuse", "keep"] | None = None
    blockers: list[str]
    not_blockers: list[str] = []
    status: Literal["fail", "unknown"] | None = None
    needs: str | None = None
    schedule: dict[str, dict[str, str]] | None = None
    sure: bool = True
    note: str | None = None

    def summary(self) -> str:
        """What is expected, in one line."""
        parts: list[str] = [self.verdict or "any verdict"]
        if self.blockers:
            parts.append(f"[{' '.join(self.blockers)}]")
        if self.status:
            parts.append(f"status {self.status}")
        if self.not_blockers:
            parts.append(f"without [{' '.join(self.not_blockers)}]")
        return " ".join(parts)


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model of the folder."""

    file: str
    title: str
    expect: list[Expectation]
    ort: str
    ort_extended: str | None = None
    note: str | None = None


class Case(msgspec.Struct, frozen=True):
    """One expectation with the model that it is about and a name of its own."""

    id: str
    file: str
    expectation: Expectation

    @property
    def path(self) -> Path:
        """The model."""
        return DATA / self.file


def load_files() -> list[CaseFile]:
    """All models with their expectations, in the order of the file."""
    return msgspec.yaml.decode((DATA / "expect.yaml").read_bytes(), type=list[CaseFile])


def load_cases() -> list[Case]:
    """All expectations, flat. Of several with the same name, the second is called `...#2`."""
    seen: Counter[str] = Counter()
    cases = []
    for entry in load_files():
        for expectation in entry.expect:
            stem = Path(entry.file).stem
            name = f"{stem}-{expectation.target}-{expectation.value}-{expectation.consumer}"
            seen[name] += 1
            unique = name if seen[name] == 1 else f"{name}#{seen[name]}"
            cases.append(Case(unique, entry.file, expectation))
    return cases


def load_pending() -> Mapping[str, str]:
    """`pending.yaml`: a file or the name of a case -> why it is not there yet."""
    return msgspec.yaml.decode((HERE / "pending.yaml").read_bytes(), type=dict[str, str])


@cache
def load_met_needs() -> Sequence[str]:
    """`needs.yaml`: the kinds of rules that exist, in the words of `needs`."""
    return msgspec.yaml.decode((HERE / "needs.yaml").read_bytes(), type=list[str])


@cache
def report_of(path: Path, target: str) -> "Report":
    """The report on a model, made once per target."""
    return api.explain(path, target=target)


def report_for(case: Case, folder: Path) -> "Report":
    """The report on a case's model; its schedule, if it has one, is written into the folder."""
    expectation = case.expectation
    if expectation.schedule is None:
        return report_of(case.path, expectation.target)
    schedule = folder / "schedule.yaml"
    schedule.write_bytes(msgspec.yaml.encode(expectation.schedule))
    return api.explain(case.path, target=expectation.target, schedule=schedule)


@cache
def shipped_targets() -> frozenset[str]:
    """The targets that there are."""
    return frozenset(api.targets())


def reason_to_skip(case: Case) -> str | None:
    """Why this expectation cannot be judged at all, or nothing."""
    expectation = case.expectation
    if expectation.target not in shipped_targets():
        return f"target {expectation.target} is not shipped"
    needs = expectation.needs
    if needs is None or needs in load_met_needs():
        return None
    if matched(report_of(case.path, expectation.target), expectation):
        return None
    return f"needs {needs}"


def matched(report: "Report", expectation: Expectation) -> list["Decision"]:
    """The decisions that the expectation is about."""
    return [d for d in report.decisions if _is_about(d, expectation)]


def _is_about(decision: "Decision", expectation: Expectation) -> bool:
    nodes = [decision.edge.consumer, *decision.nodes]
    return expectation.value in {decision.edge.value, *decision.swallows} and any(
        expectation.consumer in {node.name, node.output} for node in nodes
    )


def blockers(decision: "Decision", status: str | None = None) -> set[str]:
    """The reasons that are not passed; with a status, those that have it."""
    return {
        finding.reason
        for finding in decision.findings
        if finding.status != "pass" and status in {None, finding.status}
    }


def complaint(report: "Report", expectation: Expectation) -> str | None:
    """What is wrong with the report, in one line, or nothing."""
    decisions = matched(report, expectation)
    if not decisions:
        nothing_asked = expectation.verdict != "fuse" and not expectation.blockers
        return None if nothing_asked else "got no decision on this edge"
    if expectation.verdict == "keep" and any(d.verdict == "fuse" for d in decisions):
        return _got(decisions)
    if expectation.verdict == "fuse":
        decisions = [d for d in decisions if d.verdict == "fuse"]
    if any(_has_the_blockers(d, expectation) for d in decisions):
        return None
    return _got(matched(report, expectation))


def _has_the_blockers(decision: "Decision", expectation: Expectation) -> bool:
    found = blockers(decision)
    if expectation.verdict == "fuse":
        return not found
    listed = set(expectation.blockers) <= blockers(decision, expectation.status)
    return listed and not found & set(expectation.not_blockers)


def _got(decisions: list["Decision"]) -> str:
    """Verdict and blockers of each decision."""
    return "got " + "; ".join(f"{d.rule} {d.verdict} [{' '.join(_marked(d))}]" for d in decisions)


def _marked(decision: "Decision") -> list[str]:
    """The blockers in the order of the findings, those that are unknown with a question mark."""
    found = [f for f in decision.findings if f.status != "pass"]
    return list(dict.fromkeys(f.reason + "?" * (f.status == "unknown") for f in found))
