"""One change taken into the lock file, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fusectl.compare.account import Account
from fusectl.compare.differences import Difference
from fusectl.compare.match import match
from fusectl.lint.locked import LockedDecision, Section, answer, locked, section


def accepted(
    old: Section, account: Account, taken: Sequence[Difference], left: Sequence[Difference]
) -> Section:
    """Return a section in which only the taken changes are made.

    Where nothing else is left that differs, it is the section that would be written anew.
    """
    if not left:
        return section(account)
    entries: list[LockedDecision | None] = list(old.decisions)
    fresh: list[tuple[int, LockedDecision]] = []
    for one in taken:
        for before, after in one.moves:
            entry = None if after is None else locked(account.answers[after])
            if before is not None:
                entries[before] = entry
            elif entry is not None and after is not None:
                fresh.append((_behind(old, account, after), entry))
    placed: list[LockedDecision] = [e for at, e in fresh if at < 0]
    for index, known in enumerate(entries):
        placed += [known] if known is not None else []
        placed += [e for at, e in fresh if at == index]
    return replace(old, decisions=tuple(placed))


def _behind(old: Section, account: Account, after: int) -> int:
    """Return the old decision behind which a new one belongs; -1 for the beginning."""
    before = [answer(e) for e in old.decisions]
    known = {m.after: m.before for m in match(before, account.answers, False)}
    return max((b for a, b in known.items() if a < after), default=-1)
