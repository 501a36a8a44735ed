"""The audit of one model: the runtime works while the decisions are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fusectl.audit import truth as measured
from fusectl.audit.build import build, witness_of
from fusectl.audit.choose import choose, misfits
from fusectl.audit.lay import lay
from fusectl.audit.run import Job, Runtime, runtime
from fusectl.audit.work import Task
from fusectl.errors import UsageError
from fusectl.graph.read import parse, read_bytes
from fusectl.pipeline import explain, load_rules
from fusectl.report.audit import Against, Audit, Witness
from fusectl.report.types import Report
from fusectl.tables import Catalog, Target

if TYPE_CHECKING:
    import onnx  # for annotations only

SECONDS = 300.0
"""How long a runtime may take where the caller says nothing."""


def audit_model(
    model: str | Path | onnx.ModelProto,
    against: str = "",
    *,
    level: str = "",
    target: str | Target | None = None,
    truth: str | Path | None = None,
    rules: Iterable[str | Path] | Catalog = (),
    seconds: float = SECONDS,
    witness: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Hold the decisions about a model against what a compiler does with it.

    ``against`` names an installed runtime, ``level`` its optimisation level; ``truth`` is a file
    of measured edges to take instead. ``target``: without one, the target that describes the
    runtime at that level (for a file: the default target). ``seconds`` is how long the runtime
    may take, ``witness`` a file for inputs (.npz) for which the optimised model differs, if the
    compiler fuses what is not legal and there are such. Raises FusectlError.
    """
    if (truth is None) == (not against):
        raise UsageError("name either a runtime to hold the decisions against, or a file of edges")
    source, name = _source(model)
    if truth is not None:
        if level:
            raise UsageError("a file of edges has its level: leave the level out")
        return _from_file(source, name, target, _catalog(rules), truth, progress)
    runtime(against, level)
    with Job(against, seconds, name) as job:
        catalog = _catalog(rules)
        found, chosen = choose(catalog, against, level, target)
        audit = _Audit(found, chosen, catalog, seconds, progress)
        return audit.run(source, name, job, _npz(str(witness or "")))


def _catalog(rules: Iterable[str | Path] | Catalog) -> Catalog:
    return rules if isinstance(rules, Catalog) else load_rules(*rules)


def _source(model: str | Path | onnx.ModelProto) -> tuple[str | Path | onnx.ModelProto, str]:
    """Return the model, and the name to show; standard input is read here, once."""
    if not isinstance(model, str | Path):
        return model, "<model>"
    if str(model) == "-":
        name, data = read_bytes("-")
        return parse(name, data), name
    return model, str(model)


def _named(report: Report, path: str) -> Report:
    return replace(report, model=replace(report.model, path=path))


def _from_file(
    source: str | Path | onnx.ModelProto,
    name: str,
    target: str | Target | None,
    catalog: Catalog,
    path: str | Path,
    progress: Callable[[str], None] | None,
) -> Audit:
    line = measured.line_for(measured.read(path), name, str(path))
    chosen = target or catalog.defaults.target
    chosen = chosen if isinstance(chosen, Target) else catalog.target(chosen)
    report = _named(explain(source, chosen, rules=catalog, progress=progress), name)
    against = Against("", line.compiler or "the compiler", "", line.level, str(path))
    return build(report, chosen, catalog, against, lay(report, line.edges, chosen), None, ())


class _Audit:
    def __init__(
        self,
        found: Runtime,
        target: Target,
        catalog: Catalog,
        seconds: float,
        progress: Callable[[str], None] | None,
    ) -> None:
        self.runtime, self.target, self.catalog = found, target, catalog
        self.seconds, self.progress = seconds, progress

    def run(self, source: str | Path | onnx.ModelProto, name: str, job: Job, keep: str) -> Audit:
        task = self._task(source, name, job.folder)
        job.ask(task)
        report = explain(source, self.target, rules=self.catalog, progress=self.progress)
        report = _named(report, name)
        self._tell(f"{self.runtime.title} at work")
        answer = job.wait()
        compared = tuple(lay(report, answer.edges, self.target))
        witness = None
        if any(c.illegal and c.scored for c in compared):
            self._tell("looking for a witness")
            witness = self._witness(replace(task, what="witness", keep=keep), name)
        found = self.runtime
        against = Against(found.name, found.title, answer.version, found.level, "")
        notes = (*misfits(found, self.target, answer.version), *answer.notes)
        return build(report, self.target, self.catalog, against, compared, witness, notes)

    def _tell(self, text: str) -> None:
        if self.progress is not None:
            self.progress(text)

    def _task(self, source: str | Path | onnx.ModelProto, name: str, folder: Path) -> Task:
        """Return the task; what is no binary model yet is written as one."""
        if isinstance(source, str | Path) and Path(source).suffix.lower() == ".onnx":
            path = Path(source)
        else:
            path = folder / "model.onnx"
            proto = parse(*read_bytes(name)) if isinstance(source, str | Path) else source
            path.write_bytes(proto.SerializeToString())
        moves = self.catalog.operators.moving()
        return Task("edges", self.runtime.level, str(path.resolve()), str(folder), moves)

    def _witness(self, task: Task, name: str) -> Witness:
        try:
            with Job(self.runtime.name, self.seconds, name) as job:
                job.ask(task)
                found = job.wait().apart
        except UsageError as error:
            return Witness(0, False, "", "", (), None, None, "", str(error))
        assert found is not None
        return witness_of(found, task.keep)


def _npz(path: str) -> str:
    """Return the path that numpy writes to."""
    if not path:
        return ""
    return str(Path(path if path.endswith(".npz") else f"{path}.npz").absolute())
