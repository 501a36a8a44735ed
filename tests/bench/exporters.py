"""Hold the decisions on exports of one network against each other.

    python tests/bench/exporters.py --models FOLDER [--target T] [--markdown FILE] [--values]

FOLDER holds files `NETWORK__EXPORT.onnx`: one network through several exporters, options and
opsets. Each export is paired with the network's base export, and their decisions with each other:
by `id`, then by `structure`, then by aligning what is left in graph order, where an operator counts
as what it is, or as what an earlier decision made of it (Div, Erf, Add, Mul, Mul as one Gelu).
Pairs with different verdicts and decisions without a partner are listed with the cause that the
two reports show. `--values` also runs both exports in ONNX Runtime, unoptimised and on the same
inputs, and counts the pairs whose edges carry the same tensors. Ends with 1 where a cause is open.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx

from fusectl import api
from fusectl.report.types import Decision, NodeRef, Report
from fusectl.tables import Catalog

TARGETS = ("ideal", "onnxruntime-cpu")
BASES = ("legacy17", "dynamo")
METHODS = ("id", "structure", "sequence")
OPEN = "open"
ANCHOR = "a near miss: where its search starts depends on which of its operators is rarest here"
TURNED = "Reshape, Transpose and Reshape turn the key there, and the product reads the Reshape"
TOKEN = "Concat joins the class token: a constant here, computed there, where the walk ends"
SEEN = {
    ("bert_gelu_erf", "attention"): ANCHOR,
    ("lstmcell_gates", "rotary"): ANCHOR,
    ("vit_gelu_erf", "embed-layernorm"): ANCHOR,
    ("hf_bert", "transpose-matmul"): TURNED,
    ("hf_bert", "attention-block"): "a near miss; of the spelling there too few nodes match",
    ("hf_whisper_encoder", "transpose-matmul"): TURNED,
    ("hf_bert", "matmul-scale"): f"{TURNED}: the factor is more than four nodes away",
    ("vit_gelu_erf", "conv-bias"): TOKEN,
    ("vit_gelu_erf", "conv-residual"): TOKEN,
    ("llama_swiglu", "matmul-bias"): "the mask on the scores is a constant here, computed there",
    ("llama_swiglu", "matmul-scale"): "the rotation's factors are constants here, computed there",
    (
        "gpt2_conv1d_newgelu",
        "scale-matmul",
    ): "each operand of the scores is scaled here, by a root that is computed",
    ("gpt2_conv1d_newgelu", "matmul-bias"): "its partner went to the product inside the attention",
}
"""What no report shows, found by reading both models: by network and rule."""
BEGIN = "<!-- begin: written by tests/bench/exporters.py -->"
END = "<!-- end -->"

Key = tuple[str, str, str]
Place = tuple[str, tuple[object, ...]]
Line = list[tuple[object, Decision]]


def place(node: NodeRef) -> Place:
    """What tells a node from all others of its model."""
    return node.output, node.graph


@dataclass(frozen=True)
class Export:
    """One export of a network and what was decided about it."""

    network: str
    name: str
    path: Path
    report: Report
    catalog: Catalog

    @cached_property
    def model(self) -> onnx.ModelProto:
        return onnx.load(self.path, load_external_data=False)

    @cached_property
    def nodes(self) -> list[onnx.NodeProto]:
        """The nodes of all graphs."""
        pending = [*self.model.graph.node, *(n for f in self.model.functions for n in f.node)]
        found = []
        while pending:
            node = pending.pop()
            found.append(node)
            pending += [n for a in node.attribute for n in a.g.node]
        return found

    @cached_property
    def operators(self) -> Counter[str]:
        return Counter(f"{n.domain}.{n.op_type}".removeprefix(".") for n in self.nodes)

    @cached_property
    def common(self) -> frozenset[str]:
        """Operators that every network has many of, so that their number explains nothing."""
        classes = self.catalog.operators.classes
        moves = {n for n, f in self.catalog.operators.facts.items() if f.kind == "move"}
        return frozenset({*classes["Arithmetic"], *classes["MatrixProduct"], *moves})

    @cached_property
    def named(self) -> dict[str, str]:
        """What to call values and nodes where their own names say nothing."""
        found = {i.name: "an input" for i in self.model.graph.input}
        found |= {t.name: "a weight" for t in self.model.graph.initializer}
        for node in self.nodes:
            found |= dict.fromkeys((node.name, *node.output), node.op_type)
        found.pop("", None)
        return found

    @cached_property
    def fused(self) -> dict[str, Decision]:
        return {d.id: d for d in self.report.decisions if d.verdict == "fuse"}

    @cached_property
    def spelled(self) -> dict[Place, str]:
        """The nodes that together spell out one operator, and which; fused or not."""
        return {
            place(node): made
            for decision in self.report.decisions
            if not decision.missing and (made := self._becomes(decision))
            for node in decision.nodes
        }

    def _becomes(self, decision: Decision) -> str:
        rule = self.catalog.rules[decision.rule]
        return "" if rule.becomes in ("", "producer", "consumer") else rule.becomes

    def key(self, decision: Decision, loose: bool) -> Key:
        """Rule, producer and consumer, each as what earlier decisions made of it.

        Products count as one operator, told apart only by having an addend or (unless ``loose``)
        not; a rule of several nodes has as many edges as spellings.
        """
        if not self.catalog.rules[decision.rule].two_node:
            return decision.rule, "", ""
        products = self.catalog.operators.classes["MatrixProduct"]
        ends = list(self.ends(decision))
        for at, node in enumerate((decision.edge.producer, decision.edge.consumer)):
            if ends[at] in products:
                biased = not loose and self._biased(node, decision)
                ends[at] = "biased product" if biased else "product"
        return decision.rule, ends[0], ends[1]

    def ends(self, decision: Decision) -> tuple[str, str]:
        """Producer and consumer as what earlier decisions made of them."""
        edge = decision.edge
        return self._acting(edge.producer, decision), self._acting(edge.consumer, decision)

    def _acting(self, node: NodeRef, decision: Decision) -> str:
        made = [d.fused_node.op_type for d in self._earlier(node, decision) if d.fused_node]
        return made[-1] if made else node.op_type

    def _biased(self, node: NodeRef, decision: Decision) -> bool:
        """Tell whether a product has an addend, of its own or by an earlier decision."""
        earlier = self._earlier(node, decision)
        if any(self.catalog.rules[d.rule].slots.takes == "bias" for d in earlier):
            return True
        outputs = {node.output} | {n.output for d in earlier for n in d.nodes}
        gemms = (n for n in self.nodes if n.op_type == "Gemm" and outputs & set(n.output))
        return any(len(n.input) > 2 and n.input[2] for n in gemms)

    def _earlier(self, node: NodeRef, decision: Decision) -> list[Decision]:
        """The accepted decisions that this one builds on and that hold the node."""
        chain: list[Decision] = []
        pending = list(decision.builds_on)
        while pending:
            earlier = self.fused.get(pending.pop())
            if earlier is not None and node in earlier.nodes:
                chain.insert(0, earlier)
                pending += earlier.builds_on
        return chain

    def plain(self, text: str) -> str:
        """A finding with operators for names and without sizes, so that equal ones are equal."""
        text = re.sub(r"\[[^\]]*\]| \(decision \w+\)", "", text)
        text = re.sub(r"[^\s,;+()]+", lambda m: self.named.get(m[0], m[0]), text)
        text = re.sub(r"\b(\w+)( \1\b)+", r"\1", text)
        return re.sub(r"\b(\w+) is (computed by \1) \(\1\)", r"it is \2", text)


@dataclass(frozen=True, slots=True)
class Pair:
    """Corresponding decisions of two exports and how they were found."""

    base: Decision
    other: Decision
    by: str

    @property
    def agrees(self) -> bool:
        return self.base.verdict == self.other.verdict


@dataclass(frozen=True, slots=True)
class Reason:
    """Why decisions differ or stand alone; equal ones are counted together."""

    rule: str
    edge: str
    verdict: str
    cause: str


@dataclass(frozen=True)
class Comparison:
    """Two exports of a network on one target."""

    base: Export
    other: Export
    pairs: tuple[Pair, ...]

    @cached_property
    def different(self) -> list[Pair]:
        return [p for p in self.pairs if not p.agrees]

    @cached_property
    def alone(self) -> list[tuple[Export, Decision]]:
        """The decisions without a partner."""
        paired = {id(d) for p in self.pairs for d in (p.base, p.other)}
        return [
            (export, decision)
            for export in (self.base, self.other)
            for decision in export.report.decisions
            if id(decision) not in paired
        ]

    def differences(self) -> list[Reason]:
        """Say for each different verdict what stops the fusion in the export that keeps."""
        return [self._difference(p) for p in self.different]

    def absences(self) -> list[Reason]:
        """Say for each decision without a partner why it has none."""
        return [self._absence(*found) for found in self.alone]

    def _difference(self, pair: Pair) -> Reason:
        kept_here = pair.base.verdict == "keep"
        export, kept = (self.base, pair.base) if kept_here else (self.other, pair.other)
        heads = [f for f in kept.blockers if f.reason == kept.headline]
        others = {f.reason for f in kept.blockers} - {kept.headline}
        unknown = " unknown" if heads[0].status == "unknown" else ""
        shown = dict.fromkeys(export.plain(f.observed) for f in heads)
        cause = f"{kept.headline}{unknown}: " + "; ".join(shown)
        if others:
            cause += f" (also {', '.join(sorted(others))})"
        facing = self.other if kept_here else self.base
        cause += f"; {native}" if (native := _native(kept, export, facing)) else ""
        return Reason(kept.rule, " → ".join(export.ends(kept)), f"kept in {export.name}", cause)

    def _absence(self, export: Export, decision: Decision) -> Reason:
        facing = self.other if export is self.base else self.base
        cause = (
            _native(decision, export, facing)
            or self._follows(decision, export)
            or self._behind(decision, export, facing)
            or _lacks(decision, export, facing)
            or self._instead(decision, export, facing)
            or SEEN.get((export.network, decision.rule), OPEN)
        )
        edge = " → ".join(export.ends(decision))
        return Reason(decision.rule, edge, decision.verdict, cause)

    def _follows(self, decision: Decision, export: Export) -> str:
        """A pair with different verdicts holds one of the nodes."""
        mine = set(map(place, decision.nodes))
        for pair in self.different:
            near = pair.base if export is self.base else pair.other
            if mine & set(map(place, near.nodes)):
                return f"follows from the different verdict of {near.rule} on one of its nodes"
        return ""

    def _behind(self, decision: Decision, export: Export, facing: Export) -> str:
        """Another operator follows the producer over there, and is kept."""
        producer, _ = export.ends(decision)
        for side, near in self.alone:
            if side is facing and near.verdict == "keep":
                maker, reader = facing.ends(near)
                if maker == producer and facing.operators[reader] and not export.operators[reader]:
                    return f"{reader} follows the {maker} there, kept as {near.headline}"
        return ""

    def _instead(self, decision: Decision, export: Export, facing: Export) -> str:
        """The consumer is decided by another rule over there."""
        _, consumer = export.ends(decision)
        if consumer in export.common:
            return ""
        for side, near in self.alone:
            if side is facing and facing.ends(near)[1] == consumer and near.rule != decision.rule:
                return f"{near.rule} decides the {consumer} there"
        return ""


def _native(decision: Decision, export: Export, facing: Export) -> str:
    """One export has as one operator what the other one spells out."""
    for node in (decision.edge.producer, decision.edge.consumer):
        made = export.spelled.get(place(node), "")
        if made and facing.operators[made] > export.operators[made]:
            return f"{made} is one operator there"
        if node.op_type in facing.spelled.values() and (
            facing.operators[node.op_type] < export.operators[node.op_type]
        ):
            return f"{node.op_type} is spelled out there"
    return ""


def _lacks(decision: Decision, export: Export, facing: Export) -> str:
    """The other export has none or fewer of the operators that take part."""
    nodes = (*decision.between, decision.edge.consumer, decision.edge.producer, *decision.nodes)
    ops = list(dict.fromkeys(n.op for n in nodes))
    for op in ops:
        if not facing.operators[op]:
            return f"no {op} there"
    for op in ops:
        if op not in export.common and facing.operators[op] < export.operators[op]:
            return f"fewer {op} there"
    return ""


def match(base: Export, other: Export) -> tuple[Pair, ...]:
    """Pair the decisions of two exports."""
    pairs: list[Pair] = []
    ours, theirs = list(base.report.decisions), list(other.report.decisions)
    for by in ("id", "structure"):
        there = {getattr(d, by): d for d in theirs if by != "id" or _named(d)}
        pairs += [Pair(d, there[getattr(d, by)], by) for d in ours if getattr(d, by) in there]
        ours, theirs = _left(base, pairs), _left(other, pairs)
    # First with the known pairs as landmarks, then what is left over without them.
    marks = {id(d): n for n, pair in enumerate(pairs) for d in (pair.base, pair.other)}

    def strictly(export: Export, decision: Decision) -> object:
        return marks.get(id(decision), export.key(decision, loose=False))

    def loosely(export: Export, decision: Decision) -> object:
        return export.key(decision, loose=True)

    lines = [[(strictly(e, d), d) for d in e.report.decisions] for e in (base, other)]
    found = [p for p in _aligned(*lines) if id(p.base) not in marks]
    while found:
        pairs += found
        lines = [[(loosely(e, d), d) for d in _left(e, pairs)] for e in (base, other)]
        found = list(_aligned(*lines))
    return tuple(pairs)


def _named(decision: Decision) -> bool:
    """Tell whether an id rests on names: numbers are the exporter's counter and meet by chance."""
    return not (decision.edge.value.isdigit() or decision.edge.consumer.output.isdigit())


