"""Instructions or kernels before and after, in Markdown: a block for each decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fusectl.render.difference import TITLE, changed_lines, cost_items, counts, kind
from fusectl.render.edges import edge
from fusectl.render.markup import ROOM, block, code, folded, prose
from fusectl.render.names import shorten
from fusectl.render.wording import count
from fusectl.report.types import Decision, Report

_SHORT = 12
"""Lines of a block that is not folded away."""
_CELLS = 200
"""Cells of a sentence or an item that holds names of the model."""
_ROOM = 30_000
"""Bytes of all blocks together, so that the rest of a comment has room beside them."""


def differences(report: Report, whole: bool) -> Iterator[str]:
    """Yield the program's summary and the blocks, where they were asked for.

    ``whole``: all of them, however many there are.
    """
    found = report.programs
    if found is None:
        return
    if found.trouble:
        yield f"**Program:** none: {prose(shorten(found.trouble, _CELLS))}"
    else:
        items = (f"- {title}: {_items(texts)}" for title, texts in cost_items(found))
        yield f"**{_arrows(TITLE)}:**\n\n" + "\n".join(items)
    told = [d for d in report.decisions if d.instructions is not None]
    parts = [_one(d, report) for d in told]
    shown = parts if whole else _fitting(parts)
    yield from shown
    if len(shown) < len(parts):
        rest = count(len(parts) - len(shown), "other decision")
        yield f"And {found.kind} of {rest}; `--full` shows them, and the JSON has them."


def _items(texts: Sequence[str]) -> str:
    return ", ".join(_arrows(shorten(text, _CELLS)) for text in texts)


def _arrows(text: str) -> str:
    """Return text as prose, with arrows that need no escape."""
    return prose(text.replace(" -> ", " → "))


def _fitting(parts: Sequence[str]) -> list[str]:
    room, shown = _ROOM, []
    for part in parts:
        room -= len(part.encode("utf-8")) + 2
        if room < 0:
            break
        shown.append(part)
    return shown


def _one(decision: Decision, report: Report) -> str:
    found = decision.instructions
    assert found is not None
    head = f"**{decision.verdict}** {code(edge(decision, ROOM))}, {kind(report)}: "
    if found.trouble:
        return f"{head}none: {prose(shorten(found.trouble, _CELLS))}"
    lines = list(changed_lines(found))
    made = block(lines, "diff")
    body = made if len(lines) <= _SHORT else folded(count(len(lines), "line"), made)
    return f"{head}{_arrows(counts(found))}\n\n{body}"
