"""The README and the guides: what they show is what the program prints, what they explain exists.

A block behind `<!-- output: COMMAND -->` is the output of that command at the top of the checkout,
at 80 columns and without colour; `<!-- output: python -->` is that of the last block behind
`<!-- python -->`. `<!-- exit 1: COMMAND -->` is a command that ends with that code, and a block
behind `<!-- file: NAME -->` is put there before the commands below it run. FUSECTL_REGENERATE=1
writes the blocks anew.
"""

import contextlib
import dataclasses
import inspect
import io
import os
import re
import shlex
import shutil
import textwrap
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fusectl import api
from fusectl.errors import Span
from fusectl.lint.policy import Policy
from fusectl.lint.read import read_policy
from fusectl.lint.schema import keys
from fusectl.reasons import REASONS
from fusectl.render.matters import _OTHERS
from fusectl.report import types as records
from fusectl.tables import schema, target_schema
from fusectl.tables.catalog import load_operators
from fusectl.yamlsrc import Reader, compose
from tests.run_cli import Outcome, run_in_process

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(GUIDE.glob("*.md"))]
SHOWN = [ROOT / "README.md", *sorted(GUIDE.glob("*.md"))]
FIRST_SCREEN = 50
RESERVED = {"ledger"}
"""Fields of the report that nothing fills yet."""

MARKED = re.compile(
    r"^<!-- (?P<mark>[^\n]+) -->\n```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
KEYS = re.compile(r"^<!-- keys: (\w+) -->\n((?:\|.*\n)+)", re.M)
Cli = Callable[..., Outcome]


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """A fenced block with the comment in front of it."""

    mark: str
    kind: str
    text: str
    span: tuple[int, int]

    @property
    def argument(self) -> str:
        """What stands behind the mark's colon."""
        return self.mark.partition(": ")[2]


def blocks(page: Path) -> list[Block]:
    """The marked blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(m["mark"], m["kind"], m["text"], m.span("text")) for m in MARKED.finditer(text)]


def hold(page: Path, made: list[tuple[Block, str]]) -> None:
    """Compare blocks with what they should be, or write them where that is asked for."""
    if os.environ.get("FUSECTL_REGENERATE"):
        text = page.read_text(encoding="utf-8")
        for block, new in reversed(made):
            start, end = block.span
            text = text[:start] + new + text[end:]
        page.write_bytes(text.encode("utf-8"))
        return
    for block, new in made:
        assert new == block.text, f"{page.name}: {block.mark}"


def fragments(page: Path, mark: str) -> Iterator[tuple[str, str]]:
    """The YAML blocks behind a mark: its argument and the text."""
    for block in blocks(page):
        if block.mark.partition(":")[0] == mark:
            yield block.argument, block.text


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the samples, where commands may write; 80 columns wide and without colour."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def printed(command: str, code: int = 0) -> str:
    """What a command of a page prints: standard output, then standard error."""
    program, *args = shlex.split(command)
    assert program == "fusectl", command
    done = run_in_process(*args)
    assert done.code == code, f"{command}: exit code {done.code}\n{done.err}"
    return done.out + done.err


def executed(code: str) -> str:
    """What a block of Python prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<page>", "exec"), {"__name__": "page"})
    return out.getvalue()


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_output_is_what_the_program_prints(page: Path, checkout: Path) -> None:
    made: list[tuple[Block, str]] = []
    python = ""
    for block in blocks(page):
        if block.mark == "python":
            python = block.text
        elif block.mark == "output: python":
            made.append((block, executed(python)))
        elif block.mark.startswith("output: "):
            made.append((block, printed(block.argument)))
        elif block.mark.startswith("exit "):
            made.append((block, printed(block.argument, int(block.mark.split()[1][:-1]))))
        elif block.mark.startswith("file: "):
            (checkout / block.argument).write_text(block.text, encoding="utf-8")
    hold(page, made)


def _commands(page: Path, mark: str) -> list[str]:
    """The steps of the one command behind a mark."""
    found = [b for b in blocks(page) if b.mark == mark]
    assert len(found) == 1, f"one block behind <!-- {mark} -->"
    (line,) = found[0].text.splitlines()
    return line.split(" && ")


def test_two_commands_set_up_a_fresh_machine(checkout: Path) -> None:
    readme = ROOT / "README.md"
    main, tests = _commands(readme, "main"), _commands(readme, "tests")
    assert main[0] == tests[0] == "python3 -m venv .venv"
    assert main[1] == ".venv/bin/pip install -q -e ."
    assert tests[1:] == [
        ".venv/bin/pip install -q -e '.[test,runtime]'",
        ".venv/bin/python -m pytest -q -n 2",
    ]
    explained = main[2].removeprefix(".venv/bin/")
    assert f"output: {explained}" in {b.mark for b in blocks(readme)}, "its output stands below"


def test_first_screen_has_both_commands_and_an_output() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    top = "\n".join(text.splitlines()[:FIRST_SCREEN])
    assert all(f"<!-- {mark} -->" in top for mark in ("main", "tests"))
    assert "<!-- output: " in top


def test_every_sample_is_walked_through() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"<!-- output: fusectl explain samples/(\S+)", readme))
    assert explained == {path.name for path in (ROOT / "samples").glob("*.onnxtxt")}


