"""What all tests share: the corpus of real models and two ways to run the command line."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run_cli import Outcome, run_in_process, run_process

CORPUS_VARIABLE = "FUSECTL_CORPUS"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder that holds `corpus/`, `cases/`, `bad/` and `truth/`."""
    value = os.environ.get(CORPUS_VARIABLE)
    if not value:
        pytest.skip(f"{CORPUS_VARIABLE} is not set: it names the folder with the corpus of models")
    folder = Path(value)
    if not (folder / "corpus").is_dir():
        pytest.skip(f"{CORPUS_VARIABLE}={value}: there is no folder `corpus` in it")
    return folder


@pytest.fixture(scope="session")
def cli() -> Callable[..., Outcome]:
    """Runs the command line inside this process: `cli("explain", path)`."""
    return run_in_process


@pytest.fixture(scope="session")
def cli_process() -> Callable[..., Outcome]:
    """Runs the command line as a process: `cli_process("explain", path, cwd=..., seconds=10)`."""
    return run_process
