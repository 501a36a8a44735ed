"""The accepted examples of the rules that `ideal` has, as models."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import onnx
from onnx import parser

from fusectl import api
from fusectl.tables import Catalog, Rule

_HEADER = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>\n'


@cache
def catalog() -> Catalog:
    return api.load_rules()


def _model(text: str) -> onnx.ModelProto:
    model = parser.parse_model(text if text.lstrip().startswith("<") else _HEADER + text)
    model.ir_version = model.ir_version or 8
    return model


def examples() -> Iterator[tuple[str, Rule, onnx.ModelProto]]:
    """Every accepted example with a name of its own."""
    on_ideal = {t.value for p in catalog().target("ideal").passes for t in p.fuse or ()}
    for rule in catalog().rules.values():
        seen: Counter[str] = Counter()
        for example in rule.examples:
            if example.accept is not None and rule.id in on_ideal:
                seen[rule.id] += 1
                number = seen[rule.id]
                name = rule.id if number == 1 else f"{rule.id}-{number}"
                yield name, rule, _model(example.accept.value)
