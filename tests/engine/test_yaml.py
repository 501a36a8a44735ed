"""A file's mistakes all at once, each in its place; nothing is guessed."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from fusectl.checks import known_names
from fusectl.errors import Problem, Span, TableError
from fusectl.tables.catalog import load_operators, load_rules
from fusectl.tables.resolve import rules_root
from fusectl.yamlsrc import Reader, compose


@dataclass(frozen=True, slots=True)
class Inner:
    span: Span
    size: int
    kind: Literal["small", "large"] = "small"


@dataclass(frozen=True, slots=True)
class Outer:
    span: Span
    name: str
    on: bool = False
    ratio: float = 0.0
    items: tuple[Inner, ...] = ()
    table: dict[str, int] = field(default_factory=dict)
    either: str | tuple[str, ...] = ""


def problems(text: str) -> list[Problem]:
    """Every problem of a text, in the order of the file."""
    reader = Reader()
    try:
        reader.read(compose(text, "f.yaml"), Outer, "the file")
        if reader.problems:
            raise TableError(reader.problems)
    except TableError as error:
        return list(error.problems)
    return []


def told(text: str) -> list[str]:
    return [f"{p.span.line}:{p.span.column} {p.message}" for p in problems(text)]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    text = (
        "nane: x\n"
        "on: yes\n"
        "ratio: 1,5\n"
        "items:\n"
        "  - {size: 0x10, kind: smal}\n"
        "  - {kind: large}\n"
        "  - 7\n"
        "table: {a: 1, b: 012}\n"
    )
    assert told(text) == [
        "1:1 unknown key nane in the file",
        "1:1 the file lacks the key name",
        "2:5 the file: on must be true or false, not 'yes'",
        "3:8 the file: ratio must be a number, not '1,5'",
        "5:12 the file: items[0]: size must be a whole number, not '0x10'",
        "5:24 the file: items[0]: kind must be one of small, large, not smal",
        "6:5 the file: items[1] lacks the key size",
        "7:5 the file: items[2] must be a mapping, not '7'",
        "8:18 the file: table.b must be a whole number, not '012'",
    ]


def test_suggestions() -> None:
    helps = {p.message: p.help for p in problems("nane: x\nitems: [{size: 1, kind: smal}]\n")}
    assert helps["unknown key nane in the file"] == "did you mean name?"
    assert "did you mean small?" in helps.values()


@pytest.mark.parametrize(
    ("line", "value"),
    [("ratio: 1e-3", 1e-3), ("ratio: 2", 2.0), ("ratio: .5", 0.5), ("ratio: -.inf", float("-inf"))],
)
def test_numbers(line: str, value: float) -> None:
    reader = Reader()
    found = reader.read(compose(f"name: x\n{line}\n", "f.yaml"), Outer, "the file")
    assert found.ratio == value


@pytest.mark.parametrize("line", ["ratio: nan", "ratio: 1_000", "ratio: 12:30", "ratio: ''"])
def test_what_looks_like_a_number(line: str) -> None:
    assert len(problems(f"name: x\n{line}\n")) == 1


@pytest.mark.parametrize("word", ["no", "on", "null", "~", "12:30", "2026-01-01", "1e3", "0o7"])
def test_text_stays_text(word: str) -> None:
    reader = Reader()
    found = reader.read(compose(f"name: {word}\n", "f.yaml"), Outer, "the file")
    assert found.name == word


@pytest.mark.parametrize("either", ["a", "[a, b]"])
def test_one_or_a_list(either: str) -> None:
    reader = Reader()
    found = reader.read(compose(f"name: x\neither: {either}\n", "f.yaml"), Outer, "the file")
    assert found.either in ("a", ("a", "b"))


def test_neither_of_them() -> None:
    assert told("name: x\neither: {a: 1}\n") == ["2:9 the file: either cannot be a mapping"]


def test_a_key_that_is_there_twice() -> None:
    assert told("name: x\ntable: {a: 1, b: 2, a: 3}\n") == [
        "2:21 the key a is there twice, first in line 2"
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: x\n\ton: true\n", "2:1 a tab"),
        ("name: [x\n", "2:1 YAML syntax"),
        ("name: !!python/object:os.system x\n", "1:7 the tag"),
        ("name: &a [*a]\n", "1:7 an alias refers to the value"),
        ("", "0:0 the file is empty"),
        ("# nothing\n", "0:0 the file is empty"),
        ("[name]: x\n", "1:1 a key must be plain text"),
        ("name: a\x07b\n", "1:1 character U+0007 is not allowed"),
        ("- name\n", "1:1 the file must be a mapping, not a list"),
    ],
)
def test_what_is_no_such_file(text: str, place: str) -> None:
    found = told(text)
    assert found
    assert found[0].startswith(place), found


def test_an_anchor_is_the_value_again() -> None:
    reader = Reader()
    text = "name: x\nitems: [&a {size: 3}, *a]\n"
    found = reader.read(compose(text, "f.yaml"), Outer, "the file")
    assert [i.size for i in found.items] == [3, 3]


def test_spans_of_values() -> None:
    reader = Reader()
    text = "name: x\nitems:\n  - size: 3\n  - {size: 4}\n"
    found = reader.read(compose(text, "f.yaml"), Outer, "the file")
    assert [str(i.span) for i in found.items] == ["f.yaml:3:5", "f.yaml:4:5"]


RULE = """rules:
  - id: r
    summary: A rule.
    edge: v
    patterns:
      - |
        u = MatMull(x, w)
        y = Sigmoid(u)
      - |
        u = MatMul(x, w
        y = Sigmoid(u)
      - |
        u = MatMul(x, w)
        y = Sigmoid(u)
    where: {ghost: {const: 1}}
    require: [single-usr]
    examples:
      - {reject: cast}
      - {reject: no-such-reason, model: "m"}
"""


def test_all_mistakes_of_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(RULE)
    with pytest.raises(TableError) as error:
        load_rules(path, load_operators(rules_root()), known_names())
    found = {p.span.line: p.message for p in error.value.problems}
    assert "MatMull is neither an operator" in found[7]
    assert "cannot be parsed" in found[11]
    assert "the edge v is made by no node" in found[4]
    assert "ghost is no value of any pattern" in found[15]
    assert "unknown check single-usr" in found[16]
    assert "lacks the key model" in found[18]
    assert "unknown reason no-such-reason" in found[19]
    assert "at least one accept" in found[2]


@pytest.mark.parametrize(
    ("require", "told"),
    [
        ("{fits: {operant: b}}", "the check fits takes no operant"),
        (
            "{types-below: {opset: seventeen, values: b, types: float32}}",
            "opset of the check types-below is a whole number",
        ),
        ("{floating: {}}", "the check floating lacks of"),
        ("{single-user: {value: b}}", "the check single-user takes no value"),
    ],
)
def test_arguments_of_checks_are_checked(tmp_path: Path, require: str, told: str) -> None:
    """A misspelt argument would otherwise be dropped, and the check look at something else."""
    path = tmp_path / "rule.yaml"
    path.write_text(
        "rules:\n"
        "  - id: a-rule\n"
        "    summary: A rule.\n"
        "    edge: u\n"
        "    patterns: ['u = Add(a, b)  y = Relu(u)']\n"
        f"    require: [{require}]\n"
        "    numerics: exact\n"
        "    examples:\n"
        "      - accept: 'g (float[2] a, float[2] b) => (float[2] y)"
        " { u = Add(a, b) y = Relu(u) }'\n"
        "      - reject: multi-user\n"
        "        model: 'g (float[2] a, float[2] b) => (float[2] y, float[2] z)"
        " { u = Add(a, b) y = Relu(u) z = Neg(u) }'\n"
    )
    with pytest.raises(TableError) as found:
        load_rules(path, load_operators(rules_root()), known_names())
    assert told in str(found.value)
    assert "rule.yaml:6" in str(found.value)
