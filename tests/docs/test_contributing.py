"""The guides of CONTRIBUTING.md, followed step by step, each in an empty folder.

A block behind `<!-- file: NAME -->` is written to that file, a later one over an earlier one. In a
block behind `<!-- run -->`, lines with `$` are commands, and what follows is what they print;
`<!-- run: exit 2 -->` says how the last one ends. FUSECTL_REGENERATE=1 writes it anew.
"""

import shlex
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from onnx import checker, parser

from tests.docs.test_readme import ROOT, Block, blocks, hold
from tests.run_cli import Outcome, run_process

PAGE = ROOT / "CONTRIBUTING.md"
GUIDES = ("Add a target", "Add a rule", "Add a check")


def _guides() -> Iterator[tuple[str, Block]]:
    """The blocks of the page, each with the section that it stands in."""
    text = PAGE.read_text(encoding="utf-8")
    for block in blocks(PAGE):
        if block.mark.partition(":")[0] in ("file", "run"):
            heading = text[: block.span[0]].rpartition("\n## ")[2].partition("\n")[0]
            yield heading, block


def _install(folder: Path, site: Path) -> None:
    """What pip does for a check: put the module and its entry points where Python finds them."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    name, version = project["project"]["name"], project["project"]["version"]
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, entries in project["project"]["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module in project["tool"]["hatch"]["build"]["targets"]["wheel"]["include"]:
        (site / module).write_bytes((folder / module).read_bytes())


def _command(line: str, folder: Path) -> Outcome:
    program, *args = shlex.split(line)
    if program == "pip":
        assert args[:2] == ["install", "-q"]
        _install(folder / args[2], folder.parent / "site")
        return Outcome(0, b"", b"")
    assert program == "fusectl", line
    return run_process(*args, cwd=folder)


def _write(block: Block, folder: Path) -> None:
    path = folder / block.argument
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def _run(block: Block, folder: Path) -> str:
    """The block as it should be: every command and what it prints."""
    commands = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
    assert commands
    wanted = int(block.argument.removeprefix("exit ") or 0)
    lines = []
    for number, command in enumerate(commands, 1):
        done = _command(command, folder)
        code = wanted if number == len(commands) else 0
        assert done.code == code, f"{command}: exit code {done.code}\n{done.out}{done.err}"
        lines.append(f"$ {command}\n{done.out}{done.err}")
    return "".join(lines)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, with room for what is installed."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


def test_the_guides_work_as_they_are_written(folder: Path) -> None:
    made: list[tuple[Block, str]] = []
    for guide, block in _guides():
        own = folder / guide
        own.mkdir(exist_ok=True)
        if block.mark.startswith("run"):
            made.append((block, _run(block, own)))
        else:
            _write(block, own)
    hold(PAGE, made)


def test_targets_and_rules_need_no_python() -> None:
    kinds = {guide: {b.kind for g, b in _guides() if g == guide and b.kind} for guide in GUIDES}
    assert kinds["Add a target"] == kinds["Add a rule"] == {"yaml", "onnx"}
    assert "python" in kinds["Add a check"]


def test_models_of_the_guides_are_valid() -> None:
    texts = [b.text for _, b in _guides() if b.kind == "onnx"]
    assert texts
    for text in texts:
        model = parser.parse_model(text)
        checker.check_model(model, full_check=True)
        assert all(node.name for node in model.graph.node)
        assert len(model.graph.node) == text.count("  [")


def test_a_variant_answers_otherwise() -> None:
    """The point of the step about `extends`: one model, two targets, two answers."""
    shown = "".join(b.text for g, b in _guides() if g == "Add a target")
    assert "fuse conv-activation" in shown or "✓ FUSE" in shown
    assert "unsupported-grouping" in shown


def test_the_check_of_the_guide_has_three_answers(folder: Path) -> None:
    """Holds, fails, unknown; registered in a process of its own, for the registry is global."""
    for guide, block in _guides():
        if guide == "Add a check" and block.mark.startswith("file"):
            _write(block, folder)
    _install(folder / "lanes", folder / "site")
    for dims, told in (("2,16", "fuse"), ("2,12", "keep [shape]"), ("2,n", "keep [shape?]")):
        text = (
            '<ir_version: 8, opset_import: ["" : 17]>\n'
            f"g (float[{dims}] x, float[{dims}] b) => (float[{dims}] y) "
            "{ [sum] a = Add(x, b) [act] y = Tanh(a) }"
        )
        (folder / "m.onnxtxt").write_text(text, encoding="utf-8")
        done = run_process(
            "explain", "m.onnxtxt", "--target", "ideal", "--rules", "lanes.yaml",
            "--rule", "laned-sum", "--skip", "arithmetic-activation", "--format", "concise",
            cwd=folder,
        )  # fmt: skip
        assert f"a -> act: {told} laned-sum" in done.out, done.out + done.err


def test_layers_are_those_of_the_import_contract() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = text.partition("## How the code is laid out")[2].partition("\n## ")[0]
    contract = (ROOT / ".importlinter").read_text(encoding="utf-8")
    layers = contract.partition("layers =\n")[2].partition("\n#")[0].split("\n")
    # Those of one line stand beside each other; those in brackets need not be there yet.
    order = [[n.strip(" ()") for n in line.split("|")] for line in reversed(layers) if line.strip()]
    there = [[n for n in names if _exists(n)] for names in order]
    places = [[listed.index(f"`fusectl/{n}") for n in names] for names in there if names]
    assert all(max(a) < min(b) for a, b in pairwise(places))


def _exists(layer: str) -> bool:
    found = (ROOT / "fusectl" / layer).is_dir() or (ROOT / "fusectl" / f"{layer}.py").is_file()
    return found and layer != "__main__"


def test_commands_of_ci_are_listed() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    steps = [line.partition("step ")[2].strip("'") for line in ci.splitlines() if "step " in line]
    named = [s for s in steps if s and s not in ("install", "()") and "{" not in s]
    assert named
    assert all(f"| {step} |" in page for step in named)
