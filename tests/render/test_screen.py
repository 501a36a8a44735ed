"""What a screen must never get, and what it must always show."""

import io
import re
import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from fusectl.render import Options, render
from fusectl.render.text import render_text
from fusectl.report.types import Report
from tests.render import examples
from tests.render.factory import Extras, blocker, decision, multi_user, report

ALL = (
    "single_blocker", "three_blockers", "chain", "claimed", "near_miss", "requantize", "unknown",
    "no_candidates", "all_fused", "hostile", "encoder", "resnet", "kernels", "hostile_kernels",
)  # fmt: skip
MODES = (Options(), Options(why=True), Options(full=True), Options(uncovered=True))
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def text_of(made: Report, options: Options | None = None, **console: object) -> str:
    file = io.StringIO()
    settings = {"width": 80, "color_system": None, **console}
    render_text(made, Console(file=file, **settings), options)  # type: ignore[arg-type]
    return file.getvalue()


def harmful(text: str) -> set[str]:
    return {c for c in text if c != "\n" and not c.isprintable()}


@pytest.mark.parametrize("example", ALL)
@pytest.mark.parametrize("width", [24, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_screen(example: str, width: int) -> None:
    for options in MODES:
        for line in text_of(getattr(examples, example)(), options, width=width).splitlines():
            assert cell_len(line) <= width, line
            assert line == line.rstrip()


@pytest.mark.parametrize("format", ["text", "concise", "json", "jsonl", "markdown"])
def test_no_format_passes_control_characters(format: str) -> None:
    made = render(examples.hostile(), format)
    text = made if isinstance(made, str) else made.decode("utf-8")
    assert harmful(text) == set()
    assert r"\u001b[2J" in text or r"\x1b[2J" in text or format == "concise"


def test_markup_in_names_is_text() -> None:
    kept = decision("[bold]mm[/bold]:MatMul:u", "x:Sigmoid", multi_user("u", "x", ":smile: [/red]"))
    text = text_of(report([kept]))
    assert "[bold]mm[/bold]" in text
    assert ":smile: [/red]" in text


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=":"), max_size=60)


@settings(max_examples=60, deadline=None)
@given(producer=NAMES, other=NAMES, value=NAMES, width=st.integers(24, 120))
def test_any_name_is_safe_and_fits(producer: str, other: str, value: str, width: int) -> None:
    kept = decision(
        f"{producer}:MatMul:{value}", f"{other}:Sigmoid", multi_user(value, other, producer)
    )
    made = report([kept] * 2 + [decision(f"{other}:MatMul", f"{value}:Add", rule="matmul-bias")])
    for decisions in (made.decisions, made.decisions * 5):
        text = text_of(report(decisions, Extras(path=producer)), width=width)
        assert harmful(text) == set()
        assert max(map(cell_len, text.split("\n"))) <= width


def test_wide_characters_count_twice() -> None:
    kept = decision(
        "矩阵乘法" * 20 + ":MatMul:u", "激活" * 20 + ":Sigmoid", multi_user("u", "a", "b")
    )
    for line in text_of(report([kept])).splitlines():
        assert cell_len(line) <= 80


@pytest.mark.parametrize("example", ALL)
def test_colour_carries_nothing_alone(example: str) -> None:
    made = getattr(examples, example)()
    coloured = text_of(made, force_terminal=True, color_system="truecolor", no_color=False)
    assert ANSI.search(coloured)
    assert ANSI.sub("", coloured) == text_of(made)


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = text_of(examples.chain(), force_terminal=True, color_system="truecolor")
    codes = {c for found in ANSI.findall(text) for c in found[2:-1].split(";")}
    assert codes <= {"0", "1", "2"}


@pytest.mark.parametrize("width", [60, 80, 200])
def test_large_models_stay_short(width: int) -> None:
    encoder = text_of(examples.encoder(), width=width)
    assert len(examples.encoder().decisions) > 140
    assert len(encoder.splitlines()) <= 60
    assert len(text_of(examples.resnet(), width=width).splitlines()) <= 40


def test_many_different_causes_stay_short() -> None:
    found = [
        decision(f"p{chr(97 + i % 26)}{i}:MatMul", f"c{i}:Sigmoid",
                 blocker("layout", f"t{i}", f"t{i} Transpose", help=f"{'very ' * (i % 40)}special"),
                 rule=f"rule-{i}")
        for i in range(150)
    ]  # fmt: skip
    text = text_of(report(found))
    assert len(text.splitlines()) <= 60
    assert re.search(r"and \d+ more edges with \d+ other causes; --full", text)


def test_the_top_cause_and_its_remedy_come_first() -> None:
    lines = text_of(examples.encoder()).splitlines()
    assert lines[2].startswith("Fix these three things, gain")
    assert "multi-user, 12 edges" in lines[3]
    assert any(line.strip().startswith("help: ") for line in lines[4:9])


