"""Hold a target against its compiler on every pair of operators.

    python tests/bench/pairs.py --target openvino-cpu [--producers Conv,Mul] [--consumers Relu]

Each model has one edge between two operators, with a pooling in front and one behind where the
types allow it, so that neither is next to the caller. Edges on which target and the runtime that it
names under ``audit`` differ are printed, by pair. An edge counts as in ``agreement.py``.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
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
from tests.mutations.mutants import valid

_SHAPES = {"picture": "2,4,6,6", "open picture": "N,4,6,6", "rows": "2,4,6", "open rows": "N,4,6"}
_UNARY = (
    "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Selu", "HardSwish", "HardSigmoid",
    "Softplus", "Softsign", "Gelu", "Mish", "Abs", "Neg", "Exp", "Erf", "Sqrt", "Floor",
    "Round", "Reciprocal", "Log", "Sign", "Sin", "Celu", "ThresholdedRelu", "Softmax",
    "LogSoftmax",
)  # fmt: skip
_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu", "Equal", "Greater")
_REDUCTIONS = tuple(f"Reduce{kind}" for kind in ("Mean", "Sum", "Max", "Min", "Prod", "L1", "L2"))
_PICTURES = {
    "Conv": "Conv<pads = [1,1,1,1]>(X, kernel)",
    "Conv depthwise": "Conv<group = 4>(X, depth)",
    "ConvTranspose": "ConvTranspose(X, kernel)",
    "MaxPool": "MaxPool<kernel_shape = [2,2]>(X)",
    "AveragePool": "AveragePool<kernel_shape = [2,2]>(X)",
    "GlobalAveragePool": "GlobalAveragePool(X)",
    "BatchNormalization": "BatchNormalization(X, ones, ones, ones, ones)",
    "LRN": "LRN<size = 3>(X)",
    "Resize": "Resize(X, , sizes)",
}


class Form(msgspec.Struct, frozen=True):
    """An operator's call, in which X is what the edge brings, and the types of both ends."""

    call: str
    reads: str = "float"
    makes: str = "float"


def forms(rank: int) -> dict[str, Form]:
    """Return all forms by name. Operands ``same``, ``square`` and the like are added to models."""
    made = {op: Form(f"{op}(X)") for op in _UNARY}
    made |= _PICTURES_OF if rank == 4 else {}
    for op in _BINARY:
        kind = "bool" if op in ("Equal", "Greater") else "float"
        for name, operands in (
            (op, "X, same"),
            (f"{op} second", "same, X"),
            (f"{op} scalar", "X, scalar"),
            (f"{op} of scalar", "scalar, X"),
            (f"{op} vector", "X, vector"),
        ):
            made[name] = Form(f"{op}({operands})", makes=kind)
    for op in _REDUCTIONS:
        made[op] = Form(f"{op}(X, last)")
        made[f"{op} dropped"] = Form(f"{op}<keepdims = 0>(X, last)")
    for kind in ("uint8", "int8"):
        for zero in ("zero", "seven"):
            end = f"(X, scale, {zero}{kind})"
            made[f"QuantizeLinear {kind} {zero}"] = Form(f"QuantizeLinear{end}", makes=kind)
            made[f"DequantizeLinear {kind} {zero}"] = Form(f"DequantizeLinear{end}", reads=kind)
    return made | {
        "Clip": Form("Clip(X, low, high)"),
        "Where": Form("Where(flags, X, same)"),
        "Where second": Form("Where(flags, scalar, X)"),
        "Where flags": Form("Where(X, same, scalar)", reads="bool"),
        "Not": Form("Not(X)", reads="bool", makes="bool"),
        "And": Form("And(X, flags)", reads="bool", makes="bool"),
        "Cast": Form("Cast<to = 1>(X)", reads="bool"),
        "LayerNormalization": Form("LayerNormalization(X, columns, columns)"),
        "InstanceNormalization": Form("InstanceNormalization(X, ones, ones)"),
        "MatMul": Form("MatMul(X, square)"),
        "MatMul of two": Form("MatMul(X, turned)"),
        "MatMul second": Form("MatMul(turned, X)"),
    }