def _left(export: Export, pairs: Iterable[Pair]) -> list[Decision]:
    """The decisions that are in no pair."""
    known = {id(d) for pair in pairs for d in (pair.base, pair.other)}
    return [d for d in export.report.decisions if id(d) not in known]


def _aligned(ours: Line, theirs: Line) -> Iterator[Pair]:
    # What only one side has would break up the runs that the matcher looks for.
    common = {key for key, _ in ours} & {key for key, _ in theirs}
    ours = [entry for entry in ours if entry[0] in common]
    theirs = [entry for entry in theirs if entry[0] in common]
    matcher = SequenceMatcher(None, [k for k, _ in ours], [k for k, _ in theirs], autojunk=False)
    for start, there, size in matcher.get_matching_blocks():
        for offset in range(size):
            yield Pair(ours[start + offset][1], theirs[there + offset][1], "sequence")


def exports(folder: Path, target: str, names: Collection[str] = ()) -> Iterator[list[Export]]:
    """Explain the exports of each network (that is named) that has several, its base first."""
    catalog = api.load_rules()
    for name, paths in networks(folder).items():
        if len(paths) > 1 and (not names or name in names):
            reports = [api.explain(path, target, rules=catalog) for path in paths]
            yield [
                Export(name, path.stem.split("__")[1], path, report, catalog)
                for path, report in zip(paths, reports, strict=True)
            ]


