"""Hold a target against its compiler on small changes of the rules' examples.

    python tests/bench/differential.py --target onnxruntime-cpu [--rule R]

Every accepted example, and every mutant of it that is a valid model, is explained and given to the
runtime that the target names under ``audit``. Edges on which the two differ are printed, grouped
by rule, kind of change and edge. An edge counts as in ``agreement.py``.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import onnx
from onnx import parser

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fusectl import api
from fusectl.audit.adapters import Refused, adapter
from fusectl.audit.feeds import NoFeeds
from fusectl.audit.work import Task
from tests.bench.agreement import compare
from tests.mutations.mutants import mutants, valid

_HEADER = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "ai.onnx.ml" : 2]>\n'


class Job(msgspec.Struct, frozen=True):
    """An example of a rule, and what to hold it against."""

    rule: str
    number: int
    text: str
    target: str
    runtime: str
    level: str
    folder: str


class Wrong(msgspec.Struct, frozen=True):
    """An edge on which target and runtime differ."""

    pair: str
    value: str
    consumer: str
    predicted: bool
    why: str


class Answer(msgspec.Struct, frozen=True):
    """What came of one model: how many edges were compared, and those that differ."""

    place: int
    change: str
    edges: int = 0
    wrong: tuple[Wrong, ...] = ()


def jobs(target: str, only: str, folder: str) -> Iterator[Job]:
    """Yield the accepted examples of every rule that the target has a path for."""
    catalog = api.load_rules()
    table = catalog.target(target)
    audit = table.audit
    if audit is None:
        raise SystemExit(f"{target} names no runtime under audit")
    for rule in (catalog.rules[name] for name in table.paths):
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


def measure(job: Job, start: int) -> Iterator[Answer]:
    """Yield an answer for each model that the runtime takes, from a number on."""
    moves = api.load_rules().operators.moving()
    path = Path(job.folder) / f"{job.rule}-{job.number}.onnx"
    for place, (change, model) in enumerate(models(job)):
        if place < start:
            continue
        onnx.save(model, path)
        try:
            task = Task("edges", job.level, str(path), job.folder, moves)
            seen, _ = adapter(job.runtime).edges(task)
        except (Refused, NoFeeds, TypeError, ValueError) as error:
            yield Answer(place, f"{change}: {error}")
            continue
        found = compare((f"{job.rule}-{job.number} {change}", path, tuple(seen), job.target))
        wrong = [e for e in found if e.fused != e.predicted and not e.illegal]
        told = tuple(
            Wrong(">".join(e.pair), e.value, e.consumer, e.predicted, e.why) for e in wrong
        )
        yield Answer(place, change, len(found), told)


def ask(job: Job) -> list[Answer]:
    """Measure in a process of its own; a model that ends the runtime is left out."""
    answers: list[Answer] = []
    while True:
        start = len(answers)
        child = subprocess.run(
            [sys.executable, __file__, "--job", msgspec.json.encode(job), "--start", str(start)],
            stdout=subprocess.PIPE,
            check=False,
        )
        answers += [msgspec.json.decode(line, type=Answer) for line in child.stdout.splitlines()]
        if child.returncode == 0:
            return answers
        answers.append(Answer(len(answers), "it ends the runtime"))
        print(f"{job.rule}-{job.number}: model {len(answers) - 1} ends the runtime")


def show(wrong: Iterable[tuple[Job, str, Wrong]], most: int) -> None:
    """Print the differences, the most frequent kind first."""
    kinds = defaultdict[tuple[str, ...], list[tuple[str, Wrong]]](list)
    for job, change, edge in wrong:
        said = "extra" if edge.predicted else "missed"
        kinds[job.rule, change.partition("-")[0], said, edge.pair].append((change, edge))
    for kind, found in sorted(kinds.items(), key=lambda k: -len(k[1])):
        changes = list(dict.fromkeys(c for c, _ in found))
        print(f"{len(found):4} {' '.join(kind)}: {', '.join(changes[:most])}")
        print(f"       {found[0][1].why[:200]}")


def main() -> None:
    """Run every example and print what differs."""
    cli = argparse.ArgumentParser(description=__doc__)
    cli.add_argument("--target", default="onnxruntime-cpu")
    cli.add_argument("--rule", default="")
    cli.add_argument("--most", type=int, default=6, help="changes named per kind")
    cli.add_argument("--processes", type=int, default=2)
    cli.add_argument("--job", default="", help=argparse.SUPPRESS)
    cli.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    options = cli.parse_args()
    if options.job:
        for answer in measure(msgspec.json.decode(options.job, type=Job), options.start):
            print(msgspec.json.encode(answer).decode(), flush=True)
        return
    ran = edges = 0
    wrong: list[tuple[Job, str, Wrong]] = []
    with TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        work = list(jobs(options.target, options.rule, folder))
        for job, answers in zip(work, pool.map(ask, work), strict=True):
            differ = sum(len(a.wrong) for a in answers)
            print(f"{job.rule}-{job.number}: {differ} differ", file=sys.stderr, flush=True)
            ran += sum(a.edges > 0 for a in answers)
            edges += sum(a.edges for a in answers)
            wrong += [(job, a.change, w) for a in answers for w in a.wrong]
    show(wrong, options.most)
    share = 1 - len(wrong) / max(edges, 1)
    print(f"{ran} models, {edges} edges, {len(wrong)} differ: agreement {share:.4f}")


if __name__ == "__main__":
    main()