_PICTURES_OF = {name: Form(call) for name, call in _PICTURES.items()}


def _numbers(count: int) -> str:
    return ", ".join(f"{0.1 + (0.3 + 0.37 * n) % 1.3:.3f}" for n in range(count))


def constants(rank: int) -> Mapping[str, str]:
    """Return the constants that the forms name, in ONNX text."""
    vector = "4,1,1" if rank == 4 else "4,1"
    return {
        "low": "float low = {0.1}",
        "high": "float high = {0.9}",
        "scalar": "float scalar = {0.7}",
        "scale": "float scale = {0.02}",
        "last": "int64[1] last = {-1}",
        "sizes": "float[4] sizes = {1, 1, 2, 2}",
        "vector": f"float[{vector}] vector = {{{_numbers(4)}}}",
        "ones": f"float[4] ones = {{{_numbers(4)}}}",
        "columns": f"float[6] columns = {{{_numbers(6)}}}",
        "square": f"float[6,6] square = {{{_numbers(36)}}}",
        "kernel": f"float[4,4,3,3] kernel = {{{_numbers(144)}}}",
        "depth": f"float[4,1,3,3] depth = {{{_numbers(36)}}}",
        "zerouint8": "uint8 zerouint8 = {0}",
        "sevenuint8": "uint8 sevenuint8 = {7}",
        "zeroint8": "int8 zeroint8 = {0}",
        "sevenint8": "int8 sevenint8 = {7}",
    }


def model(shape: str, first: Form, second: Form) -> onnx.ModelProto | None:
    """Return the model of one edge, or None where the two do not fit together."""
    dims = _SHAPES[shape]
    rank = dims.count(",") + 1
    body = f"u = {first.call.replace('X', 'x')} v = {second.call.replace('X', 'u')}"
    turned = ",".join([*dims.split(",")[:-2], *dims.split(",")[:-3:-1]])
    named = {"same": f"float[{dims}]", "flags": f"bool[{dims}]", "turned": f"float[{turned}]"}
    inputs = [f"{first.reads}[{dims}] i", *(f"{t} {n}" for n, t in named.items() if n in body)]
    held = [text for name, text in constants(rank).items() if name in body]
    window = f"kernel_shape = [{','.join(['2'] * (rank - 2))}]"
    pads = f"pads = [{','.join(['1'] * (rank - 2) + ['0'] * (rank - 2))}]"
    front = f"MaxPool<{window}, {pads}>(i)" if first.reads == "float" else "Identity(i)"
    back = f"MaxPool<{window}, {pads}>(v)" if second.makes == "float" else "Identity(v)"
    text = (
        f'<ir_version: 9, opset_import: ["" : 20]> g ({", ".join(inputs)}) => (float y) '
        f"<{', '.join(held)}> {{ x = {front} {body} y = {back} }}"
    )
    try:
        return valid(parser.parse_model(text.replace("<>", "")))
    except (onnx.parser.ParseError, ValueError):
        return None


class Job(msgspec.Struct, frozen=True):
    """All models of one producer and one shape."""

    target: str
    shape: str
    producer: str
    consumers: tuple[str, ...]
    folder: str


class Wrong(msgspec.Struct, frozen=True):
    """An edge on which target and runtime differ."""

    shape: str
    pair: str
    forms: str
    predicted: bool
    why: str


class Answer(msgspec.Struct, frozen=True):
    """What came of one consumer: how many edges were compared, and those that differ."""

    consumer: str
    edges: int = 0
    wrong: tuple[Wrong, ...] = ()


