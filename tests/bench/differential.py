"""Hold a target against its compiler on small changes of the rules' examples.

    python tests/bench/differential.py --target onnxruntime-cpu [--rule R] [-o FILE]

Every accepted example, and every mutant of it that is a valid model, is explained and given to the
runtime that the target names under ``audit``. Edges on which the two differ are printed, grouped
by rule, kind of change and edge. An edge counts as in ``agreement.py``.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from onnx import parser

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fusectl import api
from fusectl.audit.adapters import Refused, adapter
from fusectl.audit.feeds import NoFeeds
from fusectl.audit.work import Task
from fusectl.errors import FusectlError
from tests.bench.agreement import Compared, compare
from tests.mutations.mutants import mutants, valid

_HEADER = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "ai.onnx.ml" : 2]>\n'


@dataclass(frozen=True, slots=True)
class Job:
    """An example of a rule, and what to hold it against."""

    rule: str
    number: int
    text: str
    target: str
    runtime: str
    level: str
    folder: str


def jobs(target: str, only: str, folder: str) -> Iterator[Job]:
    """Yield the accepted examples of every rule, also of those that the target does not have."""
    catalog = api.load_rules()
    audit = catalog.target(target).audit
    if audit is None:
        raise SystemExit(f"{target} names no runtime under audit")
    for rule in catalog.rules.values():
        accepted = [e.accept.value for e in rule.examples if e.accept is not None]
        for number, text in enumerate(accepted):
            if only in ("", rule.id):
                yield Job(rule.id, number, text, target, audit.runtime, audit.level, folder)


def models(job: Job) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yield the example and its valid mutants, by the name of the change."""
    text = job.text if job.text.lstrip().startswith("<") else _HEADER + job.text
    model = parser.parse_model(text)
    model.ir_version = min(model.ir_version or 8, 9)
    for change, made in (("as it is", model), *mutants(model)):
        settled = made if made is model else valid(made)
        if settled is not None:
            yield change, settled


def measure(job: Job) -> tuple[int, int, list[tuple[str, Compared]]]:
    """Return how many models ran, how many edges were compared, and those that differ."""
    runs = edges = 0
    wrong = []
    moves = api.load_rules().operators.moving()
    for change, model in models(job):
        path = Path(job.folder) / f"{job.rule}-{job.number}.onnx"
        onnx.save(model, path)
        try:
            task = Task("edges", job.level, str(path), job.folder, moves)
            seen, _ = adapter(job.runtime).edges(task)
        except (Refused, NoFeeds):
            continue
        except FusectlError as error:
            print(f"{job.rule} {change}: {error}")
            continue
        found = compare((f"{job.rule}-{job.number} {change}", path, tuple(seen), job.target))
        runs += 1
        edges += len(found)
        wrong += [(change, e) for e in found if e.fused != e.predicted and not e.illegal]
    return runs, edges, wrong


def show(wrong: Iterable[tuple[Job, str, Compared]], most: int) -> None:
    """Print the differences, the most frequent kind first."""
    kinds = defaultdict[tuple[str, ...], list[tuple[str, Compared]]](list)
    for job, change, edge in wrong:
        said = "extra" if edge.predicted else "missed"
        kinds[job.rule, change.partition("-")[0], said, ">".join(edge.pair)].append((change, edge))
    for kind, found in sorted(kinds.items(), key=lambda k: -len(k[1])):
        changes = Counter(c for c, _ in found)
        print(f"{len(found):4} {' '.join(kind)}: {', '.join(list(changes)[:most])}")
        print(f"       {found[0][1].why[:200]}")


def main() -> None:
    """Run every example and print what differs."""
    cli = argparse.ArgumentParser(description=__doc__)
    cli.add_argument("--target", default="onnxruntime-cpu")
    cli.add_argument("--rule", default="")
    cli.add_argument("--most", type=int, default=6, help="changes named per kind")
    cli.add_argument("--processes", type=int, default=2)
    cli.add_argument("-o", "--output", default="", help="also write the differences as JSON lines")
    options = cli.parse_args()
    runs = edges = 0
    wrong = []
    with TemporaryDirectory() as folder, ProcessPoolExecutor(options.processes) as pool:
        work = list(jobs(options.target, options.rule, folder))
        for job, (ran, compared, found) in zip(work, pool.map(measure, work), strict=True):
            runs += ran
            edges += compared
            wrong += [(job, change, edge) for change, edge in found]
    show(wrong, options.most)
    share = 1 - len(wrong) / max(edges, 1)
    print(f"{runs} models, {edges} edges, {len(wrong)} differ: agreement {share:.4f}")
    if options.output:
        lines = (
            json.dumps([job.rule, change, *e.pair, e.value, e.consumer, e.predicted, e.why])
            for job, change, e in wrong
        )
        Path(options.output).write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
