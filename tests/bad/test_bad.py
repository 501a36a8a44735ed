"""Broken inputs: each gets a message that a person can act on, never a traceback, never a hang."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.run_cli import Outcome

DATA = Path(__file__).parent / "data"
SECONDS = 10.0
PEAK_BYTES = 500_000_000
ESCAPE = b"\x1b"

Kind = Literal["model", "rules", "target", "rules-test"]


class Bad(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `data/expect.yaml`; the header of that file says what the keys mean."""

    file: str
    kind: Kind
    exit: int | list[int]
    says: str
    mentions_one_of: list[str]
    mentions_all: list[str] = []
    never_mentions: list[str] = []
    says_unknown: bool = False
    note: str | None = None

    @property
    def codes(self) -> list[int]:
        """The exit codes that are acceptable."""
        return [self.exit] if isinstance(self.exit, int) else self.exit

    def arguments(self) -> list[str | Path]:
        """The command line that is given the file."""
        path = DATA / self.file
        match self.kind:
            case "model":
                return ["explain", path, "--target", "ideal"]
            case "rules":
                return ["rules", "check", path]
            case "target":
                return ["targets", "check", path]
            case "rules-test":
                return ["rules", "test", path]


ENTRIES = msgspec.yaml.decode((DATA / "expect.yaml").read_bytes(), type=list[Bad])


def mentions(message: str, word: str) -> bool:
    """Whether the message has the word, ignoring case.

    A short one has to stand alone: values are called `u` here, and any message has an `u` in it.
    A line number must not be the end of a longer one.
    """
    short = len(word) <= 2
    before = r"(?<!\w)" if (short and word[0].isalnum()) or word[0].isdigit() else ""
    after = r"(?!\w)" if short and word[-1].isalnum() else ""
    return re.search(before + re.escape(word) + after, message, re.IGNORECASE) is not None


def without_name(message: str, file: str) -> str:
    """The message without the path: a file that is called `41-tab.yaml` says nothing about tabs."""
    return message.replace(str(DATA / file), "").replace(file, "")


def check_refusal(entry: Bad, outcome: Outcome) -> None:
    """Exit 2: the message names the file and the fault, at its place, in as few lines as it can."""
    message = outcome.err
    assert entry.file in message, message
    text = without_name(message, entry.file)
    if entry.mentions_one_of:
        assert any(mentions(text, word) for word in entry.mentions_one_of), message
    assert all(mentions(text, word) for word in entry.mentions_all), message
    if entry.kind == "model":
        assert len([line for line in message.split("\n") if line.strip()]) == 1, message
    else:
        assert re.search(re.escape(entry.file) + r":\d+:\d+", message), message


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.file for entry in ENTRIES])
def test_bad_input(entry: Bad, cli_process: Callable[..., Outcome], tmp_path: Path) -> None:
    outcome = cli_process(*entry.arguments(), cwd=tmp_path, seconds=SECONDS)
    everything = outcome.out + outcome.err
    assert outcome.code in entry.codes, everything
    assert "Traceback" not in everything
    assert ESCAPE not in outcome.stdout + outcome.stderr
    assert outcome.peak_bytes is None or outcome.peak_bytes < PEAK_BYTES
    assert not any(word in everything for word in entry.never_mentions), everything
    assert not list(tmp_path.iterdir()), "nothing may be written, by us or by the input"
    if outcome.code == 2:
        check_refusal(entry, outcome)
    elif entry.says_unknown:
        assert mentions(outcome.out, "unknown"), outcome.out


def test_every_file_has_its_entry() -> None:
    files = {path.name for path in DATA.iterdir()} - {"expect.yaml"}
    assert files == {entry.file for entry in ENTRIES}


@pytest.mark.parametrize(
    ("message", "word", "expected"),
    [
        ("a value is produced twice: u", "u", True),
        ("value 'u' is produced twice", "u", True),
        ("unusable", "u", False),
        ("bad.yaml:14:3: found a character", "4:", False),
        ("bad.yaml:4:3: found a character", "4:", True),
        ("the tag !!python/object is not allowed", "!!", True),
        ("the nodes are unsorted", "sorted", True),
        ("bytes are no utf-8", "UTF-8", True),
    ],
)
def test_mentions(message: str, word: str, expected: bool) -> None:
    assert mentions(message, word) is expected
