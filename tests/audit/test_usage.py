"""What is said where the audit cannot begin, and that names of compilers have their place."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import fusectl
from fusectl import api
from fusectl.audit import adapters
from tests.audit import models
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]
PACKAGE = Path(fusectl.__file__).parent


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "pair.onnxtxt"
    path.write_text(models.PAIR, encoding="utf-8")
    return path


def refused(outcome: Outcome) -> str:
    assert outcome.code == 2, outcome
    assert outcome.stdout == b""
    (line,) = outcome.err.splitlines()
    return line


def test_a_missing_runtime_says_what_to_install(
    model: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fusectl.audit.run.installed", lambda adapter: False)
    line = refused(cli("audit", model, "--against", "openvino"))
    assert "OpenVINO is not installed: pip install 'fusectl[openvino]'" in line


def test_an_unknown_runtime_or_level(model: Path, cli: Cli) -> None:
    line = refused(cli("audit", model, "--against", "onnxruntme"))
    assert "unknown runtime 'onnxruntme'; did you mean onnxruntime?" in line
    pytest.importorskip("onnxruntime")
    line = refused(cli("audit", model, "--against", "onnxruntime", "--level", "99"))
    assert "no optimisation level '99'; its levels: extended, all" in line


def test_one_of_runtime_and_file(model: Path, cli: Cli) -> None:
    assert "name either a runtime" in refused(cli("audit", model))
    line = refused(cli("audit", model, "--against", "onnxruntime", "--truth", "edges.jsonl"))
    assert "name either a runtime" in line


def test_every_runtime_that_a_target_describes_has_an_adapter() -> None:
    described = {t.audit.runtime for t in map(api.load_target, api.targets()) if t.audit}
    assert described == set(adapters.names())


def test_no_target_and_no_compiler_is_named_outside_the_adapters() -> None:
    names = {*api.targets(), *adapters.names()} - {"ideal"}
    names |= {adapters.adapter(n).title for n in adapters.names()}
    found = re.compile(
        "|".join(rf"(?<![\w-]){re.escape(n)}(?![\w-])" for n in names), re.IGNORECASE
    )
    homes = (PACKAGE / "audit" / "adapters", PACKAGE / "runtime")
    for path in PACKAGE.rglob("*.py"):
        if not any(home in path.parents for home in homes):
            match = found.search(path.read_text(encoding="utf-8"))
            assert match is None, f"{path}: {match and match[0]}"
