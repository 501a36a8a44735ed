"""Annotations as GitHub's runner reads them.

The reader below does what ActionCommand.TryParseV2 of actions/runner does (src/Runner.Common,
MIT): the first `::` after the one at the start ends the properties, which commas separate.
"""

from dataclasses import dataclass

from fusectl.render.lint_formats import LintOptions, render_lint
from fusectl.render.lint_words import paragraphs, title
from fusectl.report.lint import LintReport, Place
from tests.formats import reports


@dataclass
class Command:
    name: str
    properties: dict[str, str]
    data: str


def _read(line: str) -> Command:
    assert line.startswith("::")
    head, separator, data = line[2:].partition("::")
    assert separator
    name, _, properties = head.partition(" ")
    pairs = (p.split("=", 1) for p in properties.split(",") if p)
    found = {key: _unescape(value, {":": "%3A", ",": "%2C"}) for key, value in pairs}
    return Command(name, found, _unescape(data, {}))


def _unescape(text: str, more: dict[str, str]) -> str:
    for token, escape in {"\r": "%0D", "\n": "%0A", **more, "%": "%25"}.items():
        text = text.replace(escape, token)
    return text


def _commands(report: LintReport, folder: str = "") -> list[Command]:
    made = render_lint(report, "github", LintOptions(folder=folder))
    assert isinstance(made, str)
    return [_read(line) for line in made.splitlines()]


def test_a_clean_run_says_nothing() -> None:
    assert _commands(reports.empty()) == []


def test_every_finding_that_counts_arrives_whole_and_errors_lead() -> None:
    report = reports.mixed()
    counted = [f for f in report.findings if not f.suppressed]
    order = {"error": 0, "warning": 1, "info": 2}
    wanted = sorted(counted, key=lambda f: order[f.severity])
    found = _commands(report)
    assert [c.properties["title"] for c in found] == [title(f) for f in wanted]
    assert [c.data for c in found] == ["\n".join(paragraphs(f)) for f in wanted]
    assert [c.name for c in found] == ["error"] * 3 + ["warning", "notice"]


def test_hostile_names_arrive_as_they_are() -> None:
    report = reports.hostile()
    found = {c.data for c in _commands(report)}
    counted = [f for f in report.findings if not f.suppressed]
    assert {"\n".join(paragraphs(f)) for f in counted} <= found
    assert {c.name for c in _commands(report)} == {"warning"}


def test_places_are_seen_from_the_top_of_the_repository() -> None:
    places = [
        (c.properties["file"], c.properties["line"]) for c in _commands(reports.mixed(), "nets")
    ]
    assert places == [
        ("nets/fusion.lock.yaml", "7"),
        ("nets/fusectl.yaml", "30"),
        ("nets/fusectl.yaml", "1"),  # a finding without a place stands at the policy
        ("nets/models/net.onnxtxt", "12"),
        ("nets/fusion.lock.yaml", "7"),
    ]


def test_the_tenth_annotation_of_a_level_counts_those_that_github_drops() -> None:
    report = reports.many()
    errors = [c for c in _commands(report) if c.name == "error"]
    real = sum(f.severity == "error" for f in report.findings)
    assert len(errors) == real + 1
    assert errors[9].data == f"{real - 9} more in the log: fusion-lost {real - 9}"


def test_ten_annotations_are_all_shown() -> None:
    ten = [
        reports.finding("budget", "error", where=Place("fusectl.yaml", i), fingerprint=str(i))
        for i in range(1, 11)
    ]
    assert [c.properties["line"] for c in _commands(reports.report(*ten))] == list(
        map(str, range(1, 11))
    )
