"""The audit of one model: the runtime works while the decisions are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fusectl.audit import truth
from fusectl.audit.build import build, witness_of
from fusectl.audit.choose import choose, misfits
from fusectl.audit.lay import lay
from fusectl.audit.run import Job, Runtime
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
    catalog = rules if isinstance(rules, Catalog) else load_rules(*rules)
    if (truth is None) == (not against):
        raise UsageError("name either a runtime to hold the decisions against, or a file of edges")
    source, path = _source(model)
    if truth is not None:
        if level:
            raise UsageError("a file of edges has its level: leave the level out")
        name = target or catalog.defaults.target
        chosen = name if isinstance(name, Target) else catalog.target(name)
        report = _named(explain(source, chosen, rules=catalog, progress=progress), path)
        return _from_file(report, chosen, catalog, truth, path)
    found, chosen = choose(catalog, against, level, target, seconds)
    return _Audit(found, chosen, catalog, progress).run(source, path, str(witness or ""))


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
    report: Report, target: Target, catalog: Catalog, path: str | Path, model: str
) -> Audit:
    line = truth.line_for(truth.read(path), model, str(path))
    against = Against("", line.compiler or "the compiler", "", line.level, str(path))
    return build(report, target, catalog, against, lay(report, line.edges), None, ())


class _Audit:
    def __init__(
        self,
        found: Runtime,
        target: Target,
        catalog: Catalog,
        progress: Callable[[str], None] | None,
    ) -> None:
        self.runtime, self.target, self.catalog, self.progress = found, target, catalog, progress

    def run(self, source: str | Path | onnx.ModelProto, name: str, keep: str) -> Audit:
        with TemporaryDirectory(prefix="fusectl-") as folder:
            task = self._task(source, name, folder)
            with Job(self.runtime, task, name) as job:
                report = explain(source, self.target, rules=self.catalog, progress=self.progress)
                self._tell(f"{self.runtime.title} at work")
                answer = job.wait()
            compared = tuple(lay(_named(report, name), answer.edges))
            witness = None
            if any(c.illegal and c.scored for c in compared):
                self._tell("looking for a witness")
                witness = self._witness(replace(task, what="witness", keep=_npz(keep)), name)
        against = Against(
            self.runtime.name, self.runtime.title, answer.version, self.runtime.level, ""
        )
        notes = (*misfits(self.runtime, self.target, answer.version), *answer.notes)
        return build(
            _named(report, name), self.target, self.catalog, against, compared, witness, notes
        )

    def _tell(self, text: str) -> None:
        if self.progress is not None:
            self.progress(text)

    def _task(self, source: str | Path | onnx.ModelProto, name: str, folder: str) -> Task:
        """Return the task; what is no binary model yet is written as one."""
        path = Path(folder) / "model.onnx"
        if isinstance(source, str | Path):
            path = Path(source)
            if path.suffix.lower() != ".onnx":
                model = parse(*read_bytes(name))
                path = Path(folder) / "model.onnx"
                path.write_bytes(model.SerializeToString())
        else:
            path.write_bytes(source.SerializeToString())
        moves = self.catalog.operators.moving()
        return Task(
            "edges", self.runtime.name, self.runtime.level, str(path.resolve()), folder, moves
        )

    def _witness(self, task: Task, name: str) -> Witness:
        try:
            with Job(self.runtime, task, name) as job:
                found = job.wait().apart
        except UsageError as error:
            return Witness(0, False, "", "", (), 0.0, 0.0, "", str(error))
        assert found is not None
        return witness_of(found, task.keep)


def _npz(path: str) -> str:
    """Return the path that numpy writes to."""
    if not path:
        return ""
    return str(Path(path if path.endswith(".npz") else f"{path}.npz").absolute())
