"""Instructions before and after, and what the fusions change in the whole program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff

from fusectl.render.sheet import Sheet
from fusectl.report.types import Cost, Decision, Report

_STYLES = {"+": "green", "-": "red", " ": "dim"}
_CONTEXT = 1


def add_instructions(sheet: Sheet, decision: Decision) -> None:
    """Add the difference of one decision, where it was asked for."""
    found = decision.instructions
    if found is None:
        return
    form = "would be" if found.would else "->"
    if found.trouble:
        sheet.add(("instructions: ", "bold"), f"none: {found.trouble}", indent=2, hang=2)
        return
    counts = f"{len(found.before)} {form} {len(found.after)}"
    sheet.add(("instructions: ", "bold"), counts, indent=2)
    for line in _lines(found.before, found.after):
        mark = line[0] if line[0] in _STYLES else " "
        sheet.add((line, _STYLES[mark]), indent=4, hang=6)


def _lines(before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a unified difference; ``...`` stands for what is the same."""
    for place, line in enumerate(unified_diff(before, after, n=_CONTEXT, lineterm="")):
        if line.startswith("@@"):
            if place > 2:
                yield " ..."
        elif place > 1:
            yield line


def add_programs(sheet: Sheet, report: Report) -> None:
    """Add the summary of the whole program, where it was asked for."""
    found = report.programs
    if found is None:
        return
    sheet.blank()
    if found.unfused is None or found.fused is None:
        sheet.add(("Program: ", "bold"), f"none: {found.trouble}")
        return
    one, two = found.unfused, found.fused
    sheet.add(("Program, unfused -> fused", "bold"))
    facts = {"instructions": (one.instructions, two.instructions)}
    sheet.add(f"{'instructions':<14}{_pair(*facts['instructions'])}", indent=2)
    for title, pairs in _facts(one, two):
        items = [f"{name} {_pair(*pair)}" for name, pair in pairs.items()]
        if items:
            sheet.add_items(f"{title:<14}", items, indent=2, hang=14)


def _facts(one: Cost, two: Cost) -> Iterator[tuple[str, dict[str, tuple[int, int]]]]:
    yield "opcodes", _pairs(one.opcodes, two.opcodes)
    yield "bytes moved", _pairs(one.moved, two.moved)
    yield "peak bytes", _pairs(one.peak, two.peak)


def _pairs(one: Mapping[str, int], two: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    return {name: (one.get(name, 0), two.get(name, 0)) for name in {**one, **two}}


def _pair(one: int, two: int) -> str:
    return f"{one}" if one == two else f"{one} -> {two}"
