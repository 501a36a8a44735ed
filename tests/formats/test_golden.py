"""The output of each format, read in review. FUSECTL_REGENERATE=1 writes the files anew."""

import os
from pathlib import Path

import pytest

from fusectl.reasons import page
from fusectl.render import render
from fusectl.render.comparison_formats import render_comparison
from fusectl.render.lint_formats import LINT_FORMATS, LintOptions, render_lint
from tests.formats import reports
from tests.render import examples

GOLDEN = Path(__file__).with_name("golden")
FORMATS = ("github", "gitlab", "junit", "markdown", "remarks", "sarif")
ENDINGS = {"gitlab": "json", "junit": "xml", "markdown": "md", "remarks": "yaml", "sarif": "json"}
OPTIONS = LintOptions(page, "nets")


def _hold(name: str, made: str | bytes) -> None:
    path = GOLDEN / name
    made = made if isinstance(made, bytes) else made.encode("utf-8")
    if os.environ.get("FUSECTL_REGENERATE"):
        path.write_bytes(made)
    assert path.read_bytes() == made


@pytest.mark.parametrize("form", FORMATS)
def test_output_is_the_reviewed_one(form: str) -> None:
    ending = ENDINGS.get(form, "txt")
    _hold(f"mixed-{form}.{ending}", render_lint(reports.mixed(), form, OPTIONS))


def test_comparison_is_the_reviewed_one() -> None:
    _hold("comparison-markdown.md", render_comparison(reports.comparison(), "markdown"))


def test_remarks_of_explain_are_the_reviewed_ones() -> None:
    _hold("explain-remarks.yaml", render(examples.three_blockers(), "remarks"))


@pytest.mark.parametrize("form", LINT_FORMATS)
@pytest.mark.parametrize("name", ["empty", "mixed", "hostile", "many"])
def test_the_same_report_gives_the_same_bytes(form: str, name: str) -> None:
    made = [render_lint(getattr(reports, name)(), form, OPTIONS) for _ in range(2)]
    assert made[0] == made[1]


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_steers_a_terminal(form: str) -> None:
    made = render_lint(reports.hostile(), form, OPTIONS)
    text = made if isinstance(made, str) else made.decode("utf-8")
    assert all(c.isprintable() or c == "\n" for c in text)
