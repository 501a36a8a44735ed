"""YAML text to a tree of text scalars, lists and mappings, each with its place in the file.

PyYAML guesses types (``no`` is False, ``12:30`` is 750, duplicate keys take the last value), so
only its parser is used: scalars stay text and the schema of the reader gives them a type.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from fusectl.errors import Problem, Span, TableError

_CORE_TAGS = frozenset(f"tag:yaml.org,2002:{t}" for t in ("str", "map", "seq"))
_GUESSED = frozenset(
    f"tag:yaml.org,2002:{t}"
    for t in ("null", "bool", "int", "float", "timestamp", "merge", "value")
)
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar as it was written. ``text_line`` is the file line on which a block's text begins."""

    span: Span
    text: str
    text_line: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    span: Span
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping in the order of the file; keys are scalars and occur once."""

    span: Span
    items: tuple[tuple[Scalar, Node], ...]

    def get(self, key: str) -> Node | None:
        """Return the value of a key, or None."""
        return next((value for name, value in self.items if name.text == key), None)


Node = Scalar | Sequence | Mapping


def compose(text: str, file: str) -> Node:
    """Parse one YAML document. Raises TableError for a syntax error, a tag or a repeated key."""
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise TableError([_syntax(error, text, file)]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise TableError(
            [Problem(Span(file, line, 1), f"character U+{ord(_char(error)):04X} is not allowed")]
        ) from None
    except RecursionError:
        raise TableError([Problem(Span(file), "nested too deeply to be read")]) from None
    finally:
        loader.dispose()
    if root is None:
        raise TableError([Problem(Span(file), "the file is empty")])
    problems: list[Problem] = []
    tree = _Builder(file, problems).build(root)
    if problems:
        raise TableError(problems)
    return tree


def _char(error: yaml.reader.ReaderError) -> str:
    return error.character if isinstance(error.character, str) else chr(error.character)


def _syntax(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    column = mark.column + 1 if mark else 0
    lines = text.splitlines()
    if 0 < line <= len(lines) and "\t" in lines[line - 1][: max(column, 1)]:
        return Problem(
            Span(file, line, lines[line - 1].index("\t") + 1),
            "a tab stands in the indentation",
            "YAML is indented with spaces",
        )
    return Problem(Span(file, line, column), f"YAML syntax: {error.problem or error.context}")


class _Builder:
    """Turns PyYAML's node tree into ours; anchors are resolved by PyYAML to shared nodes."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self.file = file
        self.problems = problems
        self.open: set[int] = set()

    def span(self, node: yaml.Node) -> Span:
        return Span(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def build(self, node: yaml.Node) -> Node:
        span = self.span(node)
        if node.tag not in _CORE_TAGS and node.tag not in _GUESSED:
            self.problems.append(Problem(span, f"the tag {node.tag} is not allowed (no !! tags)"))
        if isinstance(node, yaml.ScalarNode):
            return Scalar(span, node.value, span.line + (node.style in ("|", ">")))
        if id(node) in self.open:
            self.problems.append(Problem(span, "an alias refers to the value that contains it"))
            return Scalar(span, "", span.line)
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return Mapping(span, tuple(self.pairs(node)))
            return Sequence(span, tuple(self.build(item) for item in node.value))
        finally:
            self.open.discard(id(node))

    def pairs(self, node: yaml.MappingNode) -> list[tuple[Scalar, Node]]:
        pairs: list[tuple[Scalar, Node]] = []
        seen: dict[str, Span] = {}
        for key_node, value_node in node.value:
            key = self.build(key_node)
            if not isinstance(key, Scalar):
                self.problems.append(Problem(key.span, "a key must be plain text"))
                continue
            if key.text in seen:
                self.problems.append(
                    Problem(
                        key.span,
                        f"the key {key.text} is there twice, first in line {seen[key.text].line}",
                    )
                )
                continue
            seen[key.text] = key.span
            pairs.append((key, self.build(value_node)))
        return pairs
