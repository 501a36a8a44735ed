"""Markdown short enough to be a comment, and saying what it cut."""

import re
from collections.abc import Iterable, Iterator

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fusectl.render.comparison_formats import render_comparison
from fusectl.render.lint_formats import LintOptions, render_lint
from fusectl.report.lint import LintReport
from tests.formats import reports

GITHUB = 65_536


def _lint(report: LintReport) -> str:
    made = render_lint(report, "markdown", LintOptions())
    assert isinstance(made, str)
    return made


def _details_are_closed(text: str) -> bool:
    return text.count("<details>") == text.count("</details>")


@pytest.mark.parametrize("name", ["empty", "mixed", "hostile", "many"])
def test_it_fits_a_comment(name: str) -> None:
    made = _lint(getattr(reports, name)())
    assert len(made.encode("utf-8")) < GITHUB
    assert _details_are_closed(made)


def test_what_is_cut_is_counted() -> None:
    report = reports.many(900)
    made = _lint(report)
    shown = len(re.findall(r"^- ", made, re.MULTILINE))
    cut = re.search(r"\*\*Cut:\*\* (\d+) lines did not fit", made)
    assert cut is not None
    models = 0 if "Models (" in made else 2  # a heading and one model
    assert shown + int(cut[1]) - models == len(report.findings)


def test_a_short_one_is_whole() -> None:
    assert "Cut:" not in _lint(reports.mixed())


def test_the_heading_counts_what_counts() -> None:
    head = _lint(reports.mixed()).splitlines()[0]
    assert head == (
        "### Fusion lint: 3 errors, 1 warning, 1 for information, 1 suppressed in 3 models"
    )
    assert _lint(reports.empty()).splitlines()[0] == "### Fusion lint: no findings in 1 model"


def test_one_row_a_cause() -> None:
    rows = [line for line in _lint(reports.many()).splitlines() if line.startswith("| error")]
    assert [row.split("|")[3].strip() for row in rows] == ["117", "117", "116", "116"]


def test_hostile_names_make_no_markup() -> None:
    """Read by a Markdown parser: the only HTML is our own, and nobody is mentioned."""
    tokens = list(_flat(MarkdownIt("commonmark").enable("table").parse(_lint(reports.hostile()))))
    raw = "".join(t.content for t in tokens if t.type.startswith("html"))
    assert set(re.findall(r"<(?!!)[^>]*>", raw)) == {
        "<details>", "</details>", "<summary>", "</summary>", "<br>",
    }  # fmt: skip
    shown = ("text", "html_inline", "html_block")
    text = "".join(t.content for t in tokens if t.type in shown)
    assert not re.search(r"[@#]\w", text)
    assert not any(t.type in ("link_open", "image", "fence") for t in tokens)


def _flat(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or ())


@pytest.mark.parametrize(
    "names", [("u",), reports.HOSTILE, tuple(f"n{i}" * 20 for i in range(400))]
)
def test_a_comparison_fits_too(names: tuple[str, ...]) -> None:
    made = render_comparison(reports.comparison(names, names[-1] or "cause"), "markdown")
    assert isinstance(made, str)
    assert len(made.encode("utf-8")) < GITHUB
    assert _details_are_closed(made)


def test_a_comparison_tells_each_kind() -> None:
    made = str(render_comparison(reports.comparison(), "markdown"))
    assert made.splitlines()[0] == (
        "### Fusion: 2 fusion lost, 2 fusion gained, 2 fused by another rule, "
        "2 kept for another reason, 2 kept, new, 2 kept, gone"
    )
