"""Applies the fusions of a target to every model of the corpus and runs both.

    FUSECTL_CORPUS=FOLDER python tests/bench/apply_corpus.py [--target T] [--only PART] [-o FILE]

For every model that the runtime can run with its optimisations off: does the fused one load and
run with optimisations off, how far apart are the outputs, does a second run give the same bytes,
is each fusion that `explain` promises one node of what is written, and what does `verify` say of
each node and of the whole. Each model has a process with a time limit. With ``-o`` FILE a second
run goes on where the first one stopped.
"""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

import onnx

import fusectl
from fusectl.errors import FusectlError
from fusectl.runtime import CannotRun, Session, open_session
from fusectl.tables import Catalog
from fusectl.verify.compare import distance
from fusectl.verify.inputs import KINDS, Unfed, trials
from tests.corpus.models import is_broken, models
from tests.corpus.pool import run

LIMIT = 90.0


@dataclass
class Figures:
    """What happened to one model."""

    path: str
    state: str = ""
    rounds: int = 0
    nodes: int = 0
    after: int = 0
    promised: int = 0
    kept_promise: int = 0
    native: int = 0
    functions: int = 0
    left: int = 0
    whys: dict[str, int] = field(default_factory=dict)
    ops: dict[str, int] = field(default_factory=dict)
    relative: float = 0.0
    codes: int = 0
    quantized: bool = False
    half: bool = False
    twice: bool = False
    trouble: str = ""
    checked: dict[str, int] = field(default_factory=dict)
    """Fused nodes by what `verify` says of them."""
    whole: str = ""
    failed: list[str] = field(default_factory=list)


@cache
def _rules() -> Catalog:
    return fusectl.load_rules()


def applied(job: tuple[str, str]) -> Figures:
    """Apply, apply again, run both: a model's path and a target."""
    path, target = job
    figures = Figures(path)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _one(Path(path), target, Path(folder), figures)
    except FusectlError as error:
        figures.state, figures.trouble = "refused", str(error)[:300]
    except Exception as error:
        figures.state, figures.trouble = "bug", f"{type(error).__name__}: {error}"[:300]
    return figures


def _one(path: Path, target: str, folder: Path, figures: Figures) -> None:
    out, again = folder / "a" / path.name, folder / "b" / path.name
    out.parent.mkdir()
    again.parent.mkdir()
    rules = _rules()
    result = fusectl.apply_fusions(path, target, output=out, rules=rules)
    fusectl.apply_fusions(out, target, output=again, rules=rules)
    figures.twice = out.read_bytes() == again.read_bytes()
    _count(path, target, result, onnx.load(out, load_external_data=False), figures)
    _outputs(path, out, figures)
    if figures.state in ("ran", "broken"):
        _verify(path, target, figures)


def _verify(path: Path, target: str, figures: Figures) -> None:
    found = fusectl.verify_fusions(path, target, rules=_rules())
    figures.checked = dict(Counter(c.outcome for c in found.nodes))
    figures.whole = f"{found.whole.outcome} {found.whole.why}".strip()
    figures.failed = [f"{c.name}: {c.why}"[:200] for c in found.failures]


def _count(
    path: Path, target: str, plan: "fusectl.Plan", written: onnx.ModelProto, figures: Figures
) -> None:
    figures.nodes, figures.after, figures.rounds = plan.nodes_before, plan.nodes_after, plan.rounds
    for edit in plan.edits:
        figures.native += edit.native
        figures.functions += not edit.native
        figures.ops[edit.op_type if edit.native else "function"] = (
            figures.ops.get(edit.op_type if edit.native else "function", 0) + 1
        )
        if edit.why:
            key = f"{edit.rules[-1]}: {edit.why}"
            figures.whys[key] = figures.whys.get(key, 0) + 1
    figures.left = len(plan.left)
    report = fusectl.explain(path, target, rules=_rules())
    built = {b for d in report.decisions if d.verdict == "fuse" for b in d.builds_on}
    final = [d for d in report.decisions if d.verdict == "fuse" and d.id not in built]
    first = {e.decisions[-1]: e for e in plan.edits if e.round == 1}
    made = _made(written)
    for d in final:
        figures.promised += 1
        # A later round may have fused the node once more.
        written_as = first.get(d.id)
        outputs = set(written_as.outputs) if written_as is not None else set()
        there = bool(outputs) and any(outputs <= set(m) for m in made)
        figures.kept_promise += there or (written_as is not None and plan.rounds > 1)
    assert len(first) <= len(final)
    figures.half = _is_half(onnx.load(path, load_external_data=False))
    figures.quantized = any("qdq" in d.rule or "dequant" in d.rule for d in report.decisions)


def _is_half(model: onnx.ModelProto) -> bool:
    """Tell whether a model has values of 16 bits: their rounding alone is above the limit."""
    half = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
    graph = model.graph
    infos = (*graph.input, *graph.output, *graph.value_info)
    casts = (a.i for n in graph.node if n.op_type == "Cast" for a in n.attribute)
    types = (*(i.type.tensor_type.elem_type for i in infos), *casts)
    return any(t in half for t in (*types, *(i.data_type for i in graph.initializer)))