def networks(folder: Path) -> dict[str, list[Path]]:
    """The exports of each network, its base first."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*__*.onnx")):
        found[path.stem.split("__")[0]].append(path)
    for name, paths in found.items():
        bases = [p for base in BASES for p in paths if p.stem == f"{name}__{base}"]
        found[name] = [*bases[:1], *(p for p in paths if p not in bases[:1])]
    return found


def comparisons(folder: Path, target: str, names: Collection[str] = ()) -> Iterator[Comparison]:
    """Compare every export with its network's base; only the named networks if there are names."""
    for base, *others in exports(folder, target, names):
        for other in others:
            yield Comparison(base, other, match(base, other))


Tensors = dict[str, npt.NDArray[np.float64]]


def same_tensors(found: Comparison) -> str:
    """Count the pairs whose values or results are the same numbers, in whatever layout."""
    ours = _run(found.base.path, found.other.path)
    theirs = _run(found.other.path, found.base.path)
    ends = [[o.name for o in e.model.graph.output] for e in (found.base, found.other)]
    if not all(_equal(ours.get(a), theirs.get(b)) for a, b in zip(*ends, strict=True)):
        return "other weights"
    same = sum(
        _equal(ours.get(p.base.edge.consumer.output), theirs.get(p.other.edge.consumer.output))
        or _equal(ours.get(p.base.edge.value), theirs.get(p.other.edge.value))
        for p in found.pairs
    )
    return f"{same}/{len(found.pairs)}"


