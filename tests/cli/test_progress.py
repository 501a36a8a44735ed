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


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in the place of standard error. No fixture: pytest resets the streams."""
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


def test_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    shown_on = terminal(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    _work("some-rule", lambda: "some-rule" in shown_on.getvalue(), 20)
    shown = shown_on.getvalue()
    assert "m\\x1b[2J.onnx: some-rule" in shown
    assert "\x1b[2J" not in shown
    assert shown.endswith("\x1b[2K"), "the line is cleared at the end"


def test_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    shown_on = terminal(monkeypatch)
    _work("some-rule", bool, 0.3)
    assert shown_on.getvalue() == ""


def test_not_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    monkeypatch.setenv("FORCE_COLOR", "1")
    _work("some-rule", bool, 0.3)
    assert capsys.readouterr().err == ""


def _count(times: int, seconds: float) -> None:
    with progress.progress_bar("lint") as step:
        for number in range(times):
            step(f"{number}.onnx", times)
            time.sleep(seconds / times)


def test_many_models(monkeypatch: pytest.MonkeyPatch) -> None:
    shown_on = terminal(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    _count(5, 1.0)
    assert "5/5" in shown_on.getvalue()
    assert shown_on.getvalue().endswith("\x1b[2K"), "the line is cleared at the end"


def test_few_models(monkeypatch: pytest.MonkeyPatch) -> None:
    shown_on = terminal(monkeypatch)
    _count(5, 0.1)
    assert shown_on.getvalue() == ""


def test_many_models_and_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    _count(5, 0.1)
    assert capsys.readouterr().err == ""
