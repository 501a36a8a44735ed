"""SARIF against the schema of the standard, what GitHub asks for, and a reader of others."""

import csv
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from fusectl.reasons import page
from fusectl.render.lint_formats import LintOptions, render_lint
from fusectl.report.lint import LintReport, Place
from tests.formats import reports

SCHEMA = Path(__file__).with_name("schemas") / "sarif-schema-2.1.0.json"
NAMES = ("empty", "mixed", "hostile", "many")


@cache
def _validator() -> jsonschema.Draft4Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


def _log(report: LintReport, folder: str = "") -> Any:
    return json.loads(render_lint(report, "sarif", LintOptions(page, folder)))


def _run(report: LintReport, folder: str = "") -> Any:
    return _log(report, folder)["runs"][0]


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_of_the_standard_holds(name: str) -> None:
    errors = list(_validator().iter_errors(_log(getattr(reports, name)())))
    assert not errors, errors[0]


def test_the_schema_refuses_something() -> None:
    log = _log(reports.mixed())
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert list(_validator().iter_errors(log))


@pytest.mark.parametrize("name", NAMES)
def test_what_github_needs(name: str) -> None:
    """A relative URI, a line from 1 on, a message, a rule, and one fingerprint a result."""
    run = _run(getattr(reports, name)())
    rules = run["tool"]["driver"]["rules"]
    hashes = []
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        uri = place["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
        assert not uri.startswith("/")
        assert place["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        assert place["region"]["startLine"] >= 1
        assert result["message"]["text"]
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        hashes.append((result["ruleId"], result["partialFingerprints"]["primaryLocationLineHash"]))
    assert len(set(hashes)) == len(hashes)


def test_rules_are_described_once_with_the_page_of_their_reason() -> None:
    rules = {r["id"]: r for r in _run(reports.mixed())["tool"]["driver"]["rules"]}
    assert list(rules) == sorted(rules)
    assert rules["unfused/multi-user"]["help"]["markdown"] == page("multi-user").strip()
    assert rules["unfused/multi-user"]["properties"]["tags"] == ["fusion", "multi-user"]
    assert "Why it is a boundary" in rules["unfused/multi-user"]["help"]["text"]
    assert all(r["fullDescription"]["text"] and r["help"]["text"] for r in rules.values())


def test_a_suppressed_result_says_why_and_where() -> None:
    results = _run(reports.mixed(), "nets")["results"]
    held = [s for r in results for s in r["suppressions"]]
    assert [(s["kind"], s["status"], s["justification"]) for s in held] == [
        ("external", "accepted", "the debug output goes in June")
    ]
    place = held[0]["location"]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "nets/fusectl.yaml"
    assert place["region"] == {"startLine": 21, "startColumn": 5}
    assert held[0]["properties"] == {"expires": "2026-12-31"}
    assert all("suppressions" in r for r in results), "all results have it, or none"


def test_nodes_and_values_are_logical_locations_with_their_scope() -> None:
    found = _run(reports.mixed())["results"][1]["locations"][0]["logicalLocations"]
    assert found == [
        {"name": "v", "fullyQualifiedName": "if_12.then_branch::v", "kind": "variable"},
        {"name": "mm2", "fullyQualifiedName": "if_12.then_branch::mm2", "kind": "node"},
        {"name": "act2", "fullyQualifiedName": "if_12.then_branch::act2", "kind": "node"},
    ]


def test_a_path_survives_its_uri() -> None:
    path = 'models/50% größe #1?/a b"[x].onnxtxt'
    finding = reports.finding("budget", "error", where=Place(path, 3))
    place = _run(reports.report(finding))["results"][0]["locations"][0]["physicalLocation"]
    assert unquote(place["artifactLocation"]["uri"]) == path


def test_a_path_outside_the_repository_claims_no_base() -> None:
    finding = reports.finding("budget", "error", where=Place("../elsewhere/fusectl.yaml", 3))
    place = _run(reports.report(finding), "nets/../..")["results"][0]["locations"][0]
    assert "uriBaseId" not in place["physicalLocation"]["artifactLocation"]


def test_braces_and_links_in_a_message_are_text() -> None:
    finding = reports.finding("budget", "error", message="{0} feeds [x](1)")
    text = _run(reports.report(finding))["results"][0]["message"]["text"]
    assert text == "{{0}} feeds [x] (1)."


def test_a_model_without_an_answer_makes_the_run_unsuccessful() -> None:
    good, bad = (_run(r)["invocations"][0] for r in (reports.empty(), reports.mixed()))
    assert good["executionSuccessful"] is True
    assert bad["executionSuccessful"] is False
    assert bad["toolExecutionNotifications"][0]["message"]["text"].startswith("models/torn.onnx: ")


@pytest.mark.slow
def test_a_reader_of_others_counts_the_same(tmp_path: Path) -> None:
    """sarif-tools finds each result with its level, rule, file and line."""
    pytest.importorskip("sarif", reason="sarif-tools is not installed")
    path = tmp_path / "found.sarif"
    made = render_lint(reports.mixed(), "sarif", LintOptions(page))
    path.write_bytes(made if isinstance(made, bytes) else made.encode())
    command = [sys.executable, "-m", "sarif", "csv", "--output", str(tmp_path / "o.csv"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        rows = [(r["Severity"], r["Code"], r["Location"], r["Line"]) for r in csv.DictReader(file)]
    assert rows == [
        ("error", "budget", "fusectl.yaml", "30"),
        ("error", "fusion-lost", "fusion.lock.yaml", "7"),
        ("error", "model-unusable", "fusectl.yaml", "1"),
        ("warning", "unfused/multi-user", "models/net.onnxtxt", "12"),
        ("warning", "unfused/multi-user", "fusion.lock.yaml", "7"),
        ("note", "fusion-gained", "fusion.lock.yaml", "7"),
    ]
