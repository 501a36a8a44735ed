"""The renderers' output, read in review. FUSECTL_REGENERATE=1 writes the files anew."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from fusectl.render import Options, render
from fusectl.render.text import render_text
from tests.render import examples

GOLDEN = Path(__file__).with_name("golden")
SMALL = (
    "single_blocker", "three_blockers", "chain", "claimed", "near_miss", "requantize", "unknown",
    "no_candidates", "all_fused", "hostile", "kernels",
)  # fmt: skip

CASES: dict[str, tuple[str, str, Options]] = {
    **{name: (name, "text", Options()) for name in (*SMALL, "encoder", "resnet")},
    "single_blocker-60": ("single_blocker", "text", Options(width=60)),
    "three_blockers-200": ("three_blockers", "text", Options(width=200)),
    "encoder-60": ("encoder", "text", Options(width=60)),
    "encoder-200": ("encoder", "text", Options(width=200)),
    "three_blockers-why": ("three_blockers", "text", Options(why=True)),
    "chain-why": ("chain", "text", Options(why=True)),
    "resnet-full": ("resnet", "text", Options(full=True)),
    "no_candidates-uncovered": ("no_candidates", "text", Options(uncovered=True)),
    "unknown-default": ("unknown", "text", Options(default_target=True)),
    **{f"{name}-concise": (name, "concise", Options()) for name in ("hostile", "unknown", "chain")},
    **{
        f"{name}-markdown": (name, "markdown", Options())
        for name in ("hostile", "encoder", "claimed", "kernels", "hostile_kernels")
    },
    "kernels-60": ("kernels", "text", Options(width=60)),
    "kernels-why": ("kernels", "text", Options(why=True)),
    "chain-json": ("chain", "json", Options()),
    "chain-jsonl": ("chain", "jsonl", Options()),
}


def _hold(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("FUSECTL_REGENERATE"):
        path.write_bytes(text.encode("utf-8"))
    assert path.read_bytes().decode("utf-8") == text


@pytest.mark.parametrize("name", CASES)
def test_output_is_the_reviewed_one(name: str) -> None:
    example, format, options = CASES[name]
    made = render(getattr(examples, example)(), format, options)
    _hold(name, made if isinstance(made, str) else made.decode("utf-8"))


def test_colour_is_the_reviewed_one() -> None:
    file = io.StringIO()
    console = Console(
        file=file, width=80, force_terminal=True, color_system="standard", no_color=False
    )
    render_text(examples.chain(), console)
    _hold("chain-colour", file.getvalue().replace("\x1b", "<ESC>"))


def test_an_ascii_terminal_gets_ascii() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    console = Console(file=file, width=80, color_system=None)
    render_text(examples.three_blockers(), console, Options(why=True))
    file.flush()
    _hold("three_blockers-ascii", raw.getvalue().decode("ascii"))


def test_every_golden_file_has_a_case() -> None:
    extra = {"chain-colour", "three_blockers-ascii"}
    assert {p.stem for p in GOLDEN.glob("*.txt")} == set(CASES) | extra
