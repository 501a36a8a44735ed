"""Small helpers for the tests of the engine."""

from functools import cache
from pathlib import Path

import onnx
from onnx import parser

from fusectl import api
from fusectl.graph import ModelView, load_model
from fusectl.report.types import Decision, Report
from fusectl.tables import Catalog

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


@cache
def catalog() -> Catalog:
    return api.load_rules()


def model(text: str) -> onnx.ModelProto:
    """A model of ONNX text; a header is added where there is none."""
    return parser.parse_model(text if text.lstrip().startswith("<") else HEADER + text)


def load(source: onnx.ModelProto | Path | str) -> ModelView:
    """A model as the engine reads it."""
    operators = catalog().operators
    return load_model(source, operators.alike(), operators.like_first())


def explain(source: onnx.ModelProto | Path | str, target: str | Path = "ideal") -> Report:
    """The report about a model, or about ONNX text."""
    made = model(source) if isinstance(source, str) and "=>" in source else source
    return api.explain(made, str(target), rules=catalog())


def verdicts(report: Report) -> dict[str, str]:
    """Each edge as `u -> node`, with `fuse`, or the reasons against it."""
    return {
        f"{d.edge.value} -> {d.edge.consumer.label}": told(d)
        for d in sorted(report.decisions, key=lambda d: d.verdict == "fuse")
    }


def told(decision: Decision) -> str:
    """A decision in a word: `fuse`, or the reasons against it."""
    slugs = dict.fromkeys(f.reason + "?" * (f.status == "unknown") for f in decision.blockers)
    return ", ".join(slugs) or "fuse"


def notes(report: Report) -> str:
    """All notes as one text."""
    return "\n".join(note.text for note in report.notes)