def test_every_target_is_listed() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", readme, re.M) == sorted(
        api.targets(), key=lambda name: readme.index(f"| `{name}` |")
    )


def _slug(heading: str) -> str:
    """The anchor that a heading gets on the usual forges."""
    words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return words.strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        aim = (page.parent / name).resolve() if name else page
        assert aim.exists(), f"{page.name}: {link}"
        if anchor:
            headings = HEADING.findall(FENCE.sub("", aim.read_text(encoding="utf-8")))
            assert anchor in {_slug(h) for h in headings}, f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_reasons_and_commands_that_are_named_exist(page: Path, cli: Cli) -> None:
    text = page.read_text(encoding="utf-8")
    assert not set(re.findall(r"fusectl reasons ([a-z][a-z-]*)", text)) - set(REASONS)
    for command in set(re.findall(r"fusectl ((?:rules|targets) \w+|explain|lint|compare)\b", text)):
        assert cli(*command.split(), "--help").code == 0, command


def test_every_line_of_the_text_is_explained() -> None:
    page = (GUIDE / "reading.md").read_text(encoding="utf-8")
    assert all(f"`{words}`" in page for _, words in _OTHERS)


def test_records_have_the_fields_that_the_guide_lists() -> None:
    page = (GUIDE / "api.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([a-z_]+,[^|]+) \|$", page, re.M)
    assert len(rows) > 3
    for name, listed in rows:
        fields = re.sub(r" \([^)]*\)", "", listed).split(", ")
        assert set(fields) == set(getattr(records, name).__struct_fields__) - RESERVED, name


def test_explain_has_the_arguments_that_the_guide_lists() -> None:
    page = (GUIDE / "api.md").read_text(encoding="utf-8")
    code = page.partition("```python\ndef explain(")[2].partition("```")[0]
    listed = re.findall(r"^    (\w+):", code, re.M)
    assert listed == list(inspect.signature(api.explain).parameters)
    assert all(f"| `{name}` |" in page for name in listed)


def _schema_classes() -> dict[str, type]:
    return {
        name: kind
        for module in (schema, target_schema)
        for name, kind in vars(module).items()
        if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
        if isinstance(kind, type)
    }


def _keys(kind: type) -> list[str]:
    """The keys that the reader of YAML takes for a class of the schema."""
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    return [f.metadata.get("key", f.name) for f in fields if hints[f.name] is not Span]


def _tables() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for page in sorted(GUIDE.glob("*.md")):
        for name, rows in KEYS.findall(page.read_text(encoding="utf-8")):
            assert name not in found, f"{name} is explained twice"
            found[name] = re.findall(r"^\| `(\w+)` \|", rows, re.M)
    return found


def test_every_key_of_the_schema_is_explained() -> None:
    classes, tables = _schema_classes(), _tables()
    named = {n for n, k in classes.items() if _keys(k) and n not in {"PathDoc", "Range"}}
    assert named <= set(tables) <= set(classes), "each class of the schema has its table"
    for name, explained in tables.items():
        assert sorted(explained) == sorted(_keys(classes[name])), name


def test_choices_of_the_schema_are_named() -> None:
    """Every word that a key may have stands in the row that explains the key."""
    guide = "".join(page.read_text(encoding="utf-8") for page in GUIDE.glob("*.md"))
    for name, kind in _schema_classes().items():
        for key, hint in typing.get_type_hints(kind).items():
            row = next((r for r in guide.splitlines() if r.startswith(f"| `{key}` |")), "")
            missing = [w for w in _words(hint) if w and f"`{w}`" not in guide]
            assert not missing, f"{name}: {key}: {missing} ({row})"


