# ruff: noqa: T201
"""Explains every model of the corpus on every target; lists what broke and what was slow.

python tests/corpus/sweep.py --corpus FOLDER [--target T] [--match SUBSTRING] [--text]
"""

import argparse
import os
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fusectl import api
from fusectl.errors import FusectlError
from tests.corpus.models import TARGETS, is_broken, models
from tests.corpus.pool import Done, run
from tests.run_cli import run_in_process

FRAMES = 4
SLOWEST = 10


@dataclass(frozen=True, slots=True)
class Job:
    """One model on one target; with `text`, through the command line."""

    path: Path
    target: str
    text: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it. `error` is the type of the exception, `detail` its message or traceback."""

    nodes: int = 0
    fuse: int = 0
    keep: int = 0
    error: str | None = None
    refused: bool = False
    detail: str = ""


def explain(job: Job) -> Answer:
    """Runs in a worker."""
    try:
        return _as_text(job) if job.text else _as_report(job)
    except FusectlError as refusal:
        message = " ".join(str(refusal).split())
        return Answer(error=type(refusal).__name__, refused=True, detail=message)
    except (Exception, SystemExit) as error:  # the sweep lists whatever a model brings up
        return Answer(error=type(error).__name__, detail=_tail(error))


def _as_report(job: Job) -> Answer:
    report = api.explain(job.path, target=job.target)
    verdicts = Counter(decision.verdict for decision in report.decisions)
    return Answer(report.model.nodes, verdicts["fuse"], verdicts["keep"])


def _as_text(job: Job) -> Answer:
    outcome = run_in_process("explain", job.path, "--target", job.target)
    if outcome.code == 0:
        return Answer()
    refused = outcome.code == 2
    return Answer(error=f"exit {outcome.code}", refused=refused, detail=outcome.err[-2000:].strip())


def _tail(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    lines = [f"{Path(f.filename).name}:{f.lineno} {f.name}: {f.line}" for f in frames]
    return "\n".join([*lines, f"{type(error).__name__}: {str(error)[:300]}"])


def main() -> int:
    """Prints the account; 1 when anything but a known broken model failed."""
    options = _options()
    corpus = Path(options.corpus)
    found = [p for p in models(corpus) if options.match in p.as_posix()]
    targets = options.target or list(TARGETS)
    jobs = [Job(path, target, options.text) for path in found for target in targets]
    began = time.monotonic()
    done = []
    for number, one in enumerate(run(explain, jobs, options.jobs, options.limit), 1):
        done.append(one)
        if sys.stderr.isatty():
            print(f"\r{number}/{len(jobs)}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    unexpected = _print_errors(done, corpus)
    _print_slowest(done, corpus)
    _print_totals(done, targets)
    print(f"{len(done)} runs in {time.monotonic() - began:.1f} s, {unexpected} unexpected failures")
    return 1 if unexpected else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="explain every model of the corpus")
    parser.add_argument("--corpus", default=os.environ.get("FUSECTL_CORPUS"))
    parser.add_argument("--target", action="append", help="instead of the usual ones; repeatable")
    parser.add_argument("--match", default="", help="only paths that contain this")
    parser.add_argument("--text", action="store_true", help="through the command line, as text")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a run (default 60)")
    options = parser.parse_args()
    if not options.corpus:
        parser.error("give --corpus, or set FUSECTL_CORPUS")
    if not (Path(options.corpus) / "corpus").is_dir():
        parser.error(f"{options.corpus}: there is no folder `corpus` in it")
    return options


def _print_errors(done: Sequence[Done[Job, Answer]], corpus: Path) -> int:
    """The failures by type, equal ones together; returns how many were not to be expected."""
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    unexpected = 0
    for one in done:
        answer = one.result or Answer(error=one.failure)
        broken = is_broken(one.job.path, corpus)
        if answer.error is None and not broken:
            continue
        known = broken and answer.refused
        unexpected += not known
        kind = answer.error or "no error, but the model is listed as broken"
        if answer.refused:
            kind += " (known to be broken)" if known else " (refused)"
        name = f"{one.job.path.relative_to(corpus)} [{one.job.target}]"
        groups[kind, answer.detail.replace(str(one.job.path), one.job.path.name)].append(name)
    for (kind, detail), names in sorted(groups.items()):
        print(f"== {kind}: {len(names)}")
        print("\n".join(f"   {name}" for name in names[:5]))
        if len(names) > 5:
            print(f"   and {len(names) - 5} more")
        print("\n".join(f"      {line}" for line in detail.splitlines()))
    return unexpected


def _print_slowest(done: Sequence[Done[Job, Answer]], corpus: Path) -> None:
    print(f"\nslowest {SLOWEST}:")
    for one in sorted(done, key=lambda d: -d.seconds)[:SLOWEST]:
        nodes = one.result.nodes if one.result else 0
        name = one.job.path.relative_to(corpus)
        print(f"  {one.seconds:7.2f} s  {nodes:6} nodes  {name} [{one.job.target}]")


def _print_totals(done: Sequence[Done[Job, Answer]], targets: Sequence[str]) -> None:
    print(f"\n{'target':20}{'reports':>9}{'failed':>8}{'fuse':>8}{'keep':>8}{'seconds':>9}")
    for target in targets:
        mine = [one for one in done if one.job.target == target]
        good = [one.result for one in mine if one.result and one.result.error is None]
        fuse, keep = sum(a.fuse for a in good), sum(a.keep for a in good)
        seconds = sum(one.seconds for one in mine)
        print(f"{target:20}{len(good):9}{len(mine) - len(good):8}{fuse:8}{keep:8}{seconds:9.1f}")


if __name__ == "__main__":
    sys.exit(main())
