"""Instructions and kernels in Markdown: whole blocks, and nothing of a name in the markup."""

import re

import msgspec
from markdown_it import MarkdownIt

from fusectl.render import Options, render
from fusectl.report.types import Instructions, Report
from tests.render import examples
from tests.render.factory import decision, report


def _markdown(made: Report, options: Options | None = None) -> str:
    text = render(made, "markdown", options)
    assert isinstance(text, str)
    return text


def _long(number: int) -> Report:
    lines = tuple(f"Mul m{i} <- m{i - 1}" for i in range(200))
    one = msgspec.structs.replace(
        decision("a:Mul:u", "b:Mul"), instructions=Instructions(lines, ("Mul y <- x",), False, "")
    )
    made = report([one] * number)
    return msgspec.structs.replace(made, programs=examples.kernels().programs)


def test_every_decision_has_a_block_and_long_ones_are_folded() -> None:
    text = _markdown(examples.kernels())
    blocks = [t for t in MarkdownIt("commonmark").parse(text) if t.type == "fence"]
    assert [t.info for t in blocks] == ["diff", "diff"]
    assert text.count("```diff") == 2
    folded = re.findall(r"<summary>(\d+) lines</summary>\n\n```diff", text)
    assert [int(n) for n in folded] == [len(blocks[1].content.splitlines())]


def test_names_end_no_block() -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(_markdown(examples.hostile_kernels()))
    fences = [t for t in tokens if t.type == "fence"]
    assert [t.info for t in fences] == ["diff"]
    assert "</details>@you" in fences[0].content
    every = [*tokens, *(c for t in tokens for c in t.children or ())]
    raw = "".join(t.content for t in every if t.type.startswith("html"))
    assert set(re.findall(r"<(?!!)[^>]*>", raw)) == {
        "<details>", "</details>", "<summary>", "</summary>",
    }  # fmt: skip
    text = "".join(t.content for t in every if t.type in ("text", "html_inline"))
    assert not re.search(r"@\w", text)


def test_blocks_leave_room_in_a_comment_and_the_rest_is_counted() -> None:
    made = _long(40)
    text = _markdown(made)
    shown = text.count("```diff")
    assert 0 < shown < 40
    assert len(text) < 65_536
    assert f"And kernels of {40 - shown} other decisions" in text
    assert _markdown(made, Options(full=True)).count("```diff") == 40


def test_nothing_is_said_unless_somebody_asks() -> None:
    assert "Program" not in _markdown(examples.chain())