def test_the_machine_never_comes_before_what_can_be_fixed() -> None:
    path = blocker("unsupported-op", "mm", "no path", "The target has a path")
    found = [decision(f"m{i}:MatMul", f"a{i}:Sigmoid", path) for i in range(30)]
    found.append(decision("mm:MatMul:u", "act:Sigmoid", multi_user("u", "act", "side")))
    text = text_of(report(found))
    assert text.index("1. multi-user") < text.index(
        "No change to the model helps: 30 candidates (unsupported-op 30)"
    )
    assert "gain 1 fusion:" in text


def test_an_edge_that_another_rule_fuses_is_no_loss() -> None:
    fused = decision("mm:MatMul:u", "act:Sigmoid", becomes="Fused")
    kept = decision("mm:MatMul:u", "act:Sigmoid", multi_user("u", "act", "side"), rule="other")
    text = text_of(report([fused, kept]))
    assert "gain" not in text
    assert "Fused another way: 1 candidate (multi-user 1)" in text


def test_names_and_numbers_do_not_split_a_cause() -> None:
    found = []
    for i in range(12):
        at = f"/b.{i}"
        shared = multi_user(f"{at}/u", f"{at}/act", *(f"{at}/n_{k}" for k in range(i % 3 + 1)))
        found.append(decision(f"{at}/mm:MatMul:{at}/u", f"{at}/act:Sigmoid", shared))
    text = text_of(report(found))
    assert "Fix this one thing, gain 12 fusions:" in text
    assert "   12x multi-user" in text


def test_two_blockers_are_told_when_no_single_one_decides() -> None:
    both = [blocker("clip", "c", "c Clip [0, 6]", help="remove c"), multi_user("u", "act", "side")]
    found = [decision(f"mm_{i}:MatMul:u", f"act_{i}:Sigmoid", *both) for i in range(9)]
    text = text_of(report(found))
    assert "No single change gains a fusion; the nearest needs two:" in text
    assert "More than one thing to fix: 9 candidates (clip + multi-user 9)" in text
    assert text.index("help: remove c") < text.index("9 candidates")


def test_a_filtered_report_says_so() -> None:
    made = examples.encoder()
    part = msgspec.structs.replace(made, decisions=made.decisions[:3])
    text = text_of(part)
    assert "shown: 3 of them" in text
    assert "Every candidate fuses" not in text
    assert "Every candidate fuses" in text_of(examples.all_fused())


def test_escapes_keep_letters_of_every_script() -> None:
    kept = decision("слой_é_层:MatMul:u", "act:Sigmoid", multi_user("u", "act", "b"))
    text = text_of(report([kept]))
    assert "слой_é_层" in text
    assert all(unicodedata.category(c) != "Cc" for c in text if c != "\n")


def test_a_hundred_readers_take_a_few_lines() -> None:
    shared = multi_user("u", "act", *(f"/decoder/block.{i}/attention/Add" for i in range(100)))
    found = [decision(f"mm_{i}:MatMul:u", f"act_{i}:Sigmoid", shared) for i in range(9)]
    lines = text_of(report(found)).splitlines()
    assert len(lines) < 25
    assert any(line.endswith(" …") for line in lines)
    assert "block.99" in text_of(report(found), Options(full=True))


def test_findings_that_differ_in_names_are_one_thing_to_fix() -> None:
    constants = [
        blocker("not-constant", f"w{i}", f"w{i} is an input", help=f"make w{i} an initializer")
        for i in range(3)
    ]
    text = text_of(report([decision("conv:Conv", "bn:BatchNormalization", *constants)]))
    assert "Fix this one thing, gain 1 fusion:" in text
    assert text.count("The same holds for w1, w2.") == 2


def test_findings_with_different_remedies_are_all_told() -> None:
    both = [
        blocker("requantize", "q", "q stands between", help="take q out"),
        blocker("requantize", "mm", "mm requantises", help="quantise the pair as one unit"),
    ]
    text = text_of(report([decision("mm:MatMulInteger", "act:Sigmoid", *both)]))
    assert "the nearest needs two: requantize, requantize" in text
    assert "take q out" in text
    assert "quantise the pair" in text


def test_what_the_machine_lacks_is_told_when_nothing_can_be_fixed() -> None:
    path = blocker("unsupported-op", "mm", "no path", "The target has a path", "ask another target")
    text = text_of(report([decision(f"m{i}:MatMul", f"a{i}:Sigmoid", path) for i in range(9)]))
    assert "Nothing in the model to fix; what this machine lacks most:" in text
    assert "help: ask another target." in text


def test_a_doubtful_cause_is_not_called_a_gain() -> None:
    text = text_of(examples.near_miss())
    assert "No sure gain; worth a look:" in text
    assert "9 of 10 nodes match; pow_3 is Pow with exponent 3, the pattern has Pow with" in text


def test_the_title_is_one_line_and_keeps_the_end_of_the_path() -> None:
    made = report([], Extras(path="/a/very/long/path/" * 9 + "model.onnx"))
    first = text_of(made, Options(default_target=True)).splitlines()[0]
    assert first.endswith("model.onnx: 12 nodes, opset 17, target ideal v1 (default)")
    assert first.startswith("…")
