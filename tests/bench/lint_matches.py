"""What `lint` makes of one model after another has taken its place in the lock file.

    python tests/bench/lint_matches.py --models FOLDER [--quantized FOLDER] [--markdown FILE]

FOLDER holds files `NETWORK__EXPORT.onnx`: one network through several exporters, options and
opsets; the folder of `--quantized` holds files `NETWORK__SCHEME.onnx`. For each network the
decisions about its base export are put into a lock section. Then its place is taken by the same
model with every name changed, the model converted to a newer opset, the other exports, the
quantised models, and the same model on other targets. Each row says how the decisions were
recognised and what was reported.

Where names are kept, or where the new name of each is known, the changes are also found without
any matching, by name alone: the last column counts the decisions about which the two disagree.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import onnx
from onnx import version_converter

from fusectl import api
from fusectl.compare import Account, account, wiring
from fusectl.compare.cause import Causes
from fusectl.compare.differences import differences
from fusectl.compare.match import match
from fusectl.errors import FusectlError
from fusectl.lint.locked import LockedTarget, section, unlocked
from fusectl.pipeline import survey
from fusectl.report.comparison import Answer
from fusectl.tables import Catalog
from fusectl.tables.digest import tables_digest
from tests.bench.exporters import networks, written

TARGET = "onnxruntime-cpu"
OTHERS = ("openvino-cpu", "ideal")
NEWER = 21
WAYS = ("id", "structure", "alignment")
KINDS = ("lost", "gained", "rule", "reason", "new", "gone")
MOST = 12
PREFIXES = {"bert": "bert_gelu_erf", "llama": "llama_swiglu", "multi_use": "multi_use_preact"}
"""Networks that the folder of quantised models calls by another name."""

Names = Callable[[str], str]
Key = tuple[str, str, str, str]


@dataclass
class Row:
    """One change of a model."""

    network: str
    change: str
    name: str
    before: int = 0
    after: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    causes: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: int | None = None
    trouble: str = ""


def renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with another name for every value and none for its nodes."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    _rename(made.graph)
    return made


def new_name(name: str) -> str:
    """What a value is called after `renamed`."""
    return f"r.{name}.x" if name else ""


def _rename(graph: onnx.GraphProto) -> None:
    for group in (graph.input, graph.output, graph.value_info, graph.initializer):
        for entry in group:
            entry.name = new_name(entry.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = new_name(sparse.values.name)
    for node in graph.node:
        node.name = ""
        node.input[:] = map(new_name, node.input)
        node.output[:] = map(new_name, node.output)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g)


def ask(model: Path | onnx.ModelProto, target: str, catalog: Catalog) -> Account:
    """What is decided about a model."""
    found = survey(model, target, rules=catalog)
    digest = tables_digest(catalog, catalog.target(target))
    return account(found.report, digest, wiring(found.model()))


def compare(row: Row, base: Account, after: Account, names: Names | None) -> Row:
    """Fill a row: the base as the lock file keeps it against what is now."""
    tables = LockedTarget(base.version, base.tables)
    before = unlocked(row.name, base.target, section(base), tables)
    causes = Causes(before, after)
    pairs = match(before.answers, after.answers, causes.same_model)
    found = differences(before.answers, after.answers, pairs)
    causes.learn(found)
    row.before, row.after = len(before.answers), len(after.answers)
    row.ways.update(m.by for m in pairs)
    row.kinds.update(d.kind for d in found)
    row.causes.update((d.kind, causes.of(d).gist) for d in found)
    if names is not None:
        told = Counter(
            (
                None if a is None else _key(before.answers[a], names),
                None if b is None else _key(after.answers[b], str),
            )
            for d in found
            for a, b in d.moves
        )
        known = Counter(_by_name(before.answers, after.answers, names))
        row.wrong = (told - known).total() + (known - told).total()
    return row


def _key(answer: Answer, names: Names) -> Key:
    edge = answer.edge
    scope = "/".join(f"{s.attr or s.function}" for s in edge.consumer.graph)
    if any(s.function for s in edge.consumer.graph):
        names = str  # `renamed` leaves the bodies of functions alone
    return answer.rule, scope, names(edge.value), names(edge.consumer.output)


def _by_name(
    before: Sequence[Answer], after: Sequence[Answer], names: Names
) -> Iterator[tuple[Key | None, Key | None]]:
    """What changed, found by names alone."""
    ours: dict[Key, list[Answer]] = {}
    theirs: dict[Key, list[Answer]] = {}
    for answers, kept, called in ((before, ours, names), (after, theirs, str)):
        for answer in answers:
            kept.setdefault(_key(answer, called), []).append(answer)
    for key in {**ours, **theirs}:
        one, two = ours.get(key, []), theirs.get(key, [])
        for a, b in zip(one, two, strict=False):
            if (a.verdict, a.headline, set(a.blockers)) != (b.verdict, b.headline, set(b.blockers)):
                yield key, key
        for _ in one[len(two) :]:
            yield key, None
        for _ in two[len(one) :]:
            yield None, key


def rows(models: Path, quantized: Path | None) -> Iterator[Row]:
    """Every change of every network."""
    catalog = api.load_rules()
    by_scheme = _quantized(quantized) if quantized else {}
    for network, paths in networks(models).items():
        base_path, *others = paths
        base = ask(base_path, TARGET, catalog)
        model = onnx.load(base_path, load_external_data=False)
        opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
        jobs: list[tuple[str, str, Callable[[], Account], Names | None]] = [
            ("renamed", "every name", partial(_ask_renamed, model, catalog), new_name),
        ]
        if opset < NEWER:
            jobs.append(
                (
                    "opset",
                    f"{opset} to {NEWER}",
                    partial(_ask_newer, model, catalog),
                    str,
                )
            )
        for path in others:
            name = path.stem.split("__")[1]
            jobs.append(("export", name, partial(ask, path, TARGET, catalog), None))
        for path in by_scheme.get(network, []):
            name = path.stem.split("__")[1]
            jobs.append(("quantised", name, partial(ask, path, TARGET, catalog), None))
        for target in OTHERS:
            jobs.append(("target", target, partial(ask, base_path, target, catalog), str))
        for change, name, run, names in jobs:
            row = Row(network, change, name)
            try:
                yield compare(row, base, run(), names)
            except (FusectlError, RuntimeError, ValueError) as error:
                row.trouble = " ".join(str(error).split())[:80]
                yield row


def _ask_renamed(model: onnx.ModelProto, catalog: Catalog) -> Account:
    return ask(renamed(model), TARGET, catalog)


def _ask_newer(model: onnx.ModelProto, catalog: Catalog) -> Account:
    return ask(version_converter.convert_version(model, NEWER), TARGET, catalog)


def _quantized(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*__*.onnx")):
        prefix = path.stem.split("__")[0]
        found.setdefault(PREFIXES.get(prefix, prefix), []).append(path)
    return found


def table(found: Sequence[Row]) -> list[str]:
    """The table of all changes."""
    lines = [
        "| network | change | to | decisions | by id, structure, alignment | alone "
        "| lost | gained | other rule | other reason | new | gone | against names |",
        "|" + "---|" * 13,
    ]
    return lines + [_line(row) for row in found]


def _line(row: Row) -> str:
    head = f"| {row.network} | {row.change} | {row.name} "
    if row.trouble:
        return f"{head}| not converted: {row.trouble.replace('|', '/')} |" + " |" * 9
    paired = row.ways.total()
    by = ", ".join(str(row.ways[w]) for w in WAYS)
    kinds = " | ".join(str(row.kinds[k] or "") for k in KINDS)
    wrong = "" if row.wrong is None else "agrees" if not row.wrong else f"{row.wrong} differ"
    return (
        f"{head}| {row.before}, {row.after} | {by} | {row.before - paired}, {row.after - paired} "
        f"| {kinds} | {wrong} |"
    )


def sums(found: Sequence[Row]) -> list[str]:
    """The sums by kind of change."""
    lines = [
        "| change | models | decisions | by id | by structure | by alignment | alone "
        "| reported | same as by names |",
        "|" + "---|" * 9,
    ]
    for change in dict.fromkeys(r.change for r in found):
        mine = [r for r in found if r.change == change and not r.trouble]
        ways: Counter[str] = sum((r.ways for r in mine), Counter())
        paired = ways.total()
        before, after = sum(r.before for r in mine), sum(r.after for r in mine)
        known = [r for r in mine if r.wrong is not None]
        agreed = f"{sum(not r.wrong for r in known)} of {len(known)}" if known else ""
        lines.append(
            f"| {change} | {len(mine)} | {before}, {after} "
            f"| {' | '.join(str(ways[w]) for w in WAYS)} | {before - paired}, {after - paired} "
            f"| {sum(r.kinds.total() for r in mine)} | {agreed} |"
        )
    return lines


def blamed(found: Sequence[Row]) -> list[str]:
    """The causes that were told most often, by kind of change."""
    lines = ["| change | n | kind | cause |", "|---|---|---|---|"]
    for change in dict.fromkeys(r.change for r in found):
        causes: Counter[tuple[str, str]] = sum(
            (r.causes for r in found if r.change == change), Counter()
        )
        ordered = sorted(causes.items(), key=lambda c: (-c[1], c[0]))[:MOST]
        lines += [f"| {change} | {n} | {kind} | {cause} |" for (kind, cause), n in ordered]
    return lines


def main() -> int:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description="what lint makes of changed models")
    parser.add_argument("--models", required=True, type=Path)
    parser.add_argument("--quantized", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    found = list(rows(options.models, options.quantized))
    parts = [
        "## Sums", *sums(found), "", "## What was blamed", *blamed(found), "",
        "## Every change", *table(found),
    ]  # fmt: skip
    text = "\n".join(parts).replace("## Sums\n", "## Sums\n\n")
    for title in ("## What was blamed\n", "## Every change\n"):
        text = text.replace(title, f"{title}\n")
    if options.markdown:
        written(options.markdown, text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
