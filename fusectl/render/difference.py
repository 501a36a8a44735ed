"""Instructions or kernels before and after, and what the fusions change in the whole program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff

from fusectl.render.sheet import Sheet
from fusectl.report.types import Decision, Instructions, Programs, Report

_STYLES = {"+": "green", "-": "red", " ": "dim"}
_CONTEXT = 1


def add_instructions(sheet: Sheet, decision: Decision, report: Report) -> None:
    """Add the difference of one decision, where it was asked for."""
    found = decision.instructions
    if found is None:
        return
    title: tuple[str, str] = (f"{kind(report)}: ", "bold")
    if found.trouble:
        sheet.add(title, f"none: {found.trouble}", indent=2, hang=2)
        return
    sheet.add(title, counts(found), indent=2)
    for line in changed_lines(found):
        mark = line[0] if line[0] in _STYLES else " "
        sheet.add((line, _STYLES[mark]), indent=4, hang=6)


def kind(report: Report) -> str:
    """Return what the lines are: instructions or kernels."""
    return report.programs.kind if report.programs is not None else "instructions"


def counts(found: Instructions) -> str:
    """Return how many there are before and after."""
    form = "would be" if found.would else "->"
    return f"{len(found.before)} {form} {len(found.after)}"


def changed_lines(found: Instructions) -> Iterator[str]:
    """Yield the lines of a unified difference; ``...`` stands for what is the same."""
    for place, line in enumerate(unified_diff(found.before, found.after, n=_CONTEXT, lineterm="")):
        if line.startswith("@@"):
            if place > 2:
                yield " ..."
        elif place > 1:
            yield line


def add_programs(sheet: Sheet, report: Report, single: bool) -> None:
    """Add the summary of the whole program, where it was asked for.

    ``single``: the difference of each decision is shown as well.
    """
    found = report.programs
    if found is None:
        return
    sheet.blank()
    if found.unfused is None or found.fused is None:
        sheet.add(("Program: ", "bold"), f"none: {found.trouble}")
        return
    sheet.add((TITLE, "bold"))
    for title, items in cost_items(found):
        sheet.add_items(f"{title:<14}", items, indent=2, hang=14)
    if not single and any(d.instructions for d in report.decisions):
        sheet.add(f"--full shows the {found.kind} of each decision", indent=2)


TITLE = "Program of the main graph, unfused -> fused"


def cost_items(found: Programs) -> Iterator[tuple[str, list[str]]]:
    """Yield what a program costs without and with the fusions, as titles and items."""
    one, two = found.unfused, found.fused
    if one is None or two is None:
        return
    yield found.kind, [_pair(str(one.instructions), str(two.instructions))]
    named = "opcodes" if found.kind == "instructions" else "operators"
    for title, left, right in (
        (named, _words(one.opcodes, {}), _words(two.opcodes, {})),
        ("bytes moved", _words(one.moved, one.unknown_moved), _words(two.moved, two.unknown_moved)),
        ("peak bytes", _words(one.peak, one.unknown_peak), _words(two.peak, two.unknown_peak)),
    ):
        names = dict.fromkeys((*left, *right))
        items = [f"{n} {_pair(left.get(n, '0'), right.get(n, '0'))}" for n in names]
        if items:
            yield title, items


def _words(known: Mapping[str, int], unknown: Mapping[str, int]) -> dict[str, str]:
    """Return numbers by kind as text, with how many more are not known."""
    told: dict[str, str] = {}
    for name in dict.fromkeys((*known, *unknown)):
        number = [str(known[name])] if name in known else []
        missing = [f"{unknown[name]} unknown"] if name in unknown else []
        told[name] = " + ".join((*number, *missing))
    return told


def _pair(one: str, two: str) -> str:
    return one if one == two else f"{one} -> {two}"