def measure(job: Job) -> Iterator[Answer]:
    """Yield an answer for each consumer whose model the runtime takes."""
    catalog = api.load_rules()
    moves, audit = catalog.operators.moving(), catalog.target(job.target).audit
    assert audit is not None
    known = forms(_SHAPES[job.shape].count(",") + 1)
    path = Path(job.folder) / f"{job.shape} {job.producer}.onnx"
    for consumer in job.consumers:
        made = None
        if known[job.producer].makes == known[consumer].reads:
            made = model(job.shape, known[job.producer], known[consumer])
        if made is None:
            yield Answer(consumer)
            continue
        onnx.save(made, path)
        try:
            task = Task("edges", audit.level, str(path), job.folder, moves)
            seen, _ = adapter(audit.runtime).edges(task)
        except (Refused, NoFeeds, TypeError, ValueError):
            yield Answer(consumer)
            continue
        found = [e for e in compare((path.stem, path, tuple(seen), job.target)) if e.value == "u"]
        told = f"{job.producer} > {consumer}"
        wrong = [
            Wrong(job.shape, ">".join(e.pair), told, e.predicted, e.why)
            for e in found
            if e.fused != e.predicted and not e.illegal
        ]
        yield Answer(consumer, len(found), tuple(wrong))


def ask(job: Job) -> list[Answer]:
    """Measure in a process of its own; a model that ends the runtime is left out."""
    answers: list[Answer] = []
    while len(answers) < len(job.consumers):
        rest = msgspec.structs.replace(job, consumers=job.consumers[len(answers) :])
        child = subprocess.run(
            [sys.executable, __file__, "--job", msgspec.json.encode(rest)],
            stdout=subprocess.PIPE,
            check=False,
        )
        answers += [msgspec.json.decode(line, type=Answer) for line in child.stdout.splitlines()]
        if child.returncode != 0:
            answers.append(Answer(rest.consumers[0]))
    return answers


def jobs(target: str, shapes: str, producers: str, consumers: str, folder: str) -> Iterator[Job]:
    """Yield a job for each shape and producer; operators are named with all their forms, or one."""
    chosen = shapes.split(",") if shapes else list(_SHAPES)
    if not set(chosen) <= set(_SHAPES):
        raise SystemExit(f"the shapes are {', '.join(_SHAPES)}")
    for shape in chosen:
        known = forms(_SHAPES[shape].count(",") + 1)

        def named(names: str, known: dict[str, Form] = known) -> tuple[str, ...]:
            listed = names.split(",")
            return tuple(n for n in known if not names or n in listed or n.split()[0] in listed)

        for producer in named(producers):
            yield Job(target, shape, producer, named(consumers), folder)


def main() -> None:
    """Run every pair and print what differs."""
    plain = argparse.RawDescriptionHelpFormatter
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    cli.add_argument("--target", default="openvino-cpu")
    cli.add_argument("--shapes", default="", help=f"of {', '.join(_SHAPES)}; without it all")
    cli.add_argument("--producers", default="")
    cli.add_argument("--consumers", default="")
    cli.add_argument("--processes", type=int, default=2)
    cli.add_argument("--job", default="", help=argparse.SUPPRESS)
    options = cli.parse_args()
    if options.job:
        for answer in measure(msgspec.json.decode(options.job, type=Job)):
            print(msgspec.json.encode(answer).decode(), flush=True)
        return
    if api.load_rules().target(options.target).audit is None:
        raise SystemExit(f"{options.target} names no runtime under audit")
    edges, wrong = 0, defaultdict[tuple[str, bool], list[Wrong]](list)
    with TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        work = jobs(options.target, options.shapes, options.producers, options.consumers, folder)
        for answers in pool.map(ask, work):
            edges += sum(a.edges for a in answers)
            for found in (w for a in answers for w in a.wrong):
                wrong[found.pair, found.predicted].append(found)
                said = "extra" if found.predicted else "missed"
                print(f"{found.shape}: {said} {found.forms}: {found.why[:160]}", flush=True)
    for (pair, predicted), differ in sorted(wrong.items(), key=lambda w: -len(w[1])):
        print(f"{len(differ):4} {'extra' if predicted else 'missed'} {pair}")
    print(f"{edges} edges, {sum(map(len, wrong.values()))} differ")


if __name__ == "__main__":
    main()
