"""A program for people: its four sections and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fusectl.program.listing import (
    address_line,
    descriptor_lines,
    instructions,
    parameter_line,
)
from fusectl.render.sheet import Sheet
from fusectl.render.wording import count

if TYPE_CHECKING:
    from rich.console import Console

    from fusectl.program import Program

_MOST = 400
"""Instructions that are shown; the JSON has all."""


def render_program(program: Program, console: Console, full: bool = False) -> None:
    """Print a program. ``full`` shows every instruction of a long one."""
    sheet = Sheet(console)
    form = "fused" if program.fused else "unfused"
    sheet.add(
        (f"{program.model}: {form} for {program.target}", "bold"),
        f", {count(len(program.descriptors), 'call')}, "
        f"{count(len(program.instructions), 'instruction')}",
    )
    lines = [line for call in program.descriptors for line in descriptor_lines(call)]
    _section(sheet, "descriptors", lines)
    _section(sheet, "addresses", [address_line(a) for a in program.addresses])
    _section(sheet, "parameters", [parameter_line(p) for p in program.parameters])
    numbered = [f"{place:>5}  {line}" for place, line in enumerate(instructions(program))]
    shown = numbered if full else numbered[:_MOST]
    _section(sheet, "instructions", shown)
    if len(numbered) > len(shown):
        sheet.add(f"and {len(numbered) - len(shown)} more (--full shows all)", indent=2)
    sheet.blank()
    add_cost(sheet, program.opcodes, program.moved, program.peak)
    sheet.print()


def add_cost(
    sheet: Sheet, opcodes: Mapping[str, int], moved: Mapping[str, int], peak: Mapping[str, int]
) -> None:
    """Add opcodes, bytes moved and the highest byte in use of each memory."""
    for title, facts in (("opcodes", opcodes), ("bytes moved", moved), ("peak bytes", peak)):
        if facts:
            items = [f"{name} {number}" for name, number in facts.items()]
            sheet.add_items((f"{title:<13}", "bold"), items, hang=13)


def _section(sheet: Sheet, title: str, lines: list[str]) -> None:
    if not lines:
        return
    sheet.blank()
    sheet.add((title, "bold cyan"))
    for line in lines:
        inset = 2 + len(line) - len(line.lstrip())
        sheet.add(line.lstrip(), indent=inset, hang=4)
