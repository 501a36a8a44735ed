"""Hold the decisions of a target against what a real compiler did, edge by edge.

    python tests/bench/agreement.py TRUTH.jsonl --models FOLDER --target onnxruntime-cpu

A line of TRUTH is one model: ``{"model", "edges": [[value, consumer, index, "F"|"K", producer op,
consumer op, fused op, mode, eliminated, moves data], ...]}``. Edges that only move data are left
out. An edge is predicted *fused* where an accepted decision swallows its value and holds its
consumer. Micro figures count edges; macro figures average over operator pairs. With ``--halves``,
families of models (the first folder, and the file's name up to ``__``) are split in two by a hash:
what is learnt from one half, the majority verdicts, is measured on the other, beside the target.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePath

import onnx

from fusectl import api

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fusectl.audit import lay, truth
from fusectl.audit.work import End, Measured
from fusectl.errors import FusectlError
from fusectl.report.types import Decision
from fusectl.tables import Target
from tests.bench.disputed import LEVELS, disputed

Pair = tuple[str, str]
Task = tuple[str, Path, tuple[Measured, ...], str]


@dataclass(frozen=True, slots=True)
class Compared:
    """One edge: its operators, what the compiler did and what was predicted."""

    model: str
    value: str
    consumer: str
    pair: Pair
    fused: bool
    predicted: bool
    illegal: bool
    why: str


@dataclass(slots=True)
class Score:
    """Counts of one kind of edge, fused being the positive class."""

    hit: int = 0
    missed: int = 0
    extra: int = 0
    right: int = 0
    models: Counter[str] = field(default_factory=Counter)

    def add(self, edge: Compared) -> None:
        """Count one edge."""
        if edge.fused and edge.predicted:
            self.hit += 1
        elif edge.fused:
            self.missed += 1
        elif edge.predicted:
            self.extra += 1
        else:
            self.right += 1

    @property
    def precision(self) -> float:
        """Of the edges predicted fused, the share that is; 1 where none is predicted."""
        return self.hit / (self.hit + self.extra) if self.hit + self.extra else 1.0

    @property
    def recall(self) -> float:
        """Of the fused edges, the share that is predicted; 1 where none is fused."""
        return self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0

    @property
    def wrong(self) -> int:
        """Edges on which prediction and compiler differ."""
        return self.missed + self.extra


PROVEN = {
    ("layernorm", "attribute"),
    ("layernorm", "constant-value"),
    ("layernorm", "shape"),
    ("rmsnorm", "attribute"),
    ("rmsnorm", "shape"),
    ("add-layernorm", "attribute"),
    ("div-mul", "inexact"),
}
"""Rule and reason of the refusals that are right although a compiler fuses there.

