"""Measure what a runtime fuses in a folder of models, and write it as `agreement.py` reads it.

    python tests/bench/measure.py RUNTIME LEVEL --models FOLDER -o EDGES.jsonl

RUNTIME and LEVEL are those of `fusectl audit` (LEVEL "" where a runtime has none). One line a
model: ``{"model", "compiler", "level", "edges": [[value, consumer, index, "F"|"K", producer op,
consumer op, fused op, mode, eliminated, moves data], ...]}``; mode is empty, and edges in bodies,
folded, eliminated and unresolved ones are left out. A model that the runtime does not take, or not
in time, has no edges and says why in ``"skipped"``. Lines that are there already are kept: run it
again to go on; `--again` measures the skipped ones once more. `--half dev` or `--half test` takes
half of the families, split as `agreement.py --halves` splits them; `--list` prints the names only.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fusectl.audit.run import runtime
from fusectl.audit.work import Answer, Measured
from fusectl.errors import FusectlError
from tests.audit.extraction import SEEN, ask
from tests.bench.agreement import half_of

HALVES = ("dev", "test")
Row = list[str | int]


def rows(model: Path, edges: Iterable[Measured]) -> Iterator[Row]:
    """Edges of the main graph that are seen to be fused or kept, as the file has them."""
    nodes = onnx.load(model, load_external_data=False).graph.node
    index = {output: number for number, node in enumerate(nodes) for output in node.output}
    for edge in edges:
        if edge.fate in SEEN and not edge.scope:
            ends = (_plain(edge.producer.op_type), _plain(edge.consumer.op_type))
            verdict = "F" if edge.fate == "fused" else "K"
            left = "|".join(edge.between)
            reader = edge.consumer.output
            yield [
                *(edge.value, reader, index[reader], verdict, *ends),
                *(_plain(edge.kernel), "", left, int(edge.moves)),
            ]


def _plain(operator: str) -> str:
    """An operator without its domain."""
    return operator.rpartition(".")[2]


def line(name: str, title: str, level: str, model: Path, answer: Answer | str) -> str:
    """One line of the file; an answer that is a text is why there is none."""
    entry: dict[str, object] = {"model": name, "compiler": title, "level": level, "edges": []}
    if isinstance(answer, str):
        entry["skipped"] = answer
    else:
        entry["compiler"] = f"{title}-{answer.version}"
        entry["edges"] = list(rows(model, answer.edges))
        if answer.notes:
            entry["notes"] = answer.notes
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False)


def names(folder: Path, half: str, match: str) -> list[str]:
    """The models of a folder, by path, or those of half of its families."""
    found = (p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*.onnx")))
    return [n for n in found if match in n and half in ("", HALVES[half_of(n)])]


def _known(path: Path, again: bool) -> dict[str, str]:
    """The lines that are there, by model. One that was cut off in the middle counts as missing."""
    known: dict[str, str] = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            entry = json.loads(text)
        except json.JSONDecodeError:
            continue
        if not (again and "skipped" in entry):
            known[entry["model"]] = text
    return known


def main() -> None:
    """Measure what is missing and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runtime")
    parser.add_argument("level")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=Path("edges.jsonl"))
    parser.add_argument("--half", default="", choices=("", *HALVES))
    parser.add_argument("--match", default="")
    parser.add_argument("--at-most", type=int, metavar="N", help="measure so many and stop")
    parser.add_argument("--seconds", type=float, default=120, help="for each model")
    parser.add_argument("--again", action="store_true", help="measure skipped models once more")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    wanted = names(options.models, options.half, options.match)
    if options.list:
        print(*wanted, sep="\n")
        return
    try:
        level = runtime(options.runtime, options.level).level
    except FusectlError as error:
        sys.exit(str(error))
    known = _known(options.output, options.again)
    with options.output.open("w", encoding="utf-8") as out:
        out.writelines(f"{text}\n" for text in known.values())
        for name in [n for n in wanted if n not in known][: options.at_most]:
            model, start = options.models / name, time.monotonic()
            answer: Answer | str
            try:
                answer = ask(options.runtime, level, model, options.seconds)
            except FusectlError as error:
                answer = str(error).removeprefix(f"{model}: ")
            text = line(name, options.runtime, level, model, answer)
            print(text, file=out, flush=True)
            said = answer if isinstance(answer, str) else f"{len(answer.edges)} edges"
            print(f"{name}: {said}, {time.monotonic() - start:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
