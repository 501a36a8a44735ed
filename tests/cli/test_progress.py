"""Progress is shown on a terminal, once it has taken a while, and leaves nothing behind."""

import io
import sys
import time
from collections.abc import Callable

import pytest

from fusectl.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    return found


def _work(text: str, until: Callable[[], bool], seconds: float) -> None:
    with progress.progress("m\x1b[2J.onnx") as step:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not until():
            step(text)
            time.sleep(0.02)


def test_long_work(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    _work("some-rule", lambda: "some-rule" in terminal.getvalue(), 20)
    shown = terminal.getvalue()
    assert "m\\x1b[2J.onnx: some-rule" in shown
    assert "\x1b[2J" not in shown
    assert shown.endswith("\x1b[2K"), "the line is cleared at the end"


def test_short_work(terminal: Terminal) -> None:
    _work("some-rule", bool, 0.3)
    assert terminal.getvalue() == ""


def test_not_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    monkeypatch.setenv("FORCE_COLOR", "1")
    _work("some-rule", bool, 0.3)
    assert capsys.readouterr().err == ""
