"""No code of lint without a meaning."""

from typing import get_args

from fusectl.lint.codes import CODES as POLICY
from fusectl.render.lint_codes import CODES, UNANSWERED
from fusectl.report.lint import Code


def test_every_code_has_a_meaning() -> None:
    assert tuple(CODES) == get_args(Code)
    assert set(CODES) >= UNANSWERED


def test_meanings_are_sentences() -> None:
    for meaning in CODES.values():
        assert not meaning.short.endswith(".")
        assert meaning.full.endswith(".")


def test_severities_are_those_of_an_empty_policy() -> None:
    """But that of ``unfused``, which counts only if somebody says how much."""
    usual = {code: meaning.usual for code, meaning in CODES.items()}
    assert usual == {code: s for code, (s, _) in POLICY.items()} | {"unfused": "warning"}