def _equal(one: npt.NDArray[np.float64] | None, two: npt.NDArray[np.float64] | None) -> bool:
    if one is None or two is None or one.size != two.size:
        return False
    return np.allclose(one, two, rtol=1e-3, atol=1e-4, equal_nan=True)


@cache
def _run(path: Path, like: Path) -> Tensors:
    """All tensors of a model as sorted numbers; sizes that it leaves open are as in ``like``."""
    import onnxruntime as ort

    model = onnx.load(path)
    known = {o.name for o in model.graph.output}
    made = [o for n in model.graph.node for o in n.output if o and o not in known]
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in dict.fromkeys(made))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [o.name for o in session.get_outputs()]
    found = zip(names, session.run(names, _inputs(model, _batch(path, like))), strict=True)
    return {n: np.sort(np.ravel(v).astype(np.float64)) for n, v in found}


def _batch(*paths: Path) -> int:
    sizes = [
        dim.dim_value
        for path in paths
        for entry in onnx.load(path, load_external_data=False).graph.input[:1]
        for dim in entry.type.tensor_type.shape.dim[:1]
    ]
    return int(max(sizes, default=0)) or 2


def _inputs(model: onnx.ModelProto, batch: int) -> dict[str, npt.NDArray[np.generic]]:
    """Random numbers by position; zeros and ones for indices and masks."""
    numbers = np.random.default_rng(0)
    weights = {t.name for t in model.graph.initializer}
    found: dict[str, npt.NDArray[np.generic]] = {}
    for entry in model.graph.input:
        kind = entry.type.tensor_type
        if entry.name not in weights:
            shape = [d.dim_value or batch for d in kind.shape.dim]
            if kind.elem_type == onnx.TensorProto.FLOAT:
                found[entry.name] = numbers.standard_normal(shape).astype(np.float32)
            else:
                found[entry.name] = numbers.integers(0, 2, shape)
    return found


