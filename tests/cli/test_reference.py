"""The generated reference speaks of every command, reason, check, rule and target."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fusectl import api
from fusectl.checks import CHECKS
from fusectl.cli import docs
from fusectl.cli.main import fusectl
from fusectl.errors import UsageError
from fusectl.reasons import REASONS
from fusectl.report.schema import report_schema

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The files as they would be generated now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(REFERENCE.parents[1])
        return dict(docs.generated())


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, group
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_every_command_and_option_is_documented() -> None:
    text = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    for path, command in commands(fusectl, "fusectl"):
        _, found, section = text.partition(f"\n## {path}\n")
        assert found, path
        section = section.partition("\n## ")[0]
        for parameter in command.params:
            assert all(name in section for name in parameter.opts if name.startswith("-")), path


def test_pages_name_everything(pages: dict[str, str]) -> None:
    assert all(f"\n### {slug}\n" in pages["reasons.md"] for slug in REASONS)
    own = [c for c in CHECKS.values() if c.run.__module__.startswith("fusectl.")]
    assert all(f"| `{c.name}` | `{c.reason}` |" in pages["checks.md"] for c in own)
    assert all(f"\n## {r.id}\n" in pages["rules.md"] for r in api.rules())
    assert all(f"\n## {name}\n" in pages["targets.md"] for name in api.targets())
    assert json.loads(pages["report.schema.json"]) == json.loads(json.dumps(report_schema()))


def test_pages_are_the_same_each_time(
    pages: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.chdir(REFERENCE.parents[1])
    assert dict(docs.generated()) == pages


def test_check_names_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(docs, "generated", lambda: iter([("checks.md", "new"), ("a.md", "b")]))
    docs.docs([], standalone_mode=False)
    with pytest.raises(SystemExit) as clean:
        docs.docs(["--check"], standalone_mode=False)
    assert clean.value.code == 0
    (tmp_path / "docs" / "reference" / "checks.md").write_text("old")
    capsys.readouterr()
    with pytest.raises(SystemExit) as stale:
        docs.docs(["--check"], standalone_mode=False)
    assert stale.value.code == 1
    assert capsys.readouterr().err.startswith("docs/reference/checks.md is stale")


def test_outside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="docs/reference"):
        list(docs.generated())


def test_headings_inside_fences_are_left_alone() -> None:
    text = "# a\n\n```onnx\n# comment\n```\n\n## b"
    assert docs._deeper(text, 2) == "### a\n\n```onnx\n# comment\n```\n\n#### b"