For each, ``illegal.py`` runs a model in which fused and unfused results differ by more than
rounding. An edge is left out only where every blocker of its decision is a failure of such a kind.
"""
MOVES = {
    "Cast", "CastLike", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements",
    "GatherND", "Identity", "Pad", "Range", "Reshape", "Resize", "Shape", "Slice", "SpaceToDepth",
    "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze",
}  # fmt: skip
"""Operators that only move data. *Kept* says that a kernel reads the value or a copy of it, so for
these it does not tell whether the move was done by another kernel."""


def compare(task: Task) -> list[Compared]:
    """Explain one model and lay its measured edges beside the decisions."""
    name, path, edges, target = task
    try:
        report = api.explain(path, _target(target))
    except FusectlError as error:
        print(f"{name}: {error}")
        return []
    return [
        Compared(
            name,
            found.edge.value,
            found.edge.consumer.output,
            (found.edge.producer.op_type, found.edge.consumer.op_type),
            found.fused,
            found.predicted,
            found.illegal and _kinds(found.decision) <= PROVEN,
            _why(found.decision),
        )
        for found in lay.lay(report, edges, _target(target))
        if found.scored
    ]


@cache
def _target(name: str) -> Target:
    return api.load_target(name)


def _kinds(decision: Decision | None) -> set[tuple[str, str]]:
    return {(decision.rule, f.reason) for f in decision.blockers} if decision else set()


def _why(decision: Decision | None) -> str:
    if decision is None:
        return "no decision"
    if decision.verdict == "fuse":
        return decision.rule
    return f"{decision.rule}: " + "; ".join(f"{f.reason} {f.observed}" for f in decision.blockers)


def tasks(path: Path, models: Path, target: str, match: str) -> Iterator[Task]:
    """Read the truth file; models that are not there are skipped, saying so."""
    for line in truth.read(path):
        model = models / line.model
        if match in line.model:
            if model.is_file():
                yield line.model, model, line.edges, target
            else:
                print(f"{line.model}: not there")


def probes(table: Path, folder: Path, target: str, compiler: str, match: str) -> Iterator[Task]:
    """Read the table of one-fact models; ``compiler`` is ``ort:LEVEL`` or ``openvino``.

    The table names an edge by its value and operators; the consumer is looked up in the model.
    """
    for entry in json.loads(table.read_text(encoding="utf-8"))["probes"]:
        name = str(entry["probe"])
        path = folder / f"{name}.onnx"
        if match not in name or not path.is_file():
            continue
        nodes = list(onnx.load(path, load_external_data=False).graph.node)
        edges: list[Measured] = []
        for edge in entry.get("edges", ()):
            verdict = _verdict(edge, compiler)
            ends = [n for n in nodes if n.op_type == edge["consumer"] and _near(n, edge, nodes)]
            if verdict in ("fused", "kept") and ends:
                producer = End("", edge["producer"], edge["u"])
                moves = verdict == "kept" and not MOVES.isdisjoint(
                    (edge["producer"], edge["consumer"])
                )
                edges += [
                    Measured(
                        edge["u"], producer, End("", n.op_type, n.output[0]), verdict, moves=moves
                    )
                    for n in ends
                ]
        yield name, path, tuple(edges), target


def _verdict(edge: dict[str, object], compiler: str) -> object:
    kind, _, level = compiler.partition(":")
    found = edge.get(kind)
    return found.get(level or "verdict") if isinstance(found, dict) else found


def _near(node: onnx.NodeProto, edge: dict[str, object], nodes: list[onnx.NodeProto]) -> bool:
    """Tell whether a node reads the edge's value, at most two removed nodes away."""
    reach = {str(edge["u"])}
    via = edge.get("via")
    for _ in range(2 if via else 0):
        reach |= {o for n in nodes if reach & set(n.input) and n is not node for o in n.output}
    return bool(reach & set(node.input))


def scores(edges: Iterable[Compared]) -> tuple[Score, dict[Pair, Score]]:
    """Count all edges together and by operator pair."""
    total, pairs = Score(), defaultdict[Pair, Score](Score)
    for edge in edges:
        total.add(edge)
        pairs[edge.pair].add(edge)
    return total, pairs


def macro(pairs: dict[Pair, Score]) -> tuple[float, float]:
    """Average over operator pairs: precision where something is predicted, recall where fused."""
    precise = [s.precision for s in pairs.values() if s.hit + s.extra]
    recalled = [s.recall for s in pairs.values() if s.hit + s.missed]
    return _mean(precise), _mean(recalled)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 1.0


def baselines(
    edges: list[Compared], learnt: list[Compared] | None = None
) -> dict[str, list[Compared]]:
    """What two thoughtless predictors would say: always kept, and the pair's majority verdict.

    Verdicts are learnt from the same edges or from others; a pair that was never seen is kept.
    """
    votes: dict[Pair, Counter[bool]] = defaultdict(Counter)
    for edge in edges if learnt is None else learnt:
        votes[edge.pair][edge.fused] += 1

    def say(edge: Compared, predicted: bool) -> Compared:
        return Compared(
            edge.model, edge.value, edge.consumer, edge.pair, edge.fused, predicted, False, ""
        )

    return {
        "always kept": [say(e, False) for e in edges],
        "majority of the pair": [say(e, votes[e.pair][True] > votes[e.pair][False]) for e in edges],
    }


def row(title: str, edges: list[Compared]) -> str:
    """Return one line of figures."""
    total, pairs = scores(edges)
    precise, recalled = macro(pairs)
    return (
        f"{title:24} {len(edges):6} edges  micro P {total.precision:.4f} R {total.recall:.4f}  "
        f"macro P {precise:.4f} R {recalled:.4f}  wrong {total.wrong}"
    )


