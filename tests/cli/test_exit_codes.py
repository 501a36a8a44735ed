"""Exit codes, and one line on standard error for what a person can put right."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fusectl import __version__, api
from fusectl.errors import did_you_mean
from tests.cli.models import BAD, SHARED
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]


def refused(outcome: Outcome) -> str:
    """The one line that an unusable command line gets."""
    assert outcome.code == 2, outcome
    assert outcome.stdout == b""
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    return lines[0]


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"fusectl {__version__}\n"


@pytest.mark.parametrize("args", [["--help"], ["explain", "--help"], ["rules", "test", "-h"]])
def test_help(cli: Cli, args: list[str]) -> None:
    outcome = cli(*args)
    assert outcome.code == 0
    assert outcome.out.startswith("Usage: fusectl")
    assert outcome.stderr == b""


def test_without_arguments_the_help_is_an_error(cli: Cli) -> None:
    outcome = cli()
    assert outcome.code == 2
    assert "Usage: fusectl" in outcome.err
    assert outcome.stdout == b""


def test_explained_is_zero_also_where_nothing_fuses(cli: Cli) -> None:
    outcome = cli("explain", SHARED, "--target", "ideal")
    assert outcome.code == 0
    assert outcome.stderr == b""
    assert "multi-user" in outcome.out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["explain", SHARED, "--target", ""], "--target is empty"),
        (["explain", SHARED, "--node="], "--node is empty"),
        (["explain", ""], "an argument is empty"),
        (["audit", SHARED, "--against", "onnxruntime", "--timeout", "nan"], "no number of seconds"),
        (["lint", SHARED, "--timeout", "inf"], "no number of seconds"),
        (["explian"], "no such command 'explian'; did you mean explain?"),
        (["explain"], "Missing argument 'MODEL'"),
        (["explain", SHARED, "--formt", "json"], "--format"),
        (["explain", SHARED, "--format", "jsn"], "'jsn' is not one of"),
        (["explain", SHARED, "--target", "ideall"], "did you mean ideal?"),
        (["explain", SHARED, "--target", "ideal", "--rule", "matmul-actvation"], "did you mean"),
        (["explain", SHARED, "--target", "ideal", "--skip", "matmul-actvation"], "did you mean"),
        (["explain", SHARED, "--target", "ideal", "--reason", "multi_user"], "multi-user?"),
        (["explain", SHARED, "--target", "ideal", "--node", "acr"], "did you mean act?"),
        (["explain", SHARED, "--target", "ideal", "--edge", "uu"], "has no value 'uu'"),
        (["explain", SHARED, "--target", "ideal", "--edge", "u:acr"], "has no consumer 'acr'"),
        (["explain", SHARED, "--target", "ideal", "-o", "/nowhere/x"], "/nowhere/x"),
        (["explain", "nowhere.onnx", "--target", "ideal"], "nowhere.onnx"),
        (["explain", SHARED, "--rules", "nowhere"], "nowhere"),
        (["rules", "show", "matmul-actvation"], "did you mean matmul-activation?"),
        (["targets", "show", "ideall"], "did you mean ideal?"),
        (["reasons", "multi_user"], "did you mean multi-user?"),
        (["rules", "check", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_unusable(cli: Cli, args: list[str], says: str) -> None:
    line = refused(cli(*args))
    assert line.startswith("fusectl: ")
    assert says in line


def test_text_models_are_refused_at_line_and_column(cli: Cli) -> None:
    path = BAD / "31-syntax-error.onnxtxt"
    assert refused(cli("explain", path, "--target", "ideal")).startswith(f"{path}:5:3: ")


def test_every_problem_of_a_file_has_its_line(cli: Cli) -> None:
    path = BAD / "44-wrong-types.yaml"
    outcome = cli("rules", "check", path)
    lines = outcome.err.splitlines()
    assert outcome.code == 2
    assert [line.split(": ")[0] for line in lines] == [f"{path}:4:11", f"{path}:9:14"]


def test_problems_of_all_files(cli: Cli) -> None:
    first, second = BAD / "52-unknown-reason.yaml", BAD / "53-no-examples.yaml"
    outcome = cli("rules", "check", first, second)
    assert outcome.code == 2
    assert [first.name in line for line in outcome.err.splitlines()] == [True, False]


def test_a_file_as_a_whole_has_a_place(cli: Cli) -> None:
    path = BAD / "56-empty.yaml"
    assert refused(cli("rules", "check", path)) == f"{path}:1:1: the file is empty"


def _fails(error: BaseException) -> Callable[..., object]:
    def fail(*args: object, **options: object) -> object:
        raise error

    return fail


def test_a_bug(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "explain", _fails(RuntimeError("ouch \x1b[2J")))
    monkeypatch.delenv("FUSECTL_DEBUG", raising=False)
    outcome = cli("explain", SHARED, "--target", "ideal")
    assert outcome.code == 3
    assert outcome.stdout == b""
    assert "bug in fusectl" in outcome.err
    assert "report it" in outcome.err
    assert "RuntimeError" in outcome.err
    assert "Traceback" not in outcome.err
    assert b"\x1b" not in outcome.stderr


def test_the_traceback_of_a_bug_is_shown_on_request(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "explain", _fails(RuntimeError("ouch")))
    monkeypatch.setenv("FUSECTL_DEBUG", "1")
    assert "Traceback" in cli("explain", SHARED, "--target", "ideal").err


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (MemoryError(), 2), (BrokenPipeError(), 141)]
)
def test_what_comes_from_outside(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    monkeypatch.setattr(api, "explain", _fails(error))
    outcome = cli("explain", SHARED, "--target", "ideal")
    assert outcome.code == code
    assert "Traceback" not in outcome.err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
@pytest.mark.parametrize(
    "args", [["--help"], ["reasons"], ["explain", str(SHARED), "--target", "ideal"]]
)
def test_a_broken_pipe_is_quiet(args: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "fusectl", *args],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(api.__file__).parents[1])},
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_full_disk(form: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fusectl", "explain", str(SHARED), "--format", form],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path(api.__file__).parents[1])},
        )
    assert done.returncode == 2
    assert b"standard output cannot be written" in done.stderr


def test_the_hint_is_the_closest_name() -> None:
    assert did_you_mean("explian", ["explain", "rules"]) == "did you mean explain?"


@pytest.mark.parametrize(
    ("closed", "arguments", "code"),
    [
        (">&-", "explain samples/accept.onnxtxt", 2),
        ("<&-", "explain -", 2),
        ("2>&- >/dev/null", "explain samples/accept.onnxtxt", 0),
        ("2>&-", "explain nope.onnx", 2),
        (">/dev/full", "--help", 2),
    ],
)
def test_closed_streams_are_no_bugs(closed: str, arguments: str, code: int) -> None:
    if "full" in closed and not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    command = f"{sys.executable} -m fusectl {arguments} {closed}"
    root = Path(api.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) <= 1
