"""JUnit XML against Jenkins' schema."""

from collections import Counter
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lxml import etree

from fusectl.render.lint_formats import LintOptions, render_lint
from fusectl.report.lint import LintReport
from tests.formats import reports

SCHEMA = Path(__file__).with_name("schemas") / "junit-10.xsd"


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(SCHEMA)))


def _made(report: LintReport) -> bytes:
    made = render_lint(report, "junit", LintOptions())
    assert isinstance(made, bytes)
    return made


@pytest.mark.parametrize("name", ["empty", "mixed", "hostile", "many"])
def test_the_schema_holds(name: str) -> None:
    _schema().assertValid(etree.fromstring(_made(getattr(reports, name)())))


def test_the_schema_refuses_something() -> None:
    broken = _made(reports.mixed()).replace(b'<testcase name="', b'<testcase nom="', 1)
    assert not _schema().validate(etree.fromstring(broken))


@pytest.mark.parametrize("name", ["empty", "mixed", "hostile", "many"])
def test_counts_are_those_of_the_cases(name: str) -> None:
    report = getattr(reports, name)()
    root = ElementTree.fromstring(_made(report))
    for suite in root:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        for attribute, tag in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            assert suite.get(attribute) == str(sum(c.find(tag) is not None for c in cases))
    assert root.get("tests") == str(len(root.findall(".//testcase")))
    names = Counter((c.get("classname"), c.get("name")) for c in root.iter("testcase"))
    assert max(names.values()) == 1, "readers merge cases with equal names"


def test_each_kind_of_finding_has_its_outcome() -> None:
    root = ElementTree.fromstring(_made(reports.mixed()))
    found = [(c.get("name", "").split(":")[0], [e.tag for e in c]) for c in root.iter("testcase")]
    assert found == [
        ("fusion-lost", ["failure"]),
        ("unfused", ["system-out"]),
        ("fusion-gained", ["system-out"]),
        ("unfused", ["skipped"]),
        ("budget", ["failure"]),
        ("no findings", []),
        ("model-unusable", ["error"]),
    ]


def test_hostile_text_comes_back_as_text() -> None:
    root = ElementTree.fromstring(_made(reports.hostile()))
    told = {e.text or "" for e in root.iter("system-out")}
    assert any("]]></failure> is kept." in t for t in told)
    assert {e.tag for e in root.iter()} == {
        "testsuites", "testsuite", "testcase", "system-out", "skipped", "error",
    }  # fmt: skip
