"""No code of lint without a meaning."""

from typing import get_args

from fusectl.render.lint_codes import CODES, UNANSWERED
from fusectl.report.lint import Code


def test_every_code_has_a_meaning() -> None:
    assert tuple(CODES) == get_args(Code)
    assert set(CODES) >= UNANSWERED


def test_meanings_are_sentences() -> None:
    for meaning in CODES.values():
        assert not meaning.short.endswith(".")
        assert meaning.full.endswith(".")
