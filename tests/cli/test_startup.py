"""Starting is cheap: what a command does not need is not imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fusectl

HEAVY = ("onnx", "numpy", "rich", "yaml", "msgspec", "google")
PROBE = """
import sys
from fusectl.cli.main import run
code = run(sys.argv[1:])
loaded = {name.partition(".")[0] for name in sys.modules}
sys.stderr.write(",".join(sorted(loaded & set(%r))))
sys.exit(code)
"""


def imported(*args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE % (HEAVY,), *args],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(fusectl.__file__).parents[1])},
    )
    return set(done.stderr.split(",")) - {""}


@pytest.mark.parametrize(
    "args",
    [
        ["--version"],
        ["--help"],
        ["explain", "--help"],
        ["rules", "--help"],
        ["rules", "check", "--help"],
        ["targets", "show", "--help"],
        ["reasons", "--help"],
    ],
)
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    assert imported(*args) == set()


def test_reasons_need_no_model_libraries() -> None:
    assert not imported("reasons") & {"onnx", "numpy", "yaml"}


def test_machine_formats_need_no_rich(tmp_path: Path) -> None:
    model = Path(__file__).parents[1] / "cases" / "data" / "001-direct.onnxtxt"
    assert "rich" not in imported("explain", str(model), "--target", "ideal", "--format", "json")
