"""The pages of the reasons: complete, alike in form, and with models that are valid."""

import re
from pathlib import Path

import onnx
import pytest
from onnx import parser

from fusectl.reasons import PAGES, REASONS, page
from tests.docs.quotes import QUOTE, quote_of

HEADINGS = ["Why it is a boundary", "Example", "What you can do"]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"\[([a-z]\w*)\]\s+\w+(?:, \w+)* = ")


def _blocks(slug: str) -> list[str]:
    return [text for language, text in _FENCE.findall(page(slug)) if language == "onnx"]


def _prose(slug: str) -> str:
    return _FENCE.sub("", page(slug))


def _labels(graph: onnx.GraphProto) -> list[str]:
    """Names of all nodes, those of bodies behind their node's own."""
    found: list[str] = []
    for node in graph.node:
        found.append(node.name)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found += _labels(attribute.g)
    return found


def test_every_reason_has_its_page_and_no_other_is_there() -> None:
    assert sorted(path.name for path in Path(PAGES).iterdir()) == sorted(
        f"{slug}.md" for slug in REASONS
    )


@pytest.mark.parametrize("slug", REASONS)
def test_headings(slug: str) -> None:
    lines = _prose(slug).splitlines()
    assert lines[0] == f"# {slug}"
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == HEADINGS
    assert re.match(r"[A-Z].*", lines[2]), "a sentence that says what the reason means"


@pytest.mark.parametrize("slug", REASONS)
def test_example_shows_what_the_tool_says(slug: str) -> None:
    """After a change of wording: python -m tests.docs.quotes."""
    assert QUOTE.findall(page(slug)) == [quote_of(slug)]


@pytest.mark.parametrize("slug", REASONS)
def test_remedies_are_numbered(slug: str) -> None:
    remedies = _prose(slug).partition("## What you can do\n")[2]
    numbers = re.findall(r"^(\d+)\. ", remedies, re.MULTILINE)
    assert numbers == [str(n) for n in range(1, len(numbers) + 1)]
    assert len(numbers) >= 2


@pytest.mark.parametrize("slug", REASONS)
def test_models_are_valid(slug: str) -> None:
    blocks = _blocks(slug)
    assert blocks
    for text in blocks:
        model = parser.parse_model(text)
        onnx.checker.check_model(model, full_check=True)
        # The parser drops what follows the first complete item, so every label has to arrive.
        assert _labels(model.graph) == _LABEL.findall(text)
        assert all(_labels(model.graph)), "every node has a name"
