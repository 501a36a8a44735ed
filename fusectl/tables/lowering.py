"""Templates of a target's lowering: which steps a kind of call is made of, under which opcodes."""

from __future__ import annotations

from dataclasses import dataclass

from fusectl.errors import did_you_mean
from fusectl.tables.schema import Text
from fusectl.tables.target_schema import Lowering, Template
from fusectl.yamlsrc import Reader

_SETUP = ("load-table", "load-header")
_SUM = ("load a", "load b", "load c", "start", "multiply", "partial", "finish", "store y")
KINDS: dict[str, tuple[str, ...]] = {
    "product": _SUM,
    "convolution": _SUM,
    "function": ("load a", "apply", "store y"),
    "arithmetic": ("load a", "load b", "combine", "store y"),
    "quantize": ("load a", "convert", "store y"),
    "dequantize": ("load a", "convert", "store y"),
    "move": ("copy",),
    "host": ("host",),
}
"""The kinds of calls, and the steps of each. A template has every step once, in its own order."""
WITH_POST = ("product", "convolution", "function")
"""Kinds that the post-processing can stand behind."""


@dataclass(frozen=True, slots=True)
class TemplateStep:
    """One line of a template: the opcode, what it does, and to which operand."""

    op: str
    does: str
    operand: str = ""


def step(text: str) -> TemplateStep:
    """Read a line such as ``LDA load a``."""
    op, _, rest = text.partition(" ")
    does, _, operand = rest.partition(" ")
    return TemplateStep(op, does, operand)


def check_templates(lowering: Lowering, reader: Reader) -> None:
    """Refuse unknown kinds and steps, and templates that lack one."""
    for kind, template in lowering.templates.items():
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS)
            reader.fail(template.span, f"lowering: {kind} is no kind of call", hint)
            continue
        wanted = _SETUP if kind in WITH_POST else ()
        _check(f"{kind}: setup", template, template.setup, wanted, reader)
        _check(f"{kind}: tile", template, template.tile, KINDS[kind], reader)
        if kind != "host" and not template.operators:
            reader.fail(template.span, f"lowering: {kind} lacks the key operators")


def _check(
    what: str,
    template: Template,
    lines: tuple[Text, ...],
    wanted: tuple[str, ...],
    reader: Reader,
) -> None:
    found = [line.value.partition(" ")[2] for line in lines]
    for line, does in zip(lines, found, strict=True):
        if does not in wanted:
            hint = did_you_mean(does, wanted)
            message = f"lowering: {what}: {line.value!r} is no OPCODE with one of {_list(wanted)}"
            reader.fail(line.span, message, hint)
        elif found.count(does) > 1:
            reader.fail(line.span, f"lowering: {what}: {does} stands there twice")
    for does in wanted:
        if does not in found:
            reader.fail(template.span, f"lowering: {what} lacks the step {does}")


def _list(words: tuple[str, ...]) -> str:
    return ", ".join(words) or "no step"
