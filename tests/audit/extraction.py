"""Hold what the audit sees of a compiler against files of edges that were measured before.

    python tests/audit/extraction.py RUNTIME LEVEL TRUTH.jsonl --models FOLDER

Edges that both resolve are counted; those that only one resolves are told beside them.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fusectl import api
from fusectl.audit import truth
from fusectl.audit.run import Job, runtime
from fusectl.audit.work import Answer, Measured, Task
from fusectl.errors import FusectlError

SEEN = ("fused", "kept")


@dataclass(slots=True)
class Extraction:
    """Counts of edges, and those on which the two differ."""

    both: int = 0
    ours: int = 0
    theirs: int = 0
    scored: int = 0
    scored_differ: int = 0
    models: int = 0
    differ: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share of the edges that both resolve on which they agree."""
        return 1 - len(self.differ) / self.both if self.both else 1.0


def ask(name: str, level: str, model: Path, seconds: float = 120) -> Answer:
    """What the audit's process answers about a model. Raises FusectlError."""
    moves = api.load_rules().operators.moving()
    with Job(name, seconds, str(model)) as job:
        job.ask(Task("edges", runtime(name, level).level, str(model), str(job.folder), moves))
        return job.wait()


def see(name: str, level: str, model: Path, seconds: float = 120) -> tuple[Measured, ...]:
    """What the audit sees the runtime do with a model. Raises FusectlError."""
    return ask(name, level, model, seconds).edges


def add(found: Extraction, line: truth.Line, edges: Iterable[Measured]) -> None:
    """Count the edges of one model."""
    mine = {(e.value, e.consumer.output): e for e in edges if e.fate in SEEN and not e.scope}
    found.models += 1
    for edge in line.edges:
        seen = mine.pop((edge.value, edge.consumer.output), None)
        if seen is None:
            found.theirs += 1
            continue
        found.both += 1
        found.scored += not edge.moves
        if seen.fate != edge.fate:
            found.scored_differ += not edge.moves
            ends = f"{edge.producer.op_type} -> {edge.consumer.op_type}"
            found.differ.append(
                f"{line.model}: {edge.value} -> {edge.consumer.output} ({ends}): measured "
                f"{edge.fate} {edge.kernel}, seen {seen.fate} {seen.kernel}"
            )
    found.ours += len(mine)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runtime")
    parser.add_argument("level")
    parser.add_argument("truth", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    found = Extraction()
    for line in truth.read(options.truth):
        if options.match not in line.model:
            continue
        try:
            add(found, line, see(options.runtime, options.level, options.models / line.model))
        except FusectlError as error:
            found.failed.append(f"{line.model}: {error}")
    print(*found.failed, *found.differ, sep="\n")
    print(Counter(d.partition(":")[0] for d in found.differ).most_common(12))
    scored = 1 - found.scored_differ / max(found.scored, 1)
    print(
        f"{found.models} models, {len(found.failed)} failed; both resolve {found.both} edges, "
        f"{len(found.differ)} differ: {found.share:.4f}; scored {found.scored}: {scored:.4f}; "
        f"only measured {found.theirs}, only seen {found.ours}"
    )


if __name__ == "__main__":
    main()