def _words(hint: object) -> Iterator[str]:
    if typing.get_origin(hint) is typing.Literal:
        yield from typing.get_args(hint)
    elif isinstance(hint, types.UnionType | types.GenericAlias) or typing.get_origin(hint):
        for inner in typing.get_args(hint):
            yield from _words(inner)


def _target(path: Path, cli: Cli, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    done = cli("targets", "check", path)
    assert done.code == 0, f"{text}\n{done.err}"


def test_targets_of_the_guide_are_valid(tmp_path: Path, cli: Cli) -> None:
    whole = [text for _, text in fragments(GUIDE / "targets.md", "target")]
    assert len(whole) > 1
    for number, text in enumerate(whole):
        _target(tmp_path / f"{number}.yaml", cli, text)


def test_paths_and_passes_of_the_guide_are_valid(tmp_path: Path, cli: Cli) -> None:
    head = "target: of-the-guide\nsummary: A page.\nextends: ideal\n"
    paths = list(fragments(GUIDE / "targets.md", "path"))
    passes = list(fragments(GUIDE / "targets.md", "passes"))
    assert paths
    assert passes
    for number, (rule, text) in enumerate(paths):
        body = textwrap.indent(text, "    ")
        _target(tmp_path / f"path{number}.yaml", cli, f"{head}paths:\n  {rule}:\n{body}")
    for number, (_, text) in enumerate(passes):
        body = textwrap.indent(text, "  ")
        _target(tmp_path / f"passes{number}.yaml", cli, f"{head}passes:\n{body}")


def test_every_key_of_a_path_has_an_example() -> None:
    text = "".join(t for _, t in fragments(GUIDE / "targets.md", "path"))
    missing = [k for k in _keys(target_schema.PathDoc) if not re.search(rf"^{k}:", text, re.M)]
    assert not missing


def test_rules_of_the_guide_hold_what_they_say(tmp_path: Path, cli: Cli) -> None:
    found = [text for _, text in fragments(GUIDE / "rules.md", "rules")]
    assert found
    for number, text in enumerate(found):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text, encoding="utf-8")
        done = cli("rules", "test", path)
        assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    ("mark", "kind"), [("operators", schema.OperatorFile), ("functions", schema.FunctionFile)]
)
def test_facts_of_the_guide_are_valid(mark: str, kind: type) -> None:
    ((_, text),) = fragments(GUIDE / "rules.md", mark)
    reader = Reader()
    reader.read(compose(text, "rules.md"), kind, mark)
    assert not reader.problems


def test_classes_of_the_guide_are_those_that_ship() -> None:
    text = (GUIDE / "rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z]\w+)` \| ([A-Z][\w, ]+) \|$", text, re.M)
    classes = load_operators(ROOT / "rules").classes
    own = {name: ", ".join(members) for name, members in classes.items()}
    del own["Activation"]
    assert dict(rows) == own


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_short(page: Path) -> None:
    """Prose is wrapped, so that a difference can be read. Tables and commands cannot be."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for line in text.splitlines():
        assert len(line) <= 120 or line.startswith(("|", "<!--", ">")), line


def test_the_policy_of_the_guide_is_valid(tmp_path: Path) -> None:
    ((_, text),) = fragments(GUIDE / "lint.md", "policy")
    for folder in ("npu/rules",):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "npu" / "my-npu.yaml").write_text("target: my-npu\n")
    path = tmp_path / "fusectl.yaml"
    path.write_text(text, encoding="utf-8")
    policy = read_policy(path, path.name, lambda p: api.load_rules().rules)
    assert policy.suppressions
    shown = set(re.findall(r"^(\w+):", text, re.M))
    assert shown == {key for key, _ in keys(Policy)} - {"baseline", "timeout"}


def test_the_lock_file_of_the_guide_is_one(checkout: Path, cli: Cli) -> None:
    """The excerpt is what stands in the file after the change that the page shows."""
    page = GUIDE / "lint.md"
    for block in blocks(page):
        if block.mark.startswith("file: "):
            (checkout / block.argument).write_text(block.text, encoding="utf-8")
    assert cli("lint", "--update-baseline").code == 0
    excerpt = page.read_text(encoding="utf-8").partition("```yaml\nmodels:\n  samples")[2]
    lock = (checkout / "fusion.lock.yaml").read_text(encoding="utf-8")
    assert lock.endswith("models:\n  samples" + excerpt.partition("```")[0])
