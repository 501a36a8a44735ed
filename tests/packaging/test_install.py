"""An installed fusectl reads the rules it was built with, a checkout those being edited."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

from fusectl import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SITE_PACKAGES = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
PRINT_RULES_ROOT = "from fusectl.tables.resolve import rules_root; print(rules_root().resolve())"


def run(*args: str | Path, cwd: Path, path: Sequence[str] = ()) -> str:
    done = subprocess.run(
        [sys.executable, *args],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_installed_wheel_reads_its_own_rules(tmp_path: Path) -> None:
    wheels, target, elsewhere = (tmp_path / name for name in ("wheels", "target", "elsewhere"))
    elsewhere.mkdir()
    run("-m", "pip", "wheel", "--no-deps", "--wheel-dir", wheels, ROOT, cwd=elsewhere)
    (wheel,) = wheels.glob("*.whl")
    run("-m", "pip", "install", "--no-deps", "--target", target, wheel, cwd=elsewhere)

    package = target / "fusectl"
    path = [str(target), *SITE_PACKAGES]
    assert __version__ in run("-m", "fusectl", "--version", cwd=elsewhere, path=path)
    assert "matmul-activation" in run("-m", "fusectl", "rules", "list", cwd=elsewhere, path=path)

    used = Path(run("-c", PRINT_RULES_ROOT, cwd=elsewhere, path=path).strip())
    assert used == (package / "_rules").resolve()
    assert files_below(used) == files_below(ROOT / "rules")
    assert (package / "py.typed").is_file()


def test_editable_install_reads_the_rules_of_the_checkout(tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    elsewhere.mkdir()
    run("-m", "pip", "install", "--no-deps", "--target", target, "--editable", ROOT, cwd=elsewhere)

    # Editable means a .pth file, which Python reads in site folders alone. -S leaves out the
    # environment's own, so that the install under test is the only way to the checkout.
    code = f"import site; site.addsitedir({str(target)!r}); {PRINT_RULES_ROOT}"
    used = Path(run("-S", "-c", code, cwd=elsewhere, path=SITE_PACKAGES).strip())
    assert used == ROOT / "rules"
