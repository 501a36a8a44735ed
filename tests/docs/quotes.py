# ruff: noqa: T201
"""What the tool says for the example of a reason's page, as the page quotes it.

python -m tests.docs.quotes      rewrites the quotes after the wording of a finding has changed
"""

import re
import tempfile
from pathlib import Path

from onnx import parser

from fusectl import api
from fusectl.reasons import PAGES, REASONS, page
from fusectl.render.wording import remedy, slug, statement
from fusectl.report.types import Report

MODEL = re.compile(r"^```onnx\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTE = re.compile(r"^> .*$", re.MULTILINE)
_PATH = re.compile(r"^On a target whose path for `([\w-]+)` says `(.*)`:$", re.MULTILINE)
_TARGET = re.compile(r"^On a target that says `(.*)`:$", re.MULTILINE)


def target_of(text: str) -> str:
    """The target that a page describes: all that the rules allow, but for what it says."""
    lines = ["target: my-npu", "summary: The target of an example.", "extends: ideal"]
    lines += _TARGET.findall(text)
    for rule, stated in _PATH.findall(text):
        lines += ["paths:", f"  {rule}:", "    source: the page", f"    {stated}"]
    return "\n".join(lines) + "\n"


def report_of(text: str) -> Report:
    """The report about a page's model on its target."""
    found = MODEL.search(text)
    assert found
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "my-npu.yaml"
        path.write_text(target_of(text), encoding="utf-8")
        return api.explain(parser.parse_model(found[1]), target=str(path))


def quote_of(name: str) -> str:
    """The line that the page has to show. The reason must be the only one against the example."""
    report = report_of(page(name))
    if name == "no-rule":
        assert not report.decisions
        pairs = (f"{u.count}x {u.producer} -> {u.consumer}" for u in report.uncovered)
        return f"> **no-rule**: {', '.join(pairs)}."
    told = [(d, f) for d in report.decisions for f in d.blockers]
    assert [f.reason for _, f in told] == [name], [(d.rule, f.reason) for d, f in told]
    decision, finding = told[0]
    text = f"> **{slug(finding)}**: {statement(decision, finding, where=False)}"
    return f"{text} **help:** {remedy(finding)}" if finding.help else text


def main() -> None:
    """Rewrite what has changed."""
    for name in REASONS:
        try:
            quote = quote_of(name)
        except AssertionError as error:
            print(f"{name}: left as it is, the example gets {error}")
            continue
        text = page(name)
        shown = QUOTE.findall(text)
        if shown and shown != [quote]:
            new = text.replace(shown[0], quote)
            (PAGES / f"{name}.md").write_text(new, encoding="utf-8")
            print(f"{name}: rewritten")


if __name__ == "__main__":
    main()