def summary(target: str, edges: list[Compared], judged: list[Compared]) -> None:
    """Print the figures of a target, of halves of the models and of thoughtless predictors."""
    print(row(target, judged))
    print(row("  illegal ones are missed", edges))
    for half in (0, 1):
        part = [e for e in judged if _family(e.model) % 2 == half]
        print(row(f"  families, half {half + 1}", part))
    for title, guessed in baselines(judged).items():
        print(row(f"  {title}", guessed))
    print(f"fused although illegal, left out: {sum(e.illegal for e in edges)}")
    for edge in edges:
        if edge.illegal:
            print(f"  {edge.model} {edge.value}->{edge.consumer} {edge.pair}: {edge.why[:150]}")


def main() -> None:
    """Run the comparison and print figures, baselines and the worst disagreements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--target", default=api.load_rules().defaults.target)
    parser.add_argument("--match", default="")
    parser.add_argument(
        "--probes", default="", help="TRUTH is a probe table: ort:LEVEL or openvino"
    )
    parser.add_argument("--halves", action="store_true", help="learn on half the families only")
    parser.add_argument(
        "--disputed",
        default="",
        choices=("", *LEVELS),
        help="run ONNX Runtime at this level and leave out missed edges whose nodes both remain",
    )
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--each", type=int, default=4, help="edges shown per pair")
    parser.add_argument("--pair", default="", help="show only PRODUCER>CONSUMER")
    options = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        if options.probes:
            work = probes(
                options.truth, options.models, options.target, options.probes, options.match
            )
        else:
            work = tasks(options.truth, options.models, options.target, options.match)
        edges = [e for found in pool.map(compare, work, chunksize=8) for e in found]
    judged = [e for e in edges if not e.illegal]
    summary(options.target, edges, judged)
    if options.halves:
        _print_halves(judged, options.target)
    if options.disputed:
        left = _disputed(judged, options.models, options.disputed)
        print(row("  without disputed ones", [e for e in judged if e not in left]))
        for edge in sorted(left, key=lambda e: (e.model, e.value)):
            print(f"  disputed {edge.model} {edge.value}->{edge.consumer} {edge.pair}")
    _, pairs = scores(judged)
    worst = sorted(pairs.items(), key=lambda p: -p[1].wrong)[: options.worst]
    for pair, score in worst:
        name = ">".join(pair)
        if not score.wrong or (options.pair and name != options.pair):
            continue
        print(f"\n{name}: missed {score.missed}, extra {score.extra}, hit {score.hit}")
        wrong = [e for e in judged if e.pair == pair and e.fused != e.predicted]
        for edge in wrong[: options.each]:
            said = "extra" if edge.predicted else "missed"
            print(f"  {said} {edge.model} {edge.value}->{edge.consumer}: {edge.why[:260]}")


def _disputed(edges: list[Compared], models: Path, level: str) -> set[Compared]:
    """Missed edges whose two nodes remain in the graph that ONNX Runtime writes."""
    missed = defaultdict[str, list[Compared]](list)
    for edge in edges:
        if edge.fused and not edge.predicted:
            missed[edge.model].append(edge)
    found: set[Compared] = set()
    for model, wrong in missed.items():
        remain = disputed(models / model, level, [(e.value, e.consumer) for e in wrong])
        found |= {e for e in wrong if (e.value, e.consumer) in remain}
    return found


def family(model: str) -> str:
    """A model's first folder, and its name up to the exporter's or quantiser's suffix."""
    path = PurePath(model)
    folder = path.parts[0] if len(path.parts) > 1 else ""
    return f"{folder}/{path.stem.partition('__')[0]}"


def half_of(model: str) -> int:
    """0 or 1: the half of the families that ``--halves`` counts a model in."""
    return zlib.crc32(family(model).encode()) % 2


def _print_halves(edges: list[Compared], target: str) -> None:
    """Print what is measured on each half of the families, and what the other half teaches."""
    halves: tuple[list[Compared], list[Compared]] = ([], [])
    families: tuple[set[str], set[str]] = (set(), set())
    for edge in edges:
        half = half_of(edge.model)
        halves[half].append(edge)
        families[half].add(family(edge.model))
    for measured, fitted in ((0, 1), (1, 0)):
        print(f"measured on half {measured + 1}: {len(families[measured])} families")
        print(row(f"  {target}", halves[measured]))
        for title, guessed in baselines(halves[measured], halves[fitted]).items():
            print(row(f"  {title}", guessed))


def _family(model: str) -> int:
    """A number of a model's family: its name up to the exporter's or quantiser's suffix."""
    return sum(map(ord, model.split("__", 1)[0]))


if __name__ == "__main__":
    main()
