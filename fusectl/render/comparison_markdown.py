"""Markdown of ``compare`` for a pull request: counts, a table by cause, the changes folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fusectl.render.comment import Fold, compose
from fusectl.render.lint_words import ends
from fusectl.render.markup import code, prose
from fusectl.render.names import shorten
from fusectl.render.wording import count
from fusectl.report.comparison import Answer, Cause, Change, Comparison, Kind, Side

_ROWS = 25
_ROOM = 400
_WHOLE = "`fusectl compare --format json` has all of it."
_TOLD: dict[Kind, str] = {
    "lost": "fusion lost",
    "gained": "fusion gained",
    "rule": "fused by another rule",
    "reason": "kept for another reason",
    "new": "kept, new",
    "gone": "kept, gone",
}


def comparison_markdown(comparison: Comparison) -> str:
    """Return what differs for a pull-request comment, short enough to be one."""
    causes = _ranked(comparison)
    head = [_heading(comparison), _sides(comparison), *_table(causes), *_notes(comparison)]
    folds = [_fold(cause, comparison) for cause in causes]
    return compose(head, folds, "change", _WHOLE)


def _ranked(comparison: Comparison) -> list[Cause]:
    order = {kind: place for place, kind in enumerate(_TOLD)}
    return sorted(comparison.causes, key=lambda c: (order[c.kind], -len(c.changes)))


def _heading(comparison: Comparison) -> str:
    found = Counter(change.kind for change in comparison.changes)
    told = [f"{found[kind]} {_TOLD[kind]}" for kind in _TOLD if found[kind]]
    return f"### Fusion: {', '.join(told) or 'no difference'}"


def _sides(comparison: Comparison) -> str:
    lines = ["| | | candidates | fuse | keep |", "|---|---|---:|---:|---:|"]
    lines += [_side(n, s) for n, s in (("before", comparison.a), ("after", comparison.b))]
    return "\n".join(lines) + f"\n\n{count(comparison.same, 'decision')} the same on both sides."


def _side(name: str, side: Side) -> str:
    numbers = f"{side.candidates} | {side.fuse} | {side.keep}"
    return f"| {name} | {code(side.label, cell=True)} | {numbers} |"


def _table(causes: list[Cause]) -> Iterator[str]:
    if not causes:
        return
    lines = ["| what | edges | cause |", "|---|---:|---|"]
    for cause in causes[:_ROWS]:
        lines.append(f"| {_TOLD[cause.kind]} | {len(cause.changes)} | {_sentence(cause.cause)} |")
    if len(causes) > _ROWS:
        rest = sum(len(c.changes) for c in causes[_ROWS:])
        lines.append(f"| and {count(len(causes) - _ROWS, 'other cause')} | {rest} | |")
    yield "\n".join(lines)


def _notes(comparison: Comparison) -> Iterator[str]:
    yield "\n".join(f"- {_sentence(note)}" for note in comparison.notes)


def _sentence(text: str) -> str:
    return prose(shorten(" ".join(text.split()), _ROOM))


def _fold(cause: Cause, comparison: Comparison) -> Fold:
    told = f": {cause.cause}" if cause.cause else ""
    items = tuple(_item(comparison.changes[index]) for index in cause.changes)
    return Fold(f"{_TOLD[cause.kind]} ({len(items)}){told}", items)


def _item(change: Change) -> str:
    answer = change.after or change.before
    edge = code(ends(answer.edge)) if answer else ""
    sides = " → ".join(_answer(a) for a in (change.before, change.after))
    return f"- {edge}: {sides}"


def _answer(answer: Answer | None) -> str:
    if answer is None:
        return "not there"
    if answer.verdict == "fuse":
        return f"fused by {code(answer.rule)}"
    return f"kept: {prose(' + '.join(answer.blockers))}"
