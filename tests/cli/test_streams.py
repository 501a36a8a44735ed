"""What reaches a terminal, a pipe and a file."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from fusectl import api
from fusectl.cli.explain import FORMATS
from fusectl.render import FORMATS as RENDERED
from fusectl.report.schema import report_schema
from tests.cli.models import BAD, CHAIN, SHARED
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]
ROOT = Path(api.__file__).parents[1]


def on_terminal(*args: str | Path, **variables: str) -> bytes:
    """What the command line shows on a terminal."""
    outer, inner = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    env |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **variables}
    process = subprocess.Popen(
        [sys.executable, "-m", "fusectl", *map(str, args)],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env=env,
    )
    os.close(inner)
    shown = b""
    while True:
        try:
            piece = os.read(outer, 4096)
        except OSError:  # what Linux gives for the end
            break
        if not piece:
            break
        shown += piece
    os.close(outer)
    assert process.wait() == 0, shown
    return shown


def test_formats_are_those_of_the_renderer() -> None:
    assert set(FORMATS) == set(RENDERED)


@pytest.mark.parametrize("form", FORMATS)
def test_a_pipe_gets_no_control_characters(cli_process: Cli, form: str) -> None:
    outcome = cli_process("explain", CHAIN, "--target", "ideal", "--format", form, "--why")
    assert outcome.code == 0
    assert outcome.stderr == b""
    assert not set(outcome.stdout) & (set(range(32)) - {10})
    assert outcome.stdout.endswith(b"\n")


def test_colour_on_a_terminal_and_not_with_no_color() -> None:
    args = ("explain", SHARED, "--target", "ideal")
    assert b"\x1b[" in on_terminal(*args)
    plain = on_terminal(*args, NO_COLOR="1")
    assert b"\x1b" not in plain
    assert b"multi-user" in plain


def test_pages_are_rendered_on_a_terminal() -> None:
    shown = on_terminal("reasons", "multi-user")
    assert b"\x1b[" in shown
    assert b"## " not in shown
    assert b"\x1b" not in on_terminal("reasons", "multi-user", NO_COLOR="1")


def test_pages_are_plain_markdown_in_a_pipe(cli: Cli) -> None:
    outcome = cli("reasons", "multi-user")
    assert outcome.out.startswith("# multi-user\n")


@pytest.mark.parametrize("columns", [20, 40, 100])
def test_narrow(cli_process: Cli, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    outcome = cli_process("explain", CHAIN, "--target", "ideal", "--why")
    assert max(map(len, outcome.out.splitlines())) <= columns


def test_the_width_does_not_depend_on_the_terminal_of_the_caller(
    cli_process: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    outcome = cli_process("explain", CHAIN, "--target", "ideal")
    assert max(map(len, outcome.out.splitlines())) <= 80


@pytest.mark.parametrize("form", FORMATS)
def test_same_input_same_bytes(cli_process: Cli, form: str) -> None:
    args = ("explain", CHAIN, "--target", "ideal", "--format", form)
    assert cli_process(*args).stdout == cli_process(*args).stdout


@pytest.mark.parametrize("form", FORMATS)
def test_names_cannot_steer_a_terminal(cli: Cli, form: str) -> None:
    outcome = cli(
        "explain", BAD / "26-escape-in-name.onnx", "--target", "ideal", "--format", form, "--why"
    )
    assert outcome.code == 0
    assert b"\x1b" not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["expl\x1b[2Jain"],
        ["explain", "no\x1b[2J\nwhere.onnx"],
        ["explain", str(SHARED), "--target", "\x1b[2J"],
        ["explain", str(SHARED), "--target", "ideal", "--node", "\x9b2J"],
        ["explain", str(SHARED), "--target", "ideal", "--format", "\x1b[2J"],
    ],
)
def test_messages_cannot_steer_a_terminal(cli: Cli, args: list[str]) -> None:
    outcome = cli(*args)
    assert outcome.code == 2
    assert b"\x1b" not in outcome.stderr
    assert "\x9b" not in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_machine_formats_are_alone_on_standard_output(cli: Cli) -> None:
    outcome = cli("explain", SHARED, "--format", "json")
    jsonschema.validate(json.loads(outcome.stdout), report_schema())
    assert outcome.err == f"target {api.load_rules().defaults.target} (default)\n"


def test_the_first_line_names_the_default_target(cli: Cli) -> None:
    outcome = cli("explain", SHARED)
    assert f"target {api.load_rules().defaults.target}" in outcome.out
    assert "(default)" in "".join(outcome.out.splitlines(keepends=True)[:2])
    assert outcome.stderr == b""


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_gets_the_same_as_a_pipe(cli_process: Cli, tmp_path: Path, form: str) -> None:
    args = ("explain", SHARED, "--target", "ideal", "--format", form)
    outcome = cli_process(*args, "-o", tmp_path / "report")
    assert outcome.stdout == b""
    written = (tmp_path / "report").read_bytes()
    assert written == cli_process(*args).stdout


def test_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fusectl", "explain", "-", "--target", "ideal"],
        input=SHARED.read_bytes(),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.startswith(b"<stdin>: 3 nodes")


def test_a_poor_encoding_is_no_reason_to_fail() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fusectl", "explain", str(SHARED), "--target", "ideal"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout.isascii()