def _made(model: onnx.ModelProto) -> set[tuple[str, ...]]:
    """What the nodes of a model make, fused functions' own excepted."""
    made = set()
    pending = [model.graph.node, *(f.node for f in model.functions if f.domain != "fusectl")]
    while pending:
        for node in pending.pop():
            made.add(tuple(sorted(node.output)))
            pending += [a.g.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return made


def _outputs(path: Path, out: Path, figures: Figures) -> None:
    try:
        compared = _feeds(open_session(path))
        if _random(path, compared):
            figures.state = "random"
            return
    except (CannotRun, Unfed) as error:
        figures.state, figures.trouble = "not runnable", str(error)[:200]
        return
    if not compared:
        figures.state = "not runnable"
        return
    try:
        fused = open_session(out)
        for fed, expected in compared:
            actual = fused.run(fed)
            for name, value in expected.items():
                gap = distance(value, actual[name])
                if gap.why:
                    raise CannotRun(f"{name}: {gap.why}")
                if gap.whole:
                    figures.codes = max(figures.codes, int(gap.absolute))
                else:
                    figures.relative = max(figures.relative, gap.relative)
    except (CannotRun, KeyError) as error:
        figures.state, figures.trouble = "broken", str(error)[:300]
        return
    figures.state = "ran"


def _random(path: Path, compared: list[tuple[dict, dict]]) -> bool:  # type: ignore[type-arg]
    """Tell whether a model gives other results each time, as one with Dropout in training."""
    again = open_session(path)
    for fed, expected in compared:
        actual = again.run(fed)
        if any(not distance(v, actual[n]).within(0, 0, 0) for n, v in expected.items()):
            return True
    return False


def _feeds(session: Session) -> list[tuple[dict, dict]]:  # type: ignore[type-arg]
    found = []
    for kind in KINDS:
        for fed in trials(session.inputs, kind):
            try:
                found.append((fed, session.run(fed)))
                break
            except CannotRun as error:
                trouble = error
        else:
            if not found:
                raise trouble
    return found


def main() -> int:
    """Print the figures, and write those of every model as JSON lines."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="onnxruntime-cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("-o", "--output", default="")
    options = parser.parse_args()
    corpus = Path(os.environ["FUSECTL_CORPUS"])
    paths = [p for p in models(corpus) if not is_broken(p, corpus) and options.only in str(p)]
    found = _known(Path(options.output)) if options.output else []
    known = {f.path for f in found}
    jobs = [(str(p), options.target) for p in paths if str(p) not in known]
    with open(options.output or os.devnull, "a", encoding="utf-8", buffering=1) as lines:
        for done in run(applied, jobs, options.processes, LIMIT):
            figures = done.result or Figures(done.job[0], "stopped", trouble=done.failure or "")
            found.append(figures)
            lines.write(json.dumps(asdict(figures)) + "\n")
    found.sort(key=lambda f: f.path)
    _show(found)
    return 0


def _nodes(found: list[Figures]) -> Counter[str]:
    total: Counter[str] = Counter()
    for figures in found:
        total.update(figures.checked)
    return total


def _known(path: Path) -> list[Figures]:
    if not path.exists():
        return []
    return [Figures(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def _show(found: list[Figures]) -> None:
    ran = [f for f in found if f.state == "ran"]
    lines = [f"{len(found)} models, {len(ran)} run"]
    for state in sorted({f.state for f in found} - {"ran"}):
        lines.append(f"  {state}: {sum(f.state == state for f in found)}")
    plain = [f for f in ran if not f.quantized and not f.half]
    lines += [
        f"fusions promised {sum(f.promised for f in found)}, written as one node "
        f"{sum(f.kept_promise for f in found)}",
        f"native {sum(f.native for f in found)}, functions {sum(f.functions for f in found)}, "
        f"left {sum(f.left for f in found)}",
        f"largest relative error {max((f.relative for f in plain), default=0):.2e}; above 1e-4: "
        f"{sum(f.relative > 1e-4 for f in plain)} of {len(plain)}",
        f"in float16: largest relative error "
        f"{max((f.relative for f in ran if f.half), default=0):.2e}",
        f"quantised: largest relative error "
        f"{max((f.relative for f in ran if f.quantized), default=0):.2e}, codes "
        f"{max((f.codes for f in ran), default=0)}",
        "nodes by verify: " + ", ".join(f"{n} {o}" for o, n in sorted(_nodes(found).items())),
        "whole models by verify: "
        + ", ".join(f"{n} {o}" for o, n in Counter(f.whole for f in ran).most_common()),
        f"twice identical {sum(f.twice for f in found)}, differing "
        f"{sum(not f.twice and f.state in ('ran', 'broken', 'not runnable') for f in found)}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
