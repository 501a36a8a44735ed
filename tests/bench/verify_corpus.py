"""Verifies every fusion on a target that runs programs, over all models of the corpus.

    FUSECTL_CORPUS=FOLDER python tests/bench/verify_corpus.py [--target T] [--only PART] [-o FILE]

For every model that the target can lower and that has a fusion: are both programs valid, does every
decision hold, do the programs agree bit by bit from inputs to outputs, and how far is the worst
output off. Each model has a process with a time limit. With ``-o`` FILE a second run goes on where
the first one stopped.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

import fusectl
from fusectl.errors import FusectlError
from fusectl.lower import Unlowerable, lower_run
from fusectl.lower.validate import validate
from fusectl.pipeline import Decided, decided
from fusectl.tables import Catalog
from fusectl.verify.programs import verify_programs
from tests.corpus.models import is_broken, models
from tests.corpus.pool import run

LIMIT = 600.0
LARGEST = 1_500_000


@dataclass
class Figures:
    """What happened to one model."""

    path: str
    state: str = ""
    decisions: int = 0
    held: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    """Sums in each group, of all decisions; ``none``: decisions without a half-step."""
    whole: str = ""
    why: str = ""
    worst: float = 0.0
    violations: int = 0


@cache
def _rules() -> Catalog:
    return fusectl.load_rules()


def verified(job: tuple[str, str]) -> Figures:
    """Lower, validate and run a model: its path and a target."""
    path, target = job
    figures = Figures(path)
    try:
        found = decided(path, target, rules=_rules())
        figures.decisions = sum(r.accepted for r in found.runs[0].rulings)
        _programs(found, figures)
    except FusectlError as error:
        figures.state, figures.why = "refused", str(error)[:300]
    except Unlowerable as error:
        figures.state, figures.why = "not lowered", str(error)[:300]
    except Exception as error:
        figures.state, figures.why = "bug", f"{type(error).__name__}: {error}"[:300]
    return figures


def _programs(found: Decided, figures: Figures) -> None:
    fused = lower_run(found.runs[0], found.target, found.operators, "")
    plain = lower_run(found.plain, found.target, found.operators, "", fused=False)
    figures.violations = sum(len(validate(p)) for p in (fused, plain))
    figures.state = "run" if figures.decisions else "nothing fuses"
    if not figures.decisions:
        return
    result = verify_programs(found)
    for node in result.nodes:
        told = f"{node.name}: {node.why}"[:200]
        figures.held += node.outcome == "pass"
        figures.failed += [told] * (node.outcome == "fail")
        figures.skipped += [told] * (node.outcome == "not run")
        groups = node.simulated.groups if node.simulated is not None else ()
        for group in groups:
            figures.inputs[group.group] = figures.inputs.get(group.group, 0) + group.inputs
        empty = any(g.group == "half-step" and not g.inputs for g in groups)
        figures.inputs["none"] = figures.inputs.get("none", 0) + empty
    whole = result.whole
    figures.whole, figures.why = whole.outcome, whole.why[:300]
    figures.worst = whole.witness.relative if whole.witness is not None else 0.0


def main() -> int:
    """Print the figures, and write those of every model as JSON lines."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="lut-npu")
    parser.add_argument("--only", default="")
    parser.add_argument("--largest", type=int, default=LARGEST, help="bytes of a model file")
    parser.add_argument("-o", "--output", default="")
    options = parser.parse_args()
    corpus = Path(os.environ["FUSECTL_CORPUS"])
    found = _known(Path(options.output)) if options.output else []
    known = {f.path for f in found}
    paths = [
        p
        for p in models(corpus)
        if not is_broken(p, corpus)
        and options.only in str(p)
        and str(p) not in known
        and p.stat().st_size <= options.largest
    ]
    with open(options.output or os.devnull, "a", encoding="utf-8", buffering=1) as lines:
        for done in run(verified, [(str(p), options.target) for p in paths], 1, LIMIT):
            figures = done.result or Figures(done.job[0], "stopped", why=done.failure or "")
            found.append(figures)
            lines.write(json.dumps(asdict(figures)) + "\n")
    _show(found)
    return 0


def _known(path: Path) -> list[Figures]:
    if not path.exists():
        return []
    return [Figures(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def _show(found: list[Figures]) -> None:
    ran = [f for f in found if f.state == "run"]
    inputs: Counter[str] = Counter()
    for figures in ran:
        inputs.update(figures.inputs)
    lines = [
        f"{len(found)} models, {sum(f.state in ('run', 'nothing fuses') for f in found)} lowered, "
        f"{len(ran)} of them with fusions",
        *_counted("  ", (f.state for f in found if f.state not in ("run", "nothing fuses"))),
        f"programs that are not valid: {sum(f.violations > 0 for f in found)}",
        f"decisions {sum(f.decisions for f in ran)}: {sum(f.held for f in ran)} hold, "
        f"{sum(len(f.failed) for f in ran)} do not, {sum(len(f.skipped) for f in ran)} not run",
        f"sums at half-steps {inputs['half-step']}; decisions without any {inputs['none']}",
        "end to end:",
        *_counted("  ", (f.whole for f in ran)),
        f"largest relative error end to end {max((f.worst for f in ran), default=0.0):.2e}",
        *_counted("  not run: ", (f.why for f in ran if f.whole == "not run")),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _counted(start: str, texts: Iterable[str]) -> list[str]:
    return [f"{start}{text}: {count}" for text, count in Counter(texts).most_common()]


if __name__ == "__main__":
    sys.exit(main())