def summary(found: Sequence[Comparison], values: bool) -> list[str]:
    """The table of all comparisons on one target."""
    rows = [
        "| network | export, its base | decisions | by id, structure, sequence "
        "| same verdict, headline too | different | alone |"
        + (" same tensors |" if values else ""),
        "|---|---|---|---|---|---|---|" + ("---|" if values else ""),
    ]
    total: Counter[str] = Counter()
    for one in found:
        counts = Counter(p.by for p in one.pairs)
        sizes = [len(e.report.decisions) for e in (one.other, one.base)]
        alone = Counter(e is one.base for e, _ in one.alone)
        same = len(one.pairs) - len(one.different)
        alike = sum(p.base.headline == p.other.headline for p in one.pairs if p.agrees)
        by = ", ".join(str(counts[m]) for m in METHODS)
        row = (
            f"| {one.base.network} | {one.other.name}, {one.base.name} | {sizes[0]}, {sizes[1]} "
            f"| {by} | {same}, {alike} | {len(one.different)} | {alone[False]}, {alone[True]} |"
        )
        rows.append(row + (f" {same_tensors(one)} |" if values else ""))
        total.update(counts)
        total.update(
            {"same": same, "alike": alike, "different": len(one.different), "alone": len(one.alone)}
        )
    by = ", ".join(str(total[m]) for m in METHODS)
    row = f"| all | | | {by} | {total['same']}, {total['alike']} | {total['different']} "
    rows.append(f"{row}| {total['alone']} |" + (" |" if values else ""))
    return rows


def causes(found: Sequence[Comparison], alone: bool) -> list[str]:
    """The table of causes on one target, the most frequent first."""
    counts: Counter[Reason] = Counter()
    where: dict[Reason, dict[str, None]] = defaultdict(dict)
    for one in found:
        for reason in one.absences() if alone else one.differences():
            counts[reason] += 1
            where[reason][one.base.network] = None
    rows = ["| n | rule | edge | verdict | networks | cause |", "|---|---|---|---|---|---|"]
    for reason, count in sorted(counts.items(), key=lambda c: (-c[1], str(c[0]))):
        rows.append(
            f"| {count} | {reason.rule} | {reason.edge} | {reason.verdict} "
            f"| {', '.join(where[reason])} | {reason.cause} |"
        )
    return rows


def written(path: Path, text: str) -> None:
    """Write the tables between the marks of a file, or a file of their own."""
    block = f"{BEGIN}\n\n{text}\n\n{END}"
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    if BEGIN in old and END in old:
        before, rest = old.split(BEGIN, 1)
        block = before + block + rest.split(END, 1)[1]
    else:
        block += "\n"
    path.write_text(block, encoding="utf-8")


def main() -> int:
    """Compare, print or write the tables, and tell whether every cause is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--target", action="append", help="instead of the usual ones; repeatable")
    parser.add_argument("--markdown", type=Path, help="write the tables into this file")
    parser.add_argument("--values", action="store_true", help="compare tensors in ONNX Runtime")
    options = parser.parse_args()
    sections, open_causes = [], 0
    for target in options.target or TARGETS:
        found = list(comparisons(options.models, target))
        for title, rows in (
            ("", summary(found, options.values)),
            (": different verdicts", causes(found, alone=False)),
            (": decisions without a partner", causes(found, alone=True)),
        ):
            sections.append(f"### {target}{title}\n\n" + "\n".join(rows))
        open_causes += sum(r.cause == OPEN for c in found for r in c.absences())
    single = [name for name, paths in networks(options.models).items() if len(paths) == 1]
    sections.append(f"Networks with one export, not compared: {', '.join(single)}.")
    text = "\n\n".join(sections)
    if options.markdown:
        written(options.markdown, text)
    else:
        print(text)
    if open_causes:
        print(f"{open_causes} decisions are alone and it is open why", file=sys.stderr)
    return 1 if open_causes else 0


if __name__ == "__main__":
    sys.exit(main())
